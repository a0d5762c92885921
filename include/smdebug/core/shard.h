#pragma once

// A `ShardPlacement` locates a captured tensor in a larger one: the box that it
// fills, as distributed trainings split their parameters. Capture writes it
// beside the statistics, and `merge_shards` combines the shards that several
// workers saved into the statistics of the whole tensor.

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "smdebug/base/result.h"
#include "smdebug/core/statistics.h"

namespace [[gnu::visibility("default")]] smdebug {

struct ShardPlacement {
  std::vector<std::int64_t> global_shape;
  std::vector<std::int64_t> offsets;  // of the shard's first element

  /// Returns true if a shard of `shape` lies inside the whole tensor, and the
  /// size of the whole fits into 64 bits.
  bool holds(std::span<const std::int64_t> shape) const;

  friend auto operator<=>(const ShardPlacement&,
                          const ShardPlacement&) = default;
};

// The part of a tensor that one worker saved.
struct Shard {
  ShardPlacement placement;
  std::vector<std::int64_t> shape;
  TensorStatistics statistics;
};

/// Returns the statistics of the whole tensor. Workers that saved the same part
/// are replicas and count once. Fails with `not_found` if parts are missing,
/// and with `corrupt` if parts overlap or belong to tensors of different
/// shapes.
Result<TensorStatistics> merge_shards(std::span<const Shard> shards);

}  // namespace smdebug
