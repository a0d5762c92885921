#pragma once

// The parameter `preset`, which every rule accepts: from which column of its
// table the values come that are not given. "default" are those of the
// documents, "tuned" those that the trainings of tests/zoo/ were found with
// (docs/rule-quality.md).

#include "smdebug/rules/parameters.h"

namespace smdebug {

inline constexpr std::string_view kDefaultPreset = "default";
inline constexpr std::string_view kTunedPreset = "tuned";

// A row of every rule's table.
inline const ParameterSpec kPreset = {
    .name = "preset",
    .type = ParameterType::text,
    .default_text = kDefaultPreset,
    .description =
        "Source of parameters that are not given: 'default' uses the "
        "documented values, 'tuned' raises fewer false alarms.",
    .choices = {kDefaultPreset, kTunedPreset}};

// Returns a row that several rules share, with the value that this one is tuned
// to.
inline ParameterSpec tuned(ParameterSpec row, std::string_view text) {
  row.tuned_text = text;
  return row;
}

}  // namespace smdebug
