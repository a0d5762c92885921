// Single sign-on (IAM Identity Center). The user logs in with `aws sso login`,
// which leaves a token in ~/.aws/sso/cache. This file requests the credentials
// of a role with the token, and a new token if the old one is about to expire.

#include <fmt/format.h>

#include "smdebug/base/escape.h"
#include "smdebug/base/logger.h"
#include "smdebug/base/try.h"

#include "base/environment.h"
#include "base/iso_time.h"
#include "base/text_file.h"
#include "net/aws_endpoint.h"
#include "net/aws_sources.h"
#include "net/hmac.h"

namespace smdebug {
namespace {

// Like botocore.
constexpr double kTokenRefreshSeconds = 15 * 60;

struct SignOn {
  std::string profile;  // its name, for messages
  std::string session;  // empty in profiles of the old form
  std::string start_url, region, account_id, role_name;

  std::string advice() const {
    return fmt::format("run 'aws sso login --profile {}'", printable(profile));
  }
};

struct SignOnToken {
  std::string path;
  Json json;
  std::string access_token;
  double expires = 0;
};

// Returns the value of a key in the profile or in its sso-session. Fails if
// they contradict each other.
Result<std::string> sign_on_value(const AwsProfile& profile,
                                  const AwsSection* session, const char* key) {
  const std::string own = profile.value(key);
  const std::string shared = session ? session->value(key) : "";
  if (own.empty()) return shared;
  if (shared.empty() || own == shared) return own;
  return Error{Error::Code::invalid_config,
               fmt::format("{} is '{}', but '{}' in the sso-session '{}'", key,
                           printable(own), printable(shared),
                           printable(profile.value("sso_session")))};
}

Result<SignOn> sign_on_of(const AwsSharedFiles& files,
                          const AwsProfile& profile) {
  SignOn sign_on;
  sign_on.profile = profile.name;
  sign_on.session = profile.value("sso_session");
  const AwsSection* const session = files.find_sso_session(sign_on.session);
  if (!sign_on.session.empty() && !session) {
    return Error{Error::Code::invalid_config,
                 fmt::format("names the sso-session '{}', which is not in '{}'",
                             printable(sign_on.session),
                             printable(files.config_file()))};
  }
  const std::pair<const char*, std::string*> kKeys[] = {
      {"sso_start_url", &sign_on.start_url},
      {"sso_region", &sign_on.region},
      {"sso_account_id", &sign_on.account_id},
      {"sso_role_name", &sign_on.role_name}};
  for (const auto& [key, target] : kKeys) {
    SMD_TRY(*target, sign_on_value(profile, session, key));
    if (target->empty()) {
      return Error{Error::Code::invalid_config,
                   fmt::format("{} is missing", key)};
    }
  }
  return sign_on;
}

Result<SignOnToken> read_token(const SignOn& sign_on) {
  const std::string& name =
      sign_on.session.empty() ? sign_on.start_url : sign_on.session;
  SignOnToken token;
  token.path =
      home_folder() + "/.aws/sso/cache/" + hex_text(sha1(name)) + ".json";
  const auto text = read_text_file(token.path);
  if (!text && text.error().code == Error::Code::not_found) {
    return Error{Error::Code::not_found,
                 fmt::format("there is no token in '{}': {}",
                             printable(token.path), sign_on.advice())};
  }
  if (!text) return text.error();
  auto json = parse_secret_json(*text);
  const auto access = json ? json->string_at("accessToken") : json.error();
  const auto expires = json ? json->string_at("expiresAt") : json.error();
  const auto seconds = expires ? find_iso_seconds(*expires) : std::nullopt;
  if (!access || !seconds) {
    return Error{Error::Code::corrupt,
                 fmt::format("'{}' is not a token: {}", printable(token.path),
                             sign_on.advice())};
  }
  token.json = *std::move(json);
  token.access_token = *access;
  token.expires = *seconds;
  return token;
}

// The request of a new token. Fails if the old one cannot be exchanged.
Result<HttpRequest> exchange_of(const SignOn& sign_on, const Json& token,
                                double now) {
  SMD_TRY(const std::string client_id, token.string_at("clientId"));
  SMD_TRY(const std::string client_secret, token.string_at("clientSecret"));
  SMD_TRY(const std::string refresh_token, token.string_at("refreshToken"));
  SMD_TRY(const std::string until, token.string_at("registrationExpiresAt"));
  if (find_iso_seconds(until).value_or(0) <= now) {
    return Error{Error::Code::unavailable, "its registration has expired"};
  }
  HttpRequest request;
  request.method = "POST";
  request.url = aws_endpoint("sso_oidc", "oidc", sign_on.region) + "/token";
  request.headers = {{"content-type", "application/json"}};
  request.body = Json(Json::Object{{"grantType", "refresh_token"},
                                   {"clientId", client_id},
                                   {"clientSecret", client_secret},
                                   {"refreshToken", refresh_token}})
                     .dump();
  return request;
}

Result<SignOnToken> exchange_token(const AwsAccess& access,
                                   const SignOn& sign_on, SignOnToken token) {
  const double now = access.clock.wall_seconds();
  SMD_TRY(const HttpRequest request, exchange_of(sign_on, token.json, now));
  SMD_TRY(const std::string response, send_to_aws(access.http, request));
  SMD_TRY(const Json json, parse_secret_json(response));
  SMD_TRY(token.access_token, json.string_at("accessToken"));
  SMD_TRY(const std::int64_t seconds, json.int_at("expiresIn"));
  token.expires = now + static_cast<double>(seconds);
  token.json["accessToken"] = token.access_token;
  token.json["expiresAt"] = utc_text(token.expires);
  // A refresh token may be valid only once.
  if (const Json* const next = json.find("refreshToken")) {
    token.json["refreshToken"] = *next;
  }
  const Status kept = replace_private_file(token.path, token.json.dump());
  if (!kept) {
    default_logger().warning("AWS single sign-on: the new token is not kept: " +
                             kept.error().message);
  }
  return token;
}

// Returns a token that has not expired.
Result<std::string> valid_token(const AwsAccess& access,
                                const SignOn& sign_on) {
  SMD_TRY(const SignOnToken token, read_token(sign_on));
  const double left = token.expires - access.clock.wall_seconds();
  if (left >= kTokenRefreshSeconds) return token.access_token;
  std::string reason;
  if (!sign_on.session.empty()) {
    const auto next = exchange_token(access, sign_on, token);
    if (next) return next->access_token;
    reason = " and cannot be refreshed (" + next.error().message + ")";
  }
  if (left > 0) return token.access_token;
  return Error{Error::Code::unavailable,
               fmt::format("the token in '{}' expired at {}{}: {}",
                           printable(token.path), utc_text(token.expires),
                           reason, sign_on.advice())};
}

Result<AwsFound> sign_on_credentials(const std::string& response) {
  SMD_TRY(const Json json, parse_secret_json(response));
  SMD_TRY([[maybe_unused]] const auto* members,
          json.object_at("roleCredentials"));
  const Json& role = *json.find("roleCredentials");
  AwsFound found;
  SMD_TRY(found.credentials.access_key_id, role.string_at("accessKeyId"));
  SMD_TRY(found.credentials.secret_access_key,
          role.string_at("secretAccessKey"));
  SMD_TRY(found.credentials.session_token, role.string_at("sessionToken"));
  SMD_TRY(const std::int64_t milliseconds, role.int_at("expiration"));
  found.expires = static_cast<double>(milliseconds) / 1000;
  return found;
}

Result<AwsFound> request_sign_on(const AwsAccess& access,
                                 const AwsSharedFiles& files,
                                 const AwsProfile& profile) {
  SMD_TRY(const SignOn sign_on, sign_on_of(files, profile));
  SMD_TRY(const std::string token, valid_token(access, sign_on));
  HttpRequest request;
  request.url = aws_endpoint("sso", "portal.sso", sign_on.region) +
                "/federation/credentials?" +
                form_encoded({{"role_name", sign_on.role_name},
                              {"account_id", sign_on.account_id}});
  request.headers = {{"x-amz-sso_bearer_token", token}};
  SMD_TRY(const HttpResponse response, access.http.send(request));
  if (response.is_success()) return sign_on_credentials(response.body);
  Error error = aws_refusal(request, response);
  if (response.status == 401) error.message += "; " + sign_on.advice();
  return error;
}

}  // namespace

Result<AwsFound> single_sign_on(const AwsAccess& access,
                                const AwsSharedFiles& files,
                                const AwsProfile& profile) {
  auto found = request_sign_on(access, files, profile);
  if (found) return found;
  const bool has_role = profile.has("sso_role_name");
  return std::move(found).error().within(
      profile.place(has_role ? "sso_role_name" : "sso_account_id"));
}

}  // namespace smdebug
