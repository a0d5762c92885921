#include "format/claim.h"

#include "base/json.h"

namespace smdebug {

std::string write_claim(const Claim& claim) {
  Json json;
  json["host"] = claim.host;
  json["pid"] = claim.process_id;
  json["start_ticks"] = claim.process_start_ticks;
  return json.dump(JsonStyle::spaced);
}

std::optional<Claim> parse_claim(std::string_view text) {
  const auto json = Json::parse(text);
  if (!json) return std::nullopt;
  const auto host = json->string_at("host");
  const auto process_id = json->int_at("pid");
  const auto ticks = json->int_at("start_ticks");
  if (!host || !process_id || !ticks || *ticks < 0) return std::nullopt;
  return Claim{*host, *process_id, static_cast<std::uint64_t>(*ticks)};
}

}  // namespace smdebug
