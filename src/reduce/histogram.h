#pragma once

// Counts the elements of a tensor between the edges that TensorBoard's own
// writers use (docs/format.md "TensorBoard files"). The write thread does it,
// message by message, so a tensor need not be there whole.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "smdebug/core/dtype.h"
#include "smdebug/core/statistics.h"
#include "smdebug/core/tensor_view.h"

#include "core/histogram.h"

namespace smdebug {

// 1e-12, each next one 1.1 times the last, while below 1e20; the same numbers
// negative, and 0 between: 1549 edges, ascending. A bin holds its left edge;
// the last bin holds both.
std::span<const double> histogram_edges();

/// The histogram of a tensor of any strides and of a dtype of numbers. None
/// where no element is in a bin.
std::optional<Histogram> histogram_of(const TensorView& tensor);

class HistogramCounter {
 public:
  // Forgets what was counted.
  void clear();

  // Counts `count` contiguous elements; `data` need not be aligned. Elements
  // are worth what elements_to_doubles says of them. NaN and what lies beyond
  // the outermost edges is in no bin.
  void add(DType dtype, const void* data, std::size_t count);

  // The histogram of what was counted, from the first bin that holds anything
  // to the last. `statistics` are those of the same elements. None where no
  // element is in a bin: there is nothing to draw.
  std::optional<Histogram> histogram(const TensorStatistics& statistics);

  // Edges above 0.
  static constexpr std::size_t kPositiveEdges = 774;
  static constexpr std::size_t kEdges = 2 * kPositiveEdges + 1;
  static constexpr std::size_t kBins = kEdges - 1;

 private:
  // Elements are counted apart by sign, because both grow with their bits:
  // 774 bins and what lies beyond for the positive; the same and a slot for
  // -0.0, which belongs to the bin right of 0, for the negative.
  static constexpr std::size_t kPositiveSlots = kPositiveEdges + 1;
  static constexpr std::size_t kSlots = 2 * kPositiveEdges + 3;
  // Neighbouring elements are often of one bin, and a counter cannot grow
  // twice in a few cycles: they go to counters of their own.
  static constexpr std::size_t kLanes = 4;
  // A counter of 32 bits overflows behind this; it is drained before.
  static constexpr std::size_t kMostUndrained = std::size_t{1} << 31;

  template <typename Float>
  class SlotTable;
  template <typename Float>
  static const SlotTable<Float>& slot_table();
  template <typename Float>
  void count(const std::byte* data, std::size_t count);
  void drain();

  std::array<std::array<std::uint32_t, kSlots>, kLanes> lanes_{};
  std::size_t undrained_ = 0;  // elements in `lanes_`
  std::array<std::uint64_t, kBins> bins_{};
};

}  // namespace smdebug
