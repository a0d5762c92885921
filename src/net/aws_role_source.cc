// Requests to the security token service (STS).

#include <cmath>

#include <fmt/format.h>

#include "smdebug/base/escape.h"
#include "smdebug/base/try.h"

#include "base/iso_time.h"
#include "base/strings.h"
#include "base/text_file.h"
#include "net/aws_credentials.h"
#include "net/aws_endpoint.h"
#include "net/aws_sources.h"
#include "net/xml.h"

namespace smdebug {
namespace {

using Fields = std::vector<std::pair<std::string, std::string>>;

constexpr const char* kStsVersion = "2011-06-15";

Fields role_fields(const std::string& action, const AwsRole& role,
                   const Clock& clock) {
  Fields fields = {
      {"Action", action},
      {"Version", kStsVersion},
      {"RoleArn", role.arn},
      {"RoleSessionName",
       role.session_name.empty()
           ? fmt::format("smdebug-{:.0f}", std::floor(clock.wall_seconds()))
           : role.session_name}};
  if (!role.external_id.empty()) {
    fields.emplace_back("ExternalId", role.external_id);
  }
  if (!role.duration_seconds.empty()) {
    fields.emplace_back("DurationSeconds", role.duration_seconds);
  }
  return fields;
}

Result<AwsFound> role_credentials(const std::string& response) {
  AwsFound found;
  std::string expiration;
  const std::pair<const char*, std::string*> kElements[] = {
      {"AccessKeyId", &found.credentials.access_key_id},
      {"SecretAccessKey", &found.credentials.secret_access_key},
      {"SessionToken", &found.credentials.session_token},
      {"Expiration", &expiration}};
  for (const auto& [element, target] : kElements) {
    auto text = find_xml_text(response, element);
    if (!text || text->empty()) {
      return Error{Error::Code::corrupt,
                   fmt::format("the response has no {}", element)};
    }
    *target = *std::move(text);
  }
  found.expires = find_iso_seconds(expiration);
  if (found.expires) return found;
  return Error{Error::Code::corrupt,
               "the response has an Expiration that is no time"};
}

// Signs the request if there are credentials.
Result<AwsFound> request_role(const AwsAccess& access, const AwsRole& role,
                              const Fields& fields,
                              const AwsCredentials* source) {
  const std::string region = aws_region();
  HttpRequest request;
  request.method = "POST";
  request.url = aws_endpoint("sts", "sts", region) + "/";
  request.headers = {
      {"content-type", "application/x-www-form-urlencoded; charset=utf-8"}};
  request.body = form_encoded(fields);
  if (source) {
    SMD_CHECK_OK(sign_request(request, *source, {region, "sts"},
                              access.clock.wall_seconds()));
  }
  auto response = send_to_aws(access.http, request);
  auto found = response ? role_credentials(*response)
                        : Result<AwsFound>(std::move(response).error());
  if (found) return found;
  return std::move(found).error().within(
      fmt::format("role '{}'", printable(role.arn)));
}

}  // namespace

Result<AwsFound> assume_role(const AwsAccess& access, const AwsRole& role,
                             const AwsCredentials& source) {
  return request_role(access, role,
                      role_fields("AssumeRole", role, access.clock), &source);
}

Result<AwsFound> assume_role_with_token_file(const AwsAccess& access,
                                             const AwsRole& role,
                                             const std::string& token_file) {
  SMD_TRY(const std::string token, read_text_file(token_file));
  Fields fields = role_fields("AssumeRoleWithWebIdentity", role, access.clock);
  fields.emplace_back("WebIdentityToken", trimmed(token));
  return request_role(access, role, fields, nullptr);
}

}  // namespace smdebug
