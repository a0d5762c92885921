#pragma once

// The parameters `collection_names` and `tensor_regex`: which tensors a rule
// judges, as the union of both.

#include "smdebug/rules/parameters.h"
#include "smdebug/rules/rule.h"

namespace smdebug {

// Two rows of the table of a rule that cannot choose its tensors by itself.
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

// The same; every tensor where neither is given.
TensorSelector selected_or_every_tensor(const Parameters& parameters);

// The same. Fails with `invalid_config` if neither is given.
Result<TensorSelector> required_tensors(const Parameters& parameters);

}  // namespace smdebug
