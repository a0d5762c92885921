#include "base/environment.h"
#include "net/aws_sources.h"

namespace smdebug {

AwsFinding find_environment_credentials() {
  AwsCredentials credentials = {environment_text("AWS_ACCESS_KEY_ID"),
                                environment_text("AWS_SECRET_ACCESS_KEY"),
                                // The old name of AWS_SESSION_TOKEN.
                                environment_text("AWS_SECURITY_TOKEN")};
  if (credentials.access_key_id.empty()) return std::optional<AwsFound>();
  if (credentials.secret_access_key.empty()) {
    return Error{Error::Code::invalid_config,
                 "AWS_ACCESS_KEY_ID is set, but AWS_SECRET_ACCESS_KEY is not: "
                 "set both or none"};
  }
  if (credentials.session_token.empty()) {
    credentials.session_token = environment_text("AWS_SESSION_TOKEN");
  }
  return std::optional(AwsFound{std::move(credentials)});
}

}  // namespace smdebug
