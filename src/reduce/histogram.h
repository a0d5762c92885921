#pragma once

// Counts the elements of a tensor between the edges that TensorBoard's own
// writers use (docs/format.md, "TensorBoard files"). Runs on the write thread,
// which receives a tensor in several messages.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "smdebug/core/dtype.h"
#include "smdebug/core/statistics.h"
#include "smdebug/core/tensor_view.h"

namespace smdebug {

// Returns the edges, ascending: 1e-12, multiplied by 1.1 while below 1e20, the
// same numbers negated, and 0; 1549 in total. A bin includes its left edge; the
// last bin includes both.
std::span<const double> histogram_edges();

// Returns the histogram of a tensor with any strides and a numeric dtype, or
// nothing if no element is in a bin.
std::optional<Histogram> histogram_of(const TensorView& tensor);

class HistogramCounter {
 public:
  // Resets all counts.
  void clear();

  // Counts `count` contiguous elements, converted as by elements_to_doubles.
  // `data` need not be aligned. NaN and elements beyond the outermost edges are
  // in no bin.
  void add(DType dtype, const void* data, std::size_t count);

  // Returns the histogram of the counted elements, from the first bin that is
  // not empty to the last, or nothing if all bins are empty. `statistics` are
  // those of the same elements.
  std::optional<Histogram> histogram(const TensorStatistics& statistics);

  // Edges above 0.
  static constexpr std::size_t kPositiveEdges = 774;
  static constexpr std::size_t kEdges = 2 * kPositiveEdges + 1;
  static constexpr std::size_t kBins = kEdges - 1;

 private:
  // Positive and negative floats have separate slots, because the order of each
  // follows the order of their bits. Positive elements have 774 slots for bins
  // and one for larger numbers; negative elements also have one for -0.0, which
  // belongs to the bin to the right of 0.
  static constexpr std::size_t kPositiveSlots = kPositiveEdges + 1;
  static constexpr std::size_t kSlots = 2 * kPositiveEdges + 3;
  // Adjacent elements are often in the same bin, and two increments of one
  // counter have to wait for each other. Each of four adjacent elements has its
  // own counters.
  static constexpr std::size_t kLanes = 4;
  // Drained at this count, before a counter of 32 bits could overflow.
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
