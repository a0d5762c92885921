#pragma once

// The form in which a tensor is stored: its elements, its shape, reductions of
// it, or only its statistics.

#include <string>
#include <string_view>
#include <vector>

#include "smdebug/base/result.h"
#include "smdebug/core/reduction.h"

namespace [[gnu::visibility("default")]] smdebug {

struct ReductionConfig {
  std::vector<ReductionOp> ops;  // in the user's order
  bool save_raw_tensor = false;
  bool save_shape = false;
  // Captures the tensor even if nothing else is stored. Statistics are stored
  // for every captured tensor, so this stores only those.
  bool summary = false;

  /// Parses text such as "mean,abs_max,l2_norm". Fails with `invalid_config`,
  /// naming the unknown word and the reductions that exist.
  static Result<std::vector<ReductionOp>> parse_ops(std::string_view text);

  /// Returns `ops` without repetition, in the order in which they are written:
  /// plain reductions, plain norms, "abs_" reductions, "abs_" norms.
  std::vector<ReductionOp> ordered_ops() const;

  /// Returns `ordered_ops` as text for collections files: names joined by
  /// commas, norms with the suffix "_norm".
  std::string ops_text() const;

  friend bool operator==(const ReductionConfig&,
                         const ReductionConfig&) = default;
};

}  // namespace smdebug
