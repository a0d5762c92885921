#pragma once

// Signature Version 4, with which AWS and compatible services authenticate
// requests, and the percent-encoding that it requires. Pure functions;
// `aws_credentials.h` finds the credentials.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/http.h"

namespace smdebug {

struct AwsCredentials {
  std::string access_key_id;
  std::string secret_access_key;
  std::string session_token;  // empty for permanent credentials
};

struct AwsScope {
  std::string region;
  std::string service;  // the name in signatures: "sns", "s3"
};

// S3 requires this header: the SHA-256 of the body in hexadecimal digits, or
// "UNSIGNED-PAYLOAD". `sign_request` then takes the hash from it.
inline constexpr std::string_view kPayloadHashHeader = "x-amz-content-sha256";

// Adds the headers x-amz-date, x-amz-security-token (with a session token) and
// authorization. The signature covers these, the host and all headers of the
// request, so none may be added or changed afterwards. The caller
// percent-encodes the path of the URL. S3 expects this path in the signature,
// other services expect it encoded a second time. Fails with
// `invalid_argument` for an invalid URL.
Status sign_request(HttpRequest& request, const AwsCredentials& credentials,
                    const AwsScope& scope, double wall_seconds);

// Encodes every byte except letters, digits and "-._~" as %XX (RFC 3986, as
// signatures require). Keeps '/' with `keep_slashes`.
std::string uri_encoded(std::string_view text, bool keep_slashes = false);

// Returns "a=1&b=two%20words", in the order of `fields`.
std::string form_encoded(
    const std::vector<std::pair<std::string, std::string>>& fields);

}  // namespace smdebug
