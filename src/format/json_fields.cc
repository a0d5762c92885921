#include "format/json_fields.h"

#include <cmath>
#include <limits>
#include <string>

#include <fmt/format.h>

#include "smdebug/base/try.h"

namespace smdebug {

Json number_json(double value) {
  if (std::isfinite(value)) return value;
  if (std::isnan(value)) return "nan";
  return value > 0 ? "inf" : "-inf";
}

std::optional<double> parse_number(const Json& json) {
  if (const auto number = json.as_double()) return number;
  const std::string* text = json.as_string();
  if (text == nullptr) return std::nullopt;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (*text == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (*text == "inf") return kInfinity;
  if (*text == "-inf") return -kInfinity;
  return std::nullopt;
}

Error out_of_range(std::string_view key) {
  return {Error::Code::corrupt, "'" + std::string(key) + "' is out of range"};
}

Status check_version(const Json& json, std::int64_t supported) {
  SMD_TRY(const std::int64_t version, json.int_at("version"));
  if (version == supported) return {};
  return Error{Error::Code::unsupported,
               fmt::format("version {} is not supported; this smdebug reads "
                           "version {}",
                           version, supported)};
}

Result<std::uint64_t> count_at(const Json& json, std::string_view key) {
  SMD_TRY(const std::int64_t count, json.int_at(key));
  if (count < 0) return out_of_range(key);
  return static_cast<std::uint64_t>(count);
}

}  // namespace smdebug
