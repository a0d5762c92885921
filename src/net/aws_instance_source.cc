// The metadata service of EC2 instances, in its second version: a token that is
// requested first protects it from requests that others smuggle in. The first
// version, without the token, is not used.

#include <algorithm>

#include <fmt/format.h>

#include "smdebug/base/escape.h"
#include "smdebug/base/try.h"

#include "base/environment.h"
#include "base/strings.h"
#include "net/aws_endpoint.h"
#include "net/aws_sources.h"

namespace smdebug {
namespace {

constexpr const char* kInstanceSource = "the role of this instance";
constexpr const char* kRolePath = "/latest/meta-data/iam/security-credentials/";
constexpr const char* kTokenSeconds = "21600";  // like botocore
// Machines without the service drop the request instead of refusing it.
constexpr std::chrono::seconds kMetadataTimeout(1);
constexpr int kMetadataTries = 2;
// During an outage, the service returns credentials that have expired, and
// other services accept them. They are kept for this long.
constexpr double kLeastSeconds = 20 * 60;

bool is_disabled() {
  return lower_case(environment_text("AWS_EC2_METADATA_DISABLED")) == "true";
}

std::string service_url() {
  std::string url = environment_text("AWS_EC2_METADATA_SERVICE_ENDPOINT");
  while (url.ends_with('/')) url.pop_back();
  if (!url.empty()) return url;
  const std::string mode =
      lower_case(environment_text("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE"));
  return mode == "ipv6" ? "http://[fd00:ec2::254]" : "http://169.254.169.254";
}

// Tries again if there was no answer, or a temporary failure.
Result<HttpResponse> ask_service(const AwsAccess& access, HttpRequest request) {
  request.timeout = kMetadataTimeout;
  request.may_use_proxy = false;
  auto response = access.http.send(request);
  for (int tried = 1; tried < kMetadataTries; ++tried) {
    if (response && response->status < 500) break;
    response = access.http.send(request);
  }
  return response;
}

// Returns nothing if there is no service, or one without tokens.
std::optional<std::string> find_token(const AwsAccess& access) {
  HttpRequest request;
  request.method = "PUT";
  request.url = service_url() + "/latest/api/token";
  request.headers = {{"x-aws-ec2-metadata-token-ttl-seconds", kTokenSeconds}};
  auto response = ask_service(access, request);
  if (!response || !response->is_success()) return {};
  return std::string(trimmed(response->body));
}

// Returns nothing if there is no such path.
Result<std::optional<std::string>> find_text(const AwsAccess& access,
                                             const std::string& token,
                                             const std::string& path) {
  HttpRequest request;
  request.url = service_url() + path;
  request.headers = {{"x-aws-ec2-metadata-token", token}};
  SMD_TRY(HttpResponse response, ask_service(access, request));
  if (response.is_success()) return std::optional(std::move(response.body));
  if (response.status == 404) return std::optional<std::string>();
  return aws_refusal(request, response);
}

Result<AwsFound> credentials_in(const std::string& document, double now) {
  SMD_TRY(const Json json, parse_secret_json(document));
  const auto code = json.string_at("Code");
  if (code && *code != "Success") {
    return Error{
        Error::Code::unavailable,
        fmt::format("the metadata service reports '{}': {}", printable(*code),
                    printable(json.string_at("Message").ok()
                                  ? *json.string_at("Message")
                                  : "no reason given"))};
  }
  SMD_TRY(AwsFound found, parse_aws_credentials(json, "Token"));
  if (found.expires) {
    found.expires = std::max(*found.expires, now + kLeastSeconds);
  }
  return found;
}

Result<AwsFound> credentials_of(const AwsAccess& access,
                                const std::string& token,
                                const std::string& role) {
  SMD_TRY(const auto document,
          find_text(access, token, kRolePath + uri_encoded(role)));
  if (document) return credentials_in(*document, access.clock.wall_seconds());
  return Error{Error::Code::not_found, "it has no credentials"};
}

AwsFinding find_role(const AwsAccess& access, const std::string& token) {
  SMD_TRY(const auto names, find_text(access, token, kRolePath));
  const std::string role(trimmed(names.value_or("")));
  if (role.empty()) return std::optional<AwsFound>();
  auto found = credentials_of(access, token, role);
  if (found) return std::optional(*std::move(found));
  return std::move(found).error().within("'" + printable(role) + "'");
}

}  // namespace

AwsFinding find_instance_credentials(const AwsAccess& access) {
  if (is_disabled()) return std::optional<AwsFound>();
  const auto token = find_token(access);
  if (!token) return std::optional<AwsFound>();
  auto found = find_role(access, *token);
  if (found) return found;
  return std::move(found).error().within(kInstanceSource);
}

}  // namespace smdebug
