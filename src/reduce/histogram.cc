#include "reduce/histogram.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <memory>
#include <type_traits>

#include "smdebug/reduce/reductions.h"

#include "reduce/elements.h"
#include "reduce/gather.h"

namespace smdebug {
namespace {

constexpr double kSmallestEdge = 1e-12;
constexpr double kBeyondEdges = 1e20;
constexpr double kGrowth = 1.1;

constexpr std::size_t kPositive = HistogramCounter::kPositiveEdges;
constexpr std::size_t kZero = kPositive;  // the index of the edge 0

constexpr auto kAllEdges = [] {
  std::array<double, HistogramCounter::kEdges> edges{};
  std::size_t i = kZero;
  // Multiplies repeatedly: the rounding of each step is part of the format.
  for (double edge = kSmallestEdge; edge < kBeyondEdges; edge *= kGrowth) {
    ++i;
    edges[i] = edge;
    edges[2 * kZero - i] = -edge;
  }
  return edges;
}();
static_assert(kAllEdges.back() == 9.920775621859783e19);

constexpr std::span<const double, kPositive> kAboveZero =
    std::span(kAllEdges).last<kPositive>();

}  // namespace

// Maps a number to its slot with one table lookup and one addition. The order
// of positive floats is the order of their bits, so the upper bits (sign,
// exponent and 4 bits of the mantissa) identify a cell: a range of numbers. The
// widest cell spans a factor of 17/16, less than the 1.1 between two edges, so
// at most one slot begins inside a cell. An entry holds the slot at the start
// of its cell in the bits from `kLowBits` on. Its low bits are such that adding
// the low bits of an element carries into the slot if the element is at or
// after the point where the next slot begins.
template <typename Float>
class HistogramCounter::SlotTable {
 public:
  using Word =
      std::conditional_t<sizeof(Float) == 4, std::uint32_t, std::uint64_t>;

  SlotTable() {
    std::array<Word, kPositive + 1> starts;
    for (std::size_t i = 0; i + 1 < kPositive; ++i)
      starts[i] = first_at_least(kAboveZero[i]);
    // The last bin includes its right edge.
    starts[kPositive - 1] = first_above(kAboveZero[kPositive - 1]);
    fill(0, 0, std::span(starts).template first<kPositive>());

    // A negative bin includes the edge of larger magnitude.
    starts[0] = first_above(0);
    for (std::size_t i = 0; i < kPositive; ++i)
      starts[i + 1] = first_above(kAboveZero[i]);
    fill(kCells / 2, kPositiveSlots, starts);
  }

  std::size_t slot(Word bits) const {
    return (entries_[bits >> kLowBits] + (bits & kLowMask)) >> kLowBits;
  }

 private:
  static constexpr int kLowBits = std::numeric_limits<Float>::digits - 1 - 4;
  static constexpr Word kLowMask = (Word{1} << kLowBits) - 1;
  static constexpr std::size_t kCells = std::size_t{1}
                                        << (8 * sizeof(Word) - kLowBits);

  // The bits of the smallest Float that is at least `edge` (greater than
  // `edge`).
  static Word first_at_least(double edge) {
    const auto nearest = static_cast<Float>(edge);
    return std::bit_cast<Word>(nearest) + (nearest < edge ? 1 : 0);
  }
  static Word first_above(double edge) {
    const auto nearest = static_cast<Float>(edge);
    return std::bit_cast<Word>(nearest) + (nearest <= edge ? 1 : 0);
  }

  // Fills the cells of one sign: numbers below `starts[0]` are in `slot`,
  // numbers from `starts[i]` on are i + 1 slots after it.
  void fill(std::size_t first_cell, Word slot, std::span<const Word> starts) {
    auto next = starts.begin();
    for (std::size_t i = 0; i < kCells / 2; ++i) {
      const Word cell_start = static_cast<Word>(i) << kLowBits;
      if (next != starts.end() && *next == cell_start) {
        ++slot;
        ++next;
      }
      Word& entry = entries_[first_cell + i];
      entry = slot << kLowBits;
      if (next == starts.end() || *next - cell_start > kLowMask) continue;
      entry += kLowMask + 1 - (*next - cell_start);
      ++slot;
      ++next;
    }
  }

