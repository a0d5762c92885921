#include "net/aws_service.h"

#include <utility>

#include "smdebug/base/try.h"

#include "net/aws_endpoint.h"
#include "net/aws_signature.h"

namespace smdebug {

AwsService::AwsService(std::string name, std::string host,
                       const HttpClient& client, const Clock& clock,
                       AwsCredentialChain& credentials)
    : name_(std::move(name)),
      host_(std::move(host)),
      client_(client),
      clock_(clock),
      credentials_(credentials) {}

Result<std::string> AwsService::post(std::vector<HttpHeader> headers,
                                     std::string body) const {
  SMD_TRY(const auto credentials, credentials_.current());
  if (!credentials) {
    return Error{Error::Code::invalid_config,
                 "no AWS credentials: set AWS_ACCESS_KEY_ID and "
                 "AWS_SECRET_ACCESS_KEY, or AWS_PROFILE to a profile of the "
                 "AWS tools"};
  }
  const std::string region = aws_region();
  HttpRequest request;
  request.method = "POST";
  request.url = aws_endpoint(name_, host_, region) + "/";
  request.headers = std::move(headers);
  request.body = std::move(body);
  SMD_CHECK_OK(sign_request(request, *credentials, {region, name_},
                            clock_.wall_seconds()));
  return send_to_aws(client_, request);
}

}  // namespace smdebug
