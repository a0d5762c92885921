#pragma once

// Signature Version 4: how AWS, and what imitates it, knows who sends a
// request. Pure functions; who we are is found in `aws_service.h`.

#include <string>

#include "net/http.h"

namespace smdebug {

struct AwsCredentials {
  std::string access_key_id;
  std::string secret_access_key;
  std::string session_token;  // empty: lasting credentials
};

struct AwsScope {
  std::string region;
  std::string service;  // the name that signatures use: "sns", "s3"
};

// Adds the headers x-amz-date, x-amz-security-token (with a session token) and
// authorization. The signature covers these, the host and every header that is
// there already, so none may be added or changed afterwards. The path of the
// URL is percent-encoded by the caller; S3's is signed as it stands, that of
// other services encoded once more, as each of them wants it. Fails with
// `invalid_argument` for a URL that is none.
Status sign_request(HttpRequest& request, const AwsCredentials& credentials,
                    const AwsScope& scope, double wall_seconds);

}  // namespace smdebug