  std::array<Word, kCells> entries_;
};

template <typename Float>
const HistogramCounter::SlotTable<Float>& HistogramCounter::slot_table() {
  static const SlotTable<Float> table;
  return table;
}

std::span<const double> histogram_edges() { return kAllEdges; }

void HistogramCounter::clear() {
  if (undrained_ != 0) lanes_ = {};
  undrained_ = 0;
  bins_ = {};
}

void HistogramCounter::add(DType dtype, const void* data, std::size_t count) {
  const auto* bytes = static_cast<const std::byte*>(data);
  const bool is_direct = dtype == DType::float32 || dtype == DType::float64;
  constexpr std::size_t kConverted = 1024;
  const std::size_t most = is_direct ? kMostUndrained : kConverted;
  while (count > 0) {
    const std::size_t n = std::min(count, most);
    if (undrained_ + n > kMostUndrained) drain();
    undrained_ += n;
    if (dtype == DType::float32) {
      this->count<float>(bytes, n);
    } else if (dtype == DType::float64) {
      this->count<double>(bytes, n);
    } else {
      std::array<double, kConverted> values;
      elements_to_doubles(dtype, bytes, n, values.data());
      this->count<double>(std::as_bytes(std::span(values)).data(), n);
    }
    bytes += n * dtype_bytes(dtype);
    count -= n;
  }
}

template <typename Float>
void HistogramCounter::count(const std::byte* data, std::size_t count) {
  using Word = typename SlotTable<Float>::Word;
  const SlotTable<Float>& table = slot_table<Float>();
  const auto slot = [&](std::size_t i) {
    Word bits;
    std::memcpy(&bits, data + i * sizeof(Word), sizeof(Word));
    return table.slot(bits);
  };
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    ++lanes_[0][slot(i)];
    ++lanes_[1][slot(i + 1)];
    ++lanes_[2][slot(i + 2)];
    ++lanes_[3][slot(i + 3)];
  }
  for (; i < count; ++i) ++lanes_[0][slot(i)];
}

// Adds the counts of all lanes to the bins.
void HistogramCounter::drain() {
  const auto counted = [&](std::size_t slot) {
    return std::uint64_t{lanes_[0][slot]} + lanes_[1][slot] + lanes_[2][slot] +
           lanes_[3][slot];
  };
  for (std::size_t i = 0; i < kPositive; ++i) bins_[kZero + i] += counted(i);
  bins_[kZero] += counted(kPositiveSlots);
  for (std::size_t i = 1; i <= kPositive; ++i)
    bins_[kZero - i] += counted(kPositiveSlots + i);
  lanes_ = {};
  undrained_ = 0;
}

std::optional<Histogram> HistogramCounter::histogram(
    const TensorStatistics& statistics) {
  drain();
  const auto is_filled = [](std::uint64_t count) { return count != 0; };
  const auto first = std::ranges::find_if(bins_, is_filled);
  if (first == bins_.end()) return {};
  const auto end = std::find_if(bins_.rbegin(), bins_.rend(), is_filled).base();

  const auto value = [&](Reduction reduction) {
    return *reduction_from(statistics, {.reduction = reduction},
                           Deviation::population);
  };
  Histogram histogram;
  histogram.min = value(Reduction::min);
  histogram.max = value(Reduction::max);
  histogram.sum = value(Reduction::sum);
  // NaN if any element is, otherwise infinite if any element is.
  histogram.sum_squares = statistics.has_non_finite() ? value(Reduction::l2)
                                                      : statistics.sum_squares;
  histogram.count = statistics.count;
  const auto bins = static_cast<std::size_t>(end - first);
  histogram.limits = std::span(kAllEdges).subspan(
      static_cast<std::size_t>(first - bins_.begin()), bins + 1);
  histogram.buckets.reserve(bins + 1);
  histogram.buckets.push_back(0);
  histogram.buckets.insert(histogram.buckets.end(), first, end);
  return histogram;
}

std::optional<Histogram> histogram_of(const TensorView& tensor) {
  const auto counter = std::make_unique<HistogramCounter>();
  Pieces pieces(tensor);
  for (auto piece = pieces.next(); !piece.empty(); piece = pieces.next()) {
    counter->add(tensor.dtype, piece.data(),
                 piece.size() / dtype_bytes(tensor.dtype));
  }
  return counter->histogram(statistics_of_view(tensor));
}

}  // namespace smdebug
