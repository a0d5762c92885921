#pragma once

// The sources of AWS credentials, each a function. `AwsCredentialChain`
// (aws_credentials.h) asks them in the order of this file. None of them keeps
// anything. A source returns nothing if it is not configured, and an error,
// which names it, if it is configured and fails: the chain does not try the
// next one then, because other credentials may belong to another account.

#include <optional>
#include <string>
#include <string_view>

#include "smdebug/base/clock.h"
#include "smdebug/base/result.h"

#include "base/json.h"
#include "net/aws_shared_files.h"
#include "net/aws_signature.h"
#include "net/http.h"

namespace smdebug {

struct AwsFound {
  AwsCredentials credentials;
  // Seconds since the Unix epoch; nothing for credentials that never expire,
  // or whose source does not tell.
  std::optional<double> expires = {};
};

using AwsFinding = Result<std::optional<AwsFound>>;

// The clients of the sources, which outlive it.
struct AwsAccess {
  const HttpClient& http;
  const Clock& clock;
};

// AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN
// (aws_environment_source.cc).
AwsFinding find_environment_credentials();

// The first of these that the profile has: a role that another source assumes,
// a role for a web identity (also that of AWS_WEB_IDENTITY_TOKEN_FILE), single
// sign-on, keys in the credentials file, `credential_process`, keys in the
// config file (aws_profile_source.cc).
AwsFinding find_profile_credentials(const AwsAccess& access,
                                    const AwsSharedFiles& files,
                                    const AwsProfile& profile);
// Returns true if the profile or a variable has one of these. Nothing is asked.
bool has_profile_credentials(const AwsProfile& profile);

// The server of AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or _FULL_URI
// (aws_container_source.cc).
AwsFinding find_container_credentials(const AwsAccess& access);
bool has_container_credentials();

// The role of the EC2 instance. Nothing if the metadata service does not
// answer, because most machines have none (aws_instance_source.cc).
AwsFinding find_instance_credentials(const AwsAccess& access);

// The following are parts of the profiles.

// A role and the parameters of a request for its credentials. Empty ones are
// not sent.
struct AwsRole {
  std::string arn;
  std::string session_name;
  std::string external_id = {};
  std::string duration_seconds = {};
};

// Requests the credentials of a role from the security token service, signed
// with the credentials of `source` (aws_role_source.cc).
Result<AwsFound> assume_role(const AwsAccess& access, const AwsRole& role,
                             const AwsCredentials& source);
// Same, authenticated by the token in a file.
Result<AwsFound> assume_role_with_token_file(const AwsAccess& access,
                                             const AwsRole& role,
                                             const std::string& token_file);

// The credentials of a role for the user of `aws sso login`. Refreshes the
// token of that user in ~/.aws/sso/cache if it is about to expire
// (aws_sso_source.cc).
Result<AwsFound> single_sign_on(const AwsAccess& access,
                                const AwsSharedFiles& files,
                                const AwsProfile& profile);

// Runs the `credential_process` of a profile (aws_program_source.cc).
Result<AwsFound> run_credential_program(const AwsAccess& access,
                                        const AwsProfile& profile);

// Parses a document that is secret. Fails with `corrupt`; the message does not
// quote the document.
Result<Json> parse_secret_json(const std::string& document);
// Returns the credentials in the members "AccessKeyId", "SecretAccessKey",
// `session_token` and "Expiration". The last two may be missing. Fails with
// `corrupt` (aws_json.cc).
Result<AwsFound> parse_aws_credentials(const Json& json,
                                       std::string_view session_token);

}  // namespace smdebug
