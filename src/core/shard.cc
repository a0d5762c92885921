#include "smdebug/core/shard.h"

#include <algorithm>
#include <string>

#include "smdebug/core/tensor_view.h"

namespace smdebug {
namespace {

bool is_same_part(const Shard& a, const Shard& b) {
  return a.shape == b.shape && a.placement.offsets == b.placement.offsets;
}

bool overlap(const Shard& a, const Shard& b) {
  for (std::size_t i = 0; i < a.shape.size(); ++i) {
    const std::int64_t begin_a = a.placement.offsets[i];
    const std::int64_t begin_b = b.placement.offsets[i];
    if (begin_a + a.shape[i] <= begin_b || begin_b + b.shape[i] <= begin_a)
      return false;
  }
  return true;
}

// Returns the parts without replicas and empty parts.
std::vector<const Shard*> distinct_parts(std::span<const Shard> shards) {
  std::vector<const Shard*> parts;
  for (const Shard& shard : shards) {
    const bool is_known = std::ranges::any_of(
        parts, [&](const Shard* part) { return is_same_part(*part, shard); });
    if (!is_known && element_count(shard.shape) > 0) parts.push_back(&shard);
  }
  return parts;
}

Error corrupt(std::string message) {
  return {Error::Code::corrupt, std::move(message)};
}

}  // namespace

bool ShardPlacement::holds(std::span<const std::int64_t> shape) const {
  if (global_shape.size() != shape.size() || offsets.size() != shape.size())
    return false;
  std::int64_t size = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (global_shape[i] < 0 || offsets[i] < 0 || shape[i] < 0 ||
        offsets[i] > global_shape[i] ||
        shape[i] > global_shape[i] - offsets[i] ||
        __builtin_mul_overflow(size, global_shape[i], &size)) {
      return false;
    }
  }
  return true;
}

Result<TensorStatistics> merge_shards(std::span<const Shard> shards) {
  if (shards.empty())
    return Error{Error::Code::not_found, "no shards to merge"};
  const ShardPlacement& whole = shards.front().placement;
  for (const Shard& shard : shards) {
    if (shard.placement.global_shape != whole.global_shape)
      return corrupt("its shards belong to tensors of different shapes");
    if (!shard.placement.holds(shard.shape))
      return corrupt("a shard extends beyond the whole tensor");
  }
  const std::vector<const Shard*> parts = distinct_parts(shards);
  TensorStatistics merged;
  std::int64_t size = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (overlap(*parts[i], *parts[j])) return corrupt("its shards overlap");
    }
    merged.merge(parts[i]->statistics);
    size += element_count(parts[i]->shape);
  }
  const std::int64_t wanted = element_count(whole.global_shape);
  if (size != wanted) {
    return Error{Error::Code::not_found,
                 "its shards have " + std::to_string(size) + " of " +
                     std::to_string(wanted) +
                     " elements: the other workers did not save theirs "
                     "(set include_workers=\"all\")"};
  }
  return merged;
}

}  // namespace smdebug
