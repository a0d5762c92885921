#include "smdebug/base/try.h"

#include "base/iso_time.h"
#include "net/aws_sources.h"

namespace smdebug {
namespace {

// Null counts as missing.
Result<std::string> optional_text(const Json& json, std::string_view key) {
  const Json* const member = json.find(key);
  if (!member || member->is_null()) return std::string();
  return json.string_at(key);
}

}  // namespace

Result<Json> parse_secret_json(const std::string& document) {
  auto json = Json::parse(document);
  if (!json || !json->as_object()) {
    return Error{Error::Code::corrupt, "a JSON object was expected"};
  }
  return json;
}

Result<AwsFound> parse_aws_credentials(const Json& json,
                                       std::string_view session_token) {
  AwsFound found;
  SMD_TRY(found.credentials.access_key_id, json.string_at("AccessKeyId"));
  SMD_TRY(found.credentials.secret_access_key,
          json.string_at("SecretAccessKey"));
  SMD_TRY(found.credentials.session_token, optional_text(json, session_token));
  SMD_TRY(const std::string expiration, optional_text(json, "Expiration"));
  if (expiration.empty()) return found;
  found.expires = find_iso_seconds(expiration);
  if (found.expires) return found;
  return Error{Error::Code::corrupt,
               "'Expiration' should be a time like 2015-08-30T12:36:00Z"};
}

}  // namespace smdebug
