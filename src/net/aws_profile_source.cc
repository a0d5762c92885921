#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "smdebug/base/escape.h"
#include "smdebug/base/try.h"

#include "base/environment.h"
#include "base/strings.h"
#include "net/aws_sources.h"

namespace smdebug {
namespace {

enum class ProfileSource {
  none,
  role,
  web_identity,
  single_sign_on,
  keys_in_credentials,
  login,
  program,
  keys_in_config
};

// A role for the token in a file. Variables take precedence, but they are not
// meant for the profiles that another one names as its source.
struct WebIdentity {
  std::string token_file;
  AwsRole role;
};

WebIdentity web_identity_of(const AwsProfile& profile, bool reads_variables) {
  const auto value = [&](const char* variable, const char* key) {
    std::string text = reads_variables ? environment_text(variable) : "";
    return text.empty() ? profile.value(key) : text;
  };
  return {value("AWS_WEB_IDENTITY_TOKEN_FILE", "web_identity_token_file"),
          {value("AWS_ROLE_ARN", "role_arn"),
           value("AWS_ROLE_SESSION_NAME", "role_session_name")}};
}

// The order is that of botocore.
ProfileSource source_of(const AwsProfile& profile, bool may_assume_role,
                        bool reads_variables) {
  if (may_assume_role && profile.has("role_arn") &&
      !profile.has("web_identity_token_file")) {
    return ProfileSource::role;
  }
  if (!web_identity_of(profile, reads_variables).token_file.empty()) {
    return ProfileSource::web_identity;
  }
  if (profile.has("sso_role_name") || profile.has("sso_account_id")) {
    return ProfileSource::single_sign_on;
  }
  if (!profile.credentials.value("aws_access_key_id").empty()) {
    return ProfileSource::keys_in_credentials;
  }
  if (profile.has("login_session")) return ProfileSource::login;
  if (profile.has("credential_process")) return ProfileSource::program;
  if (!profile.config.value("aws_access_key_id").empty()) {
    return ProfileSource::keys_in_config;
  }
  return ProfileSource::none;
}

Error mistake(const AwsProfile& profile, std::string_view key,
              std::string_view message) {
  return {Error::Code::invalid_config,
          fmt::format("{} {}", profile.place(key), message)};
}

Result<AwsFound> keys_in(const AwsProfile& profile, const AwsSection& section) {
  AwsFound found;
  found.credentials = {section.value("aws_access_key_id"),
                       section.value("aws_secret_access_key"),
                       // The old name of aws_session_token.
                       section.value("aws_security_token")};
  if (found.credentials.session_token.empty()) {
    found.credentials.session_token = section.value("aws_session_token");
  }
  if (!found.credentials.secret_access_key.empty()) return found;
  return Error{Error::Code::invalid_config,
               fmt::format("profile '{}' in '{}' has aws_access_key_id, but no "
                           "aws_secret_access_key",
                           printable(profile.name), printable(section.file))};
}

Error unsupported_login(const AwsProfile& profile) {
  return {Error::Code::unsupported,
          fmt::format("{} uses 'aws login' (login_session), which smdebug does "
                      "not support: select a profile with 'credential_process "
                      "= aws configure export-credentials --profile {}'",
                      profile.place("login_session"), printable(profile.name))};
}

Error unsupported_device(const AwsProfile& profile) {
  return {Error::Code::unsupported,
          fmt::format("{} needs a code of the device in mfa_serial, for which "
                      "smdebug cannot ask: set the variables that 'aws "
                      "configure export-credentials --profile {} --format env' "
                      "prints",
                      profile.place("mfa_serial"), printable(profile.name))};
}

// One search, which follows the profiles that name each other.
class ProfileSearch {
 public:
  ProfileSearch(const AwsAccess& access, const AwsSharedFiles& files)
      : access_(access), files_(files) {}

  AwsFinding find(const AwsProfile& profile, bool may_assume_role,
                  bool reads_variables) {
    switch (source_of(profile, may_assume_role, reads_variables)) {
      case ProfileSource::none:
        return std::optional<AwsFound>();
      case ProfileSource::role:
        return found(role(profile));
      case ProfileSource::web_identity:
        return found(web_identity(profile, reads_variables));
      case ProfileSource::single_sign_on:
        return found(single_sign_on(access_, files_, profile));
      case ProfileSource::keys_in_credentials:
        return found(keys_in(profile, profile.credentials));
      case ProfileSource::login:
        return unsupported_login(profile);
      case ProfileSource::program:
        return found(run_credential_program(access_, profile));
      case ProfileSource::keys_in_config:
        return found(keys_in(profile, profile.config));
    }
    return std::optional<AwsFound>();
  }

