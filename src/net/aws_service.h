#pragma once

// Calls of AWS services: who we are, where they are, a signed request and its
// answer. Credentials come from the environment, or from the address that a
// container on AWS is given; which of them is asked at each call, because those
// of a container end after hours.

#include <optional>
#include <string>

#include "smdebug/base/clock.h"
#include "smdebug/base/result.h"

#include "net/aws_signature.h"
#include "net/http.h"

namespace smdebug {

// AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN; else what
// AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or _FULL_URI answers. None where the
// environment names none of these. Fails as the request does.
Result<std::optional<AwsCredentials>> find_aws_credentials(
    const HttpClient& client);

// True where the environment names credentials; asks nobody.
bool are_aws_credentials_named();

// AWS_REGION, AWS_DEFAULT_REGION, or "us-east-1", as the original.
std::string aws_region();

class AwsService {
 public:
  // `name` is that of signatures and of AWS_ENDPOINT_URL_<NAME>; `host` the
  // first part of the public endpoint: "sagemaker" is at
  // "https://api.sagemaker.<region>.amazonaws.com". The endpoint variables
  // AWS_ENDPOINT_URL_<NAME> and AWS_ENDPOINT_URL come first.
  AwsService(std::string name, std::string host, const HttpClient& client,
             const Clock& clock);

  // Sends `body` to "/" by POST, signed, and returns the body of the answer.
  // Fails with `io` for an answer that is no success, with its status and the
  // beginning of what it says; else as `HttpClient::send`.
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
