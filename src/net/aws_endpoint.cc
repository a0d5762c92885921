#include "net/aws_endpoint.h"

#include <algorithm>

#include <fmt/format.h>

#include "smdebug/base/escape.h"
#include "smdebug/base/try.h"

#include "base/environment.h"

namespace smdebug {
namespace {

constexpr std::size_t kResponseShown = 300;

}  // namespace

std::string aws_endpoint_variable(std::string_view service) {
  std::string upper(service);
  std::ranges::transform(upper, upper.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  for (const std::string& key :
       {"AWS_ENDPOINT_URL_" + upper, std::string("AWS_ENDPOINT_URL")}) {
    std::string url = environment_text(key.c_str());
    while (url.ends_with('/')) url.pop_back();
    if (!url.empty()) return url;
  }
  return "";
}

std::string aws_public_endpoint(std::string_view host,
                                std::string_view region) {
  return fmt::format("https://{}.{}.amazonaws.com{}", host, region,
                     region.starts_with("cn-") ? ".cn" : "");
}

std::string aws_endpoint(std::string_view service, std::string_view host,
                         std::string_view region) {
  std::string url = aws_endpoint_variable(service);
  return url.empty() ? aws_public_endpoint(host, region) : url;
}

Error aws_refusal(const HttpRequest& request, const HttpResponse& response) {
  return {Error::Code::io,
          fmt::format(
              "{} answered {}: {}", shown_url(request.url), response.status,
              printable(
                  std::string_view(response.body).substr(0, kResponseShown)))};
}

Result<std::string> send_to_aws(const HttpClient& client,
                                const HttpRequest& request) {
  SMD_TRY(HttpResponse response, client.send(request));
  if (!response.is_success()) return aws_refusal(request, response);
  return std::move(response.body);
}

}  // namespace smdebug
