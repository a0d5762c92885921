#include <algorithm>

#include <fmt/format.h>

#include "smdebug/base/try.h"

#include "base/environment.h"
#include "base/strings.h"
#include "base/text_file.h"
#include "net/aws_endpoint.h"
#include "net/aws_sources.h"

namespace smdebug {
namespace {

constexpr const char* kRelative = "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI";
constexpr const char* kFull = "AWS_CONTAINER_CREDENTIALS_FULL_URI";
// The server for credentials in a container on ECS, and so in a SageMaker job.
constexpr const char* kContainerHost = "http://169.254.170.2";
constexpr int kContainerTries = 3;

// Returns true if the server is on this machine. Others must use https, so
// that the network does not see the credentials.
bool is_on_this_machine(const std::string& authority) {
  constexpr std::string_view kHosts[] = {"169.254.170.2", "169.254.170.23",
                                         "[fd00:ec2::23]", "localhost",
                                         "[::1]"};
  const std::size_t bracket = authority.rfind(']');
  const std::size_t colon = authority.rfind(':');
  const bool has_port =
      colon != authority.npos && (bracket == authority.npos || bracket < colon);
  const std::string host =
      lower_case(has_port ? authority.substr(0, colon) : authority);
  const bool is_loopback = host.starts_with("127.") &&
                           host.find_first_not_of("0123456789.") == host.npos;
  return is_loopback || std::ranges::find(kHosts, host) != std::end(kHosts);
}

// The contents of a header.
Result<std::string> authorization() {
  const std::string file =
      environment_text("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
  std::string token = environment_text("AWS_CONTAINER_AUTHORIZATION_TOKEN");
  if (!file.empty()) {
    SMD_TRY(const std::string text, read_text_file(file));
    token = trimmed(text);
  }
  if (is_one_line(token)) return token;
  return Error{Error::Code::invalid_config,
               "the authorization token should be one line"};
}

Result<HttpRequest> make_request() {
  const std::string relative = environment_text(kRelative);
  HttpRequest request;
  request.url =
      relative.empty() ? environment_text(kFull) : kContainerHost + relative;
  request.timeout = std::chrono::seconds(2);
  request.may_use_proxy = false;
  request.headers = {{"Accept", "application/json"}};
  const auto url = split_url(request.url);
  const bool is_safe =
      url && (url->scheme == "https" ||
              (url->scheme == "http" && is_on_this_machine(url->authority)));
  if (!is_safe) {
    return Error{Error::Code::invalid_config,
                 fmt::format("{} names {}: only https, or http on this "
                             "machine, may have credentials",
                             relative.empty() ? kFull : kRelative,
                             shown_url(request.url))};
  }
  SMD_TRY(const std::string token, authorization());
  if (!token.empty()) request.headers.push_back({"Authorization", token});
  return request;
}

Result<AwsFound> ask_container(const AwsAccess& access) {
  SMD_TRY(const HttpRequest request, make_request());
  auto response = send_to_aws(access.http, request);
  for (int tried = 1; !response && tried < kContainerTries; ++tried) {
    access.clock.sleep_for(std::chrono::seconds(1));
    response = send_to_aws(access.http, request);
  }
  if (!response) return std::move(response).error();
  SMD_TRY(const Json json, parse_secret_json(*response));
  return parse_aws_credentials(json, "Token");
}

}  // namespace

bool has_container_credentials() {
  return !environment_text(kRelative).empty() ||
         !environment_text(kFull).empty();
}

AwsFinding find_container_credentials(const AwsAccess& access) {
  if (!has_container_credentials()) return std::optional<AwsFound>();
  auto found = ask_container(access);
  if (found) return std::optional(*std::move(found));
  return std::move(found).error().within("the container's credentials");
}

}  // namespace smdebug
