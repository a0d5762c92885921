#pragma once

// Addresses of AWS services, and requests to them. `aws_signature.h` signs the
// requests.

#include <string>
#include <string_view>

#include "smdebug/base/result.h"

#include "net/http.h"

namespace smdebug {

// Returns the variable AWS_ENDPOINT_URL_<SERVICE> or AWS_ENDPOINT_URL, without
// '/' at its end; empty if neither is set. `service` has '_' for blanks, like
// the variable: "sso_oidc".
std::string aws_endpoint_variable(std::string_view service);

// Returns "https://<host>.<region>.amazonaws.com".
std::string aws_public_endpoint(std::string_view host, std::string_view region);

// Returns the first of these that there is.
std::string aws_endpoint(std::string_view service, std::string_view host,
                         std::string_view region);

// Returns the failure of a request that was answered: the server, the status
// and the beginning of the body, with the code `io`.
Error aws_refusal(const HttpRequest& request, const HttpResponse& response);

// Sends the request and returns the body of the response. Fails with
// `aws_refusal` for a status other than success; otherwise as
// `HttpClient::send` does.
Result<std::string> send_to_aws(const HttpClient& client,
                                const HttpRequest& request);

}  // namespace smdebug
