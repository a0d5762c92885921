#pragma once

// Calls of AWS services: credentials, endpoints, and signed requests with their
// responses. Credentials come from the environment, or from the address that
// AWS gives to containers. They are looked up for each call, because those of
// a container expire after hours.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "smdebug/base/clock.h"
#include "smdebug/base/result.h"

#include "net/aws_signature.h"
#include "net/http.h"

namespace smdebug {

// Returns AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, or
// requests the credentials from AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or
// _FULL_URI. Returns nothing if none of these variables is set. Fails as the
// request does.
Result<std::optional<AwsCredentials>> find_aws_credentials(
    const HttpClient& client);

// Returns true if one of these variables is set, without a request.
bool has_aws_credentials();

// Returns AWS_REGION, AWS_DEFAULT_REGION, or "us-east-1", like the original.
std::string aws_region();

class AwsService {
 public:
  // `name` is the name in signatures and in AWS_ENDPOINT_URL_<NAME>; `host` is
  // the first part of the public endpoint: "sagemaker" is at
  // "https://api.sagemaker.<region>.amazonaws.com". The endpoint variables
  // AWS_ENDPOINT_URL_<NAME> and AWS_ENDPOINT_URL take precedence.
  AwsService(std::string name, const std::string& host,
             const HttpClient& client, const Clock& clock);

  // Sends `body` to "/" in a signed POST request and returns the body of the
  // response. Fails with `io` for a status other than success, with the status
  // and the beginning of the body; otherwise as `HttpClient::send` does.
  Result<std::string> post(std::vector<HttpHeader> headers,
                           std::string body) const;

 private:
  std::string name_;
  std::string endpoint_;
  std::string region_;
  const HttpClient& client_;
  const Clock& clock_;
};

}  // namespace smdebug