 private:
  static AwsFinding found(Result<AwsFound> result) {
    if (!result) return std::move(result).error();
    return std::optional(*std::move(result));
  }

  Result<AwsFound> role(const AwsProfile& profile) {
    if (profile.has("mfa_serial")) return unsupported_device(profile);
    AwsRole role = {
        profile.value("role_arn"), profile.value("role_session_name"),
        profile.value("external_id"), profile.value("duration_seconds")};
    // Like botocore, which ignores what is no number.
    if (!find_number<unsigned>(role.duration_seconds)) {
      role.duration_seconds.clear();
    }
    SMD_TRY(const AwsFound source, source_of_role(profile));
    auto assumed = assume_role(access_, role, source.credentials);
    if (assumed) return assumed;
    return std::move(assumed).error().within(profile.place("role_arn"));
  }

  Result<AwsFound> source_of_role(const AwsProfile& profile) {
    const std::string source = profile.value("credential_source");
    const std::string name = profile.value("source_profile");
    if (source.empty() == name.empty()) {
      return mistake(profile, "role_arn",
                     name.empty() ? "has role_arn, but neither source_profile "
                                    "nor credential_source"
                                  : "has both source_profile and "
                                    "credential_source: remove one");
    }
    return name.empty() ? named_source(profile, source)
                        : source_profile(profile, name);
  }

  Result<AwsFound> named_source(const AwsProfile& profile,
                                const std::string& source) {
    AwsFinding finding = std::optional<AwsFound>();
    if (source == "Environment") {
      finding = find_environment_credentials();
    } else if (source == "EcsContainer") {
      finding = find_container_credentials(access_);
    } else if (source == "Ec2InstanceMetadata") {
      finding = find_instance_credentials(access_);
    } else {
      return mistake(profile, "credential_source",
                     fmt::format("has the credential_source '{}': it should be "
                                 "Environment, EcsContainer or "
                                 "Ec2InstanceMetadata",
                                 printable(source)));
    }
    if (!finding) {
      return std::move(finding).error().within(
          profile.place("credential_source"));
    }
    if (*finding) return **std::move(finding);
    return mistake(profile, "credential_source",
                   fmt::format("names the credential_source {}, which has no "
                               "credentials",
                               source));
  }

  Result<AwsFound> source_profile(const AwsProfile& profile,
                                  const std::string& name) {
    const AwsProfile* const source = files_.find_profile(name);
    if (!source) {
      return mistake(profile, "source_profile",
                     fmt::format("names the source profile '{}', which is in "
                                 "{}",
                                 printable(name), files_.neither()));
    }
    const bool has_keys = source->has("aws_access_key_id") ||
                          source->has("aws_secret_access_key");
    visited_.push_back(profile.name);
    // A profile may be its own source if it has keys.
    const bool is_own_source = name == profile.name && has_keys;
    if (std::ranges::find(visited_, name) != visited_.end() && !is_own_source) {
      return mistake(profile, "source_profile",
                     fmt::format("names the source profile '{}', which needs "
                                 "the credentials of this profile: one of them "
                                 "should have credentials of its own",
                                 printable(name)));
    }
    SMD_TRY(auto credentials, find(*source, !has_keys, false));
    if (credentials) return *std::move(credentials);
    return mistake(profile, "source_profile",
                   fmt::format("names the source profile '{}', which has no "
                               "credentials",
                               printable(name)));
  }

  Result<AwsFound> web_identity(const AwsProfile& profile,
                                bool reads_variables) const {
    const WebIdentity identity = web_identity_of(profile, reads_variables);
    const bool is_variable =
        profile.value("web_identity_token_file") != identity.token_file;
    const std::string place = is_variable
                                  ? "AWS_WEB_IDENTITY_TOKEN_FILE"
                                  : profile.place("web_identity_token_file");
    if (identity.role.arn.empty()) {
      return Error{
          Error::Code::invalid_config,
          place + (is_variable ? " is set, but AWS_ROLE_ARN is not"
                               : " has web_identity_token_file, but no "
                                 "role_arn")};
    }
    auto assumed = assume_role_with_token_file(access_, identity.role,
                                               identity.token_file);
    if (assumed) return assumed;
    return std::move(assumed).error().within(place);
  }

  const AwsAccess& access_;
  const AwsSharedFiles& files_;
  std::vector<std::string> visited_;
};

}  // namespace

AwsFinding find_profile_credentials(const AwsAccess& access,
                                    const AwsSharedFiles& files,
                                    const AwsProfile& profile) {
  return ProfileSearch(access, files).find(profile, true, true);
}

bool has_profile_credentials(const AwsProfile& profile) {
  return source_of(profile, true, true) != ProfileSource::none;
}

}  // namespace smdebug
