#pragma once

// A `ShardPlacement` says which part of a larger tensor a captured one is, as
// distributed trainings split their parameters: a box of the whole. Capture
// writes it beside the statistics, and `merge_shards` makes of the parts that
// several workers saved the statistics of the whole.

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "smdebug/base/result.h"
#include "smdebug/core/statistics.h"

namespace smdebug {

struct ShardPlacement {
  std::vector<std::int64_t> global_shape;
  std::vector<std::int64_t> offsets;  // of the shard's first element

  /// Whether a shard of `shape` lies inside the whole, and the whole is no
  /// larger than can be counted.
  bool holds(std::span<const std::int64_t> shape) const;

  friend auto operator<=>(const ShardPlacement&,
                          const ShardPlacement&) = default;
};

// One worker's part.
struct Shard {
  ShardPlacement placement;
  std::vector<std::int64_t> shape;
  TensorStatistics statistics;
};

/// Returns the statistics of the whole. Workers that hold the same part are
/// replicas and count once. Fails with `not_found` where parts are missing, and
/// with `corrupt` for parts of different wholes, or that overlap.
Result<TensorStatistics> merge_shards(std::span<const Shard> shards);

}  // namespace smdebug
