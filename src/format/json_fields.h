#pragma once

// Members of the JSON files of a run.

#include <cstdint>
#include <optional>
#include <string_view>

#include "smdebug/base/result.h"

#include "base/json.h"

namespace smdebug {

// JSON has no numbers that are not finite, and a loss of NaN is what a reader
// looks for: they are the texts "nan", "inf" and "-inf".
Json number_json(double value);

// Returns nothing for any other value.
std::optional<double> parse_number(const Json& json);

// "'steps' is out of range".
Error out_of_range(std::string_view key);

// Fails with `unsupported` if the member "version" is another one than
// `supported`, and with `corrupt` if it is missing or not an integer.
Status check_version(const Json& json, std::int64_t supported);

// Returns the member `key`. Fails with `corrupt` if it is missing or not an
// integer from 0 on.
Result<std::uint64_t> count_at(const Json& json, std::string_view key);

}  // namespace smdebug
