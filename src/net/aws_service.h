#pragma once

// Calls of AWS services: signed requests with their responses.
// `aws_credentials.h` finds the credentials.

#include <string>
#include <vector>

#include "smdebug/base/clock.h"
#include "smdebug/base/result.h"

#include "net/aws_credentials.h"
#include "net/http.h"

namespace smdebug {

class AwsService {
 public:
  // `name` is the name in signatures and in AWS_ENDPOINT_URL_<NAME>; `host` is
  // the first part of the public endpoint: "api.sagemaker" is at
  // "https://api.sagemaker.<region>.amazonaws.com". The endpoint variables
  // AWS_ENDPOINT_URL_<NAME> and AWS_ENDPOINT_URL take precedence. The region is
  // that of `aws_region`. The references outlive the service.
  AwsService(std::string name, std::string host, const HttpClient& client,
             const Clock& clock,
             AwsCredentialChain& credentials = shared_aws_credentials());

  // Sends `body` to "/" in a signed POST request and returns the body of the
  // response. Fails with `io` for a status other than success, with the status
  // and the beginning of the body; otherwise as `HttpClient::send` and
  // `AwsCredentialChain::current` do.
  Result<std::string> post(std::vector<HttpHeader> headers,
                           std::string body) const;

 private:
  std::string name_;
  std::string host_;
  const HttpClient& client_;
  const Clock& clock_;
  AwsCredentialChain& credentials_;
};

}  // namespace smdebug
