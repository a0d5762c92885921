#pragma once

// What is stored of a tensor: its elements, its shape, numbers computed from
// it, or only its statistics.

#include <string>
#include <string_view>
#include <vector>

#include "smdebug/base/result.h"
#include "smdebug/core/reduction.h"

namespace smdebug {

struct ReductionConfig {
  std::vector<ReductionOp> ops;  // in the order they were asked for
  bool save_raw_tensor = false;
  bool save_shape = false;
  // Capture the tensor for its statistics. Every captured tensor has them;
  // this asks for them alone.
  bool summary = false;

  /// Parses "mean,abs_max,l2_norm". Fails with `invalid_config`, naming the
  /// word that is no reduction and the words that are.
  static Result<std::vector<ReductionOp>> parse_ops(std::string_view text);

  /// Returns `ops` in the order of writing, without repetition: plain
  /// reductions, plain norms, "abs_" reductions, "abs_" norms.
  std::vector<ReductionOp> ordered_ops() const;

  /// Returns the text of collection files: `ordered_ops`, norms with the
  /// suffix "_norm".
  std::string ops_text() const;

  friend bool operator==(const ReductionConfig&,
                         const ReductionConfig&) = default;
};

}  // namespace smdebug
