#include "net/aws_service.h"

#include <algorithm>

#include <fmt/format.h>

#include "smdebug/base/escape.h"
#include "smdebug/base/try.h"

#include "base/environment.h"
#include "base/json.h"

namespace smdebug {
namespace {

// The server for credentials in a container on ECS, and so in a SageMaker job.
constexpr const char* kContainerHost = "http://169.254.170.2";
constexpr std::size_t kResponseShown = 300;

// An empty variable counts as not set.
std::string variable(const char* name) {
  return environment_variable(name).value_or("");
}

std::string container_url() {
  const std::string relative =
      variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  if (!relative.empty()) return kContainerHost + relative;
  return variable("AWS_CONTAINER_CREDENTIALS_FULL_URI");
}

Result<AwsCredentials> container_credentials(const HttpClient& client) {
  HttpRequest request;
  request.url = container_url();
  request.timeout = std::chrono::seconds(2);
  const std::string token = variable("AWS_CONTAINER_AUTHORIZATION_TOKEN");
  if (!token.empty()) request.headers.push_back({"Authorization", token});
  SMD_TRY(const HttpResponse response, client.send(request));
  if (!response.is_success()) {
    return Error{Error::Code::io,
                 "the container's credentials: its server answered " +
                     std::to_string(response.status)};
  }
  auto json = Json::parse(response.body);
  if (!json) {
    return std::move(json).error().within("the container's credentials");
  }
  AwsCredentials credentials;
  SMD_TRY(credentials.access_key_id, json->string_at("AccessKeyId"));
  SMD_TRY(credentials.secret_access_key, json->string_at("SecretAccessKey"));
  SMD_TRY(credentials.session_token, json->string_at("Token"));
  return credentials;
}

std::string endpoint_of(const std::string& name, const std::string& host,
                        const std::string& region) {
  std::string upper = name;
  std::ranges::transform(upper, upper.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  for (const std::string& key :
       {"AWS_ENDPOINT_URL_" + upper, std::string("AWS_ENDPOINT_URL")}) {
    std::string url = variable(key.c_str());
    while (url.ends_with('/')) url.pop_back();
    if (!url.empty()) return url;
  }
  return fmt::format("https://{}.{}.amazonaws.com{}", host, region,
                     region.starts_with("cn-") ? ".cn" : "");
}

}  // namespace

bool has_aws_credentials() {
  return (!variable("AWS_ACCESS_KEY_ID").empty() &&
          !variable("AWS_SECRET_ACCESS_KEY").empty()) ||
         !container_url().empty();
}

Result<std::optional<AwsCredentials>> find_aws_credentials(
    const HttpClient& client) {
  AwsCredentials credentials = {variable("AWS_ACCESS_KEY_ID"),
                                variable("AWS_SECRET_ACCESS_KEY"),
                                variable("AWS_SESSION_TOKEN")};
  if (!credentials.access_key_id.empty() &&
      !credentials.secret_access_key.empty()) {
    return std::optional(std::move(credentials));
  }
  if (container_url().empty()) return std::optional<AwsCredentials>();
  SMD_TRY(credentials, container_credentials(client));
  return std::optional(std::move(credentials));
}

std::string aws_region() {
  for (const char* const name : {"AWS_REGION", "AWS_DEFAULT_REGION"}) {
    if (std::string region = variable(name); !region.empty()) return region;
  }
  return "us-east-1";
}

AwsService::AwsService(std::string name, const std::string& host,
                       const HttpClient& client, const Clock& clock)
    : name_(std::move(name)),
      region_(aws_region()),
      client_(client),
      clock_(clock) {
  endpoint_ = endpoint_of(name_, host, region_);
}

Result<std::string> AwsService::post(std::vector<HttpHeader> headers,
                                     std::string body) const {
  SMD_TRY(const auto credentials, find_aws_credentials(client_));
  if (!credentials) {
    return Error{Error::Code::invalid_config,
                 "no AWS credentials: set AWS_ACCESS_KEY_ID and "
                 "AWS_SECRET_ACCESS_KEY"};
  }
  HttpRequest request;
  request.method = "POST";
  request.url = endpoint_ + "/";
  request.headers = std::move(headers);
  request.body = std::move(body);
  SMD_CHECK_OK(sign_request(request, *credentials, {region_, name_},
                            clock_.wall_seconds()));
  SMD_TRY(HttpResponse response, client_.send(request));
  if (!response.is_success()) {
    return Error{
        Error::Code::io,
        fmt::format(
            "{} answered {}: {}", shown_url(endpoint_), response.status,
            printable(
                std::string_view(response.body).substr(0, kResponseShown)))};
  }
  return std::move(response.body);
}

}  // namespace smdebug
