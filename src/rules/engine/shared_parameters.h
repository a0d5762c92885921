#pragma once

// The parameters that several rules share, as rows for their tables, and their
// implementation: `preset`, `start_step` and `end_step`, which every rule
// accepts, and `collection_names` and `tensor_regex`, which select the tensors
// to judge.

#include <memory>

#include "smdebug/rules/parameters.h"
#include "smdebug/rules/rule.h"

namespace smdebug {

// The values of parameters that are not given: "default" selects the documented
// ones, "tuned" those found with the trainings of tests/zoo/
// (docs/rule-quality.md).
inline constexpr std::string_view kDefaultPreset = "default";
inline constexpr std::string_view kTunedPreset = "tuned";

inline const ParameterSpec kPreset = {
    .name = "preset",
    .type = ParameterType::text,
    .default_text = kDefaultPreset,
    .description =
        "Source of parameters that are not given: 'default' uses the "
        "documented values, 'tuned' produces fewer false positives.",
    .choices = {kDefaultPreset, kTunedPreset}};

// Returns a shared row with the tuned value of one rule.
inline ParameterSpec tuned(ParameterSpec row, std::string_view text) {
  row.tuned_text = text;
  return row;
}

// A rule receives only global steps in [start_step, end_step).
inline const ParameterSpec kStartStep = {
    .name = "start_step",
    .type = ParameterType::integer,
    .default_text = "",
    .description = "Steps before this one are not judged.",
    .minimum = 0.0};
inline const ParameterSpec kEndStep = {
    .name = "end_step",
    .type = ParameterType::integer,
    .default_text = "",
    .description = "This step and those after it are not judged.",
    .minimum = 0.0};

// Returns `rule`, restricted to the steps that `parameters` allow. With
// `has_own_start_step`, the rule itself interprets `start_step`.
std::unique_ptr<Rule> within_step_bounds(std::unique_ptr<Rule> rule,
                                         const Parameters& parameters,
                                         bool has_own_start_step);

// For rules that do not choose their tensors themselves: the union of both.
inline const ParameterSpec kCollectionNames = {
    .name = "collection_names",
    .type = ParameterType::text_list,
    .default_text = "",
    .description = "Collections to judge. This or tensor_regex is required."};
inline const ParameterSpec kTensorRegex = {
    .name = "tensor_regex",
    .type = ParameterType::text_list,
    .default_text = "",
    .description =
        "Patterns of the names of tensors to judge. This or collection_names "
        "is needed."};

// Returns what the two parameters select.
TensorSelector selected_tensors(const Parameters& parameters);

// Same, but every tensor if neither is given.
TensorSelector selected_or_every_tensor(const Parameters& parameters);

// Same. Fails with `invalid_config` if neither is given.
Result<TensorSelector> required_tensors(const Parameters& parameters);

}  // namespace smdebug
