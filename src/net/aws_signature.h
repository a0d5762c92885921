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

// The words of a signature. Google Cloud Storage takes AWS's as well, but not
// together with its own headers.
struct SignatureDialect {
  std::string_view algorithm;
  std::string_view key_prefix;
  std::string_view end_of_scope;
  std::string_view header_prefix;

  std::string header(std::string_view name) const {
    return std::string(header_prefix).append(name);
  }
};

inline constexpr SignatureDialect kAwsDialect = {"AWS4-HMAC-SHA256", "AWS4",
                                                 "aws4_request", "x-amz-"};
inline constexpr SignatureDialect kGoogleDialect = {
    "GOOG4-HMAC-SHA256", "GOOG4", "goog4_request", "x-goog-"};

struct AwsScope {
  std::string region;
  std::string service;  // the name in signatures: "sns", "s3", "storage"
  SignatureDialect dialect = kAwsDialect;
};

// Object stores require the header x-amz-content-sha256: the SHA-256 of the
// body in hexadecimal digits, or "UNSIGNED-PAYLOAD". `sign_request` then takes
// the hash from it.
inline constexpr std::string_view kPayloadHash = "content-sha256";

// Adds the headers x-amz-date, x-amz-security-token (with a session token) and
// authorization. The signature covers these, the host and all headers of the
// request, so none may be added or changed afterwards. The caller
// percent-encodes the path of the URL. Object stores expect this path in the
// signature, other services expect it encoded a second time. Fails with
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
