#pragma once

// Reductions are stored as tensors under a mangled tag (docs/format.md
// "Reductions"): "smdebug/reductions/abs_mean/gradient/Net_fc.weight".

#include <optional>
#include <string>
#include <string_view>

#include "smdebug/core/reduction.h"

namespace smdebug {

// TensorFlow sets `keep_colon_digits`; other frameworks remove ":0" from names.
std::string reduction_tag(ReductionOp op, std::string_view tensor_name,
                          bool keep_colon_digits = false);

struct ReductionTag {
  ReductionOp op;
  std::string_view tensor_name;
};

// Returns nothing if `tag` is an ordinary name.
std::optional<ReductionTag> parse_reduction_tag(std::string_view tag);

}  // namespace smdebug
