// The SIMD version of the statistics kernel, compiled once per target by
// Highway's foreach_target. It has four parts:
//
//   loaders       one per dtype: load elements as float or double lanes, and
//                 optionally copy them
//   accumulators  bounds in the loader's lanes, moments in fp64 lanes
//   blocks        the fast path, and the careful path for NaN and infinities
//   run           all blocks of a tensor, combined by RunningStatistics
//
// Every block first takes the fast path, which assumes that all elements are
// finite. If one is not, the sum of absolute values is not finite either: this
// single test per block replaces a test per element. The block then takes the
// careful path as well.

#include "smdebug/reduce/statistics_kernel.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "reduce/elements.h"
#include "reduce/running_statistics.h"

// The kernel does not use PCLMUL and AES. Without them, SSE4 matches the
// baseline x86-64-v2, and no lower target is compiled.
#define HWY_DISABLE_PCLMUL_AES
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "reduce/statistics_kernel.cc"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace smdebug {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr hn::ScalableTag<float> kFloats;
constexpr hn::ScalableTag<double> kDoubles;
constexpr hn::ScalableTag<std::uint64_t> kWords;
using Floats = decltype(kFloats);
using Doubles = decltype(kDoubles);
using FloatLanes = hn::Vec<Floats>;
using DoubleLanes = hn::Vec<Doubles>;

// Every loader loads this many elements at a time.
constexpr std::size_t kLanes = hn::MaxLanes(kFloats);
constexpr std::size_t kHalf = kLanes / 2;
// Small enough that a block is still in the first-level cache when the careful
// path reads it again; large enough that combining blocks takes negligible
// time.
constexpr std::size_t kBlock = 1024;
// The shift of the first block is the mean of this many elements. It is within
// sqrt(kBlock / kHead) standard deviations of the block's own mean, so it
// multiplies the rounding error by at most 1 + kBlock / kHead.
constexpr std::size_t kHead = 64;

constexpr double kInf = std::numeric_limits<double>::infinity();

enum class Copy { none, normal, streaming };

// kLanes elements in fp64.
struct Pair {
  DoubleLanes low, high;
};

// kLanes elements that are exact in fp32. Bounds use the fp32 lanes, which
// takes half as many instructions.
struct FloatPair {
  FloatLanes narrow;
  Pair wide;
};

HWY_INLINE FloatPair widened(FloatLanes x) {
  const hn::Half<Floats> half;
  return {x,
          {hn::PromoteTo(kDoubles, hn::LowerHalf(half, x)),
           hn::PromoteTo(kDoubles, hn::UpperHalf(half, x))}};
}

HWY_INLINE Pair wide(const FloatPair& x) { return x.wide; }
HWY_INLINE Pair wide(const Pair& x) { return x; }

// ---- Loaders -------------------------------------------------------------
//
// `load` loads kLanes elements from `from`, copies them to `to` depending on
// kCopy, and returns them as a FloatPair if that is exact, otherwise as a Pair.

// Returns `to + count`; null if nothing is copied, because `to` is null then.
template <Copy kCopy, typename T>
HWY_INLINE T* advanced(T* to, std::size_t count) {
  return kCopy == Copy::none ? nullptr : to + count;
}

template <Copy kCopy, class D>
HWY_INLINE hn::Vec<D> load_raw(D d, const hn::TFromD<D>* from,
                               hn::TFromD<D>* to) {
  const auto raw = hn::LoadU(d, from);
  if constexpr (kCopy == Copy::normal) hn::StoreU(raw, d, to);
  if constexpr (kCopy == Copy::streaming) hn::Stream(raw, d, to);
  return raw;
}

// The lanes of narrower elements, as many as there are float lanes.
template <typename T>
using Narrow = hn::Rebind<T, Floats>;

struct Float32 {
  using Element = float;
  template <Copy kCopy>
  static HWY_INLINE FloatPair load(const float* from, float* to) {
    // Loading each half from the cache takes less time than extracting it from
    // a register.
    const hn::Half<Floats> half;
    return {load_raw<kCopy>(kFloats, from, to),
            {hn::PromoteTo(kDoubles, hn::LoadU(half, from)),
             hn::PromoteTo(kDoubles, hn::LoadU(half, from + kHalf))}};
  }
};

struct BFloat16 {
  using Element = std::uint16_t;
  template <Copy kCopy>
  static HWY_INLINE FloatPair load(const Element* from, Element* to) {
    const hn::RebindToUnsigned<Floats> bits;
    const auto raw = load_raw<kCopy>(Narrow<Element>(), from, to);
    return widened(
        hn::BitCast(kFloats, hn::ShiftLeft<16>(hn::PromoteTo(bits, raw))));
  }
};

struct Float16 {
  using Element = std::uint16_t;
  template <Copy kCopy>
  static HWY_INLINE FloatPair load(const Element* from, Element* to) {
    const auto raw = load_raw<kCopy>(Narrow<Element>(), from, to);
    const auto x =
        hn::PromoteTo(kFloats, hn::BitCast(Narrow<hwy::float16_t>(), raw));
#if HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_SSSE3
    // Without F16C, Highway converts infinities and NaN as if their exponent
    // were that of a normal number, which yields 2^16 or more. No float16 is
    // that large, so set the exponent of infinities and NaN in these lanes.
    const auto beyond = hn::Ge(hn::Abs(x), hn::Set(kFloats, 0x1p16f));
    const auto inf = hn::Set(kFloats, std::numeric_limits<float>::infinity());
    return widened(hn::Or(x, hn::IfThenElseZero(beyond, inf)));
#else
    return widened(x);
#endif
  }
};

// Integers of 8 and 16 bits are exact in float lanes.
template <typename T>
struct SmallInteger {
  using Element = T;
  template <Copy kCopy>
  static HWY_INLINE FloatPair load(const T* from, T* to) {
    const hn::RebindToSigned<Floats> integers;
    const auto raw = load_raw<kCopy>(Narrow<T>(), from, to);
    return widened(hn::ConvertTo(kFloats, hn::PromoteTo(integers, raw)));
  }
};

struct Boolean {
  using Element = std::uint8_t;
  template <Copy kCopy>
  static HWY_INLINE FloatPair load(const Element* from, Element* to) {
    const hn::RebindToSigned<Floats> integers;
    const auto raw = load_raw<kCopy>(Narrow<Element>(), from, to);
    const auto x = hn::ConvertTo(kFloats, hn::PromoteTo(integers, raw));
    return widened(hn::Min(x, hn::Set(kFloats, 1.0f)));
  }
};

struct Float64 {
  using Element = double;
  template <Copy kCopy>
  static HWY_INLINE Pair load(const double* from, double* to) {
    return {
        load_raw<kCopy>(kDoubles, from, to),
        load_raw<kCopy>(kDoubles, from + kHalf, advanced<kCopy>(to, kHalf))};
  }
};

struct Int32 {
  using Element = std::int32_t;
  template <Copy kCopy>
  static HWY_INLINE Pair load(const Element* from, Element* to) {
    const hn::RebindToSigned<Floats> integers;
    const hn::Half<decltype(integers)> half;
    const auto raw = load_raw<kCopy>(integers, from, to);
    return {hn::PromoteTo(kDoubles, hn::LowerHalf(half, raw)),
            hn::PromoteTo(kDoubles, hn::UpperHalf(half, raw))};
  }
};

// SSE4 and AVX2 cannot convert unsigned or 64-bit integers. Instead, the
// integer becomes the mantissa of a double with the exponent of 2^52, whose
// lowest mantissa bit has the value 1; subtracting 2^52 leaves the integer.
constexpr std::uint64_t kBitsOf2To52 = 0x4330000000000000;
// Same for the upper 32 bits: the lowest mantissa bit of 2^84 has the value
// 2^32.
constexpr std::uint64_t kBitsOf2To84 = 0x4530000000000000;

struct UInt32 {
  using Element = std::uint32_t;
  template <Copy kCopy>
  static HWY_INLINE Pair load(const Element* from, Element* to) {
    const hn::RebindToUnsigned<Floats> integers;
    const hn::Half<decltype(integers)> half;
    const auto raw = load_raw<kCopy>(integers, from, to);
    return {convert(hn::PromoteTo(kWords, hn::LowerHalf(half, raw))),
            convert(hn::PromoteTo(kWords, hn::UpperHalf(half, raw)))};
  }

 private:
  static HWY_INLINE DoubleLanes convert(hn::Vec<decltype(kWords)> x) {
    const auto over = hn::Or(x, hn::Set(kWords, kBitsOf2To52));
    return hn::Sub(hn::BitCast(kDoubles, over), hn::Set(kDoubles, 0x1p52));
  }
};

// Both halves are exact as doubles. Only their sum is rounded, to nearest.
template <typename T>
struct Integer64 {
  using Element = T;
  template <Copy kCopy>
  static HWY_INLINE Pair load(const T* from, T* to) {
    const hn::ScalableTag<T> integers;
    return {convert(load_raw<kCopy>(integers, from, to)),
            convert(load_raw<kCopy>(integers, from + kHalf,
                                    advanced<kCopy>(to, kHalf)))};
  }

 private:
  static HWY_INLINE DoubleLanes convert(hn::Vec<hn::ScalableTag<T>> raw) {
    // Flipping the sign bit of a signed integer adds 2^63 and makes it
    // unsigned. kTooLarge subtracts this again, together with the exponents of
    // both halves.
    constexpr bool kSigned = std::is_signed_v<T>;
    constexpr std::uint64_t kSignBit = kSigned ? std::uint64_t{1} << 31 : 0;
    constexpr double kTooLarge = 0x1p84 + 0x1p52 + (kSigned ? 0x1p63 : 0);
    const auto x = hn::BitCast(kWords, raw);
    const auto high = hn::Xor(hn::ShiftRight<32>(x),
                              hn::Set(kWords, kBitsOf2To84 | kSignBit));
    const auto low = hn::Or(hn::And(x, hn::Set(kWords, 0xffffffff)),
                            hn::Set(kWords, kBitsOf2To52));
    return hn::Add(
        hn::Sub(hn::BitCast(kDoubles, high), hn::Set(kDoubles, kTooLarge)),
        hn::BitCast(kDoubles, low));
  }
};

// Loads the last elements of a tensor, fewer than kLanes, padded with zeros.
template <class Loader>
HWY_INLINE auto load_rest(const typename Loader::Element* from,
                          std::size_t count) {
  typename Loader::Element padded[kLanes] = {};
  std::memcpy(padded, from, count * sizeof(padded[0]));
  return Loader::template load<Copy::none>(padded, nullptr);
}

// ---- Accumulators --------------------------------------------------------
//
// Their constructors are explicit because g++ compiles implicit ones for the
// baseline, which has no vectors of the higher targets.

HWY_INLINE hn::Mask<Doubles> low_mask(std::size_t count) {
  return hn::FirstN(kDoubles, std::min(count, kHalf));
}
HWY_INLINE hn::Mask<Doubles> high_mask(std::size_t count) {
  return hn::FirstN(kDoubles, count > kHalf ? count - kHalf : 0);
}

// The smallest and the largest element, and the number of zeros.
template <class D>
struct Bounds {
  using Lanes = hn::Vec<D>;
  using T = hn::TFromD<D>;
  static constexpr T kTop = std::numeric_limits<T>::infinity();

  HWY_INLINE Bounds() {}

  Lanes least = hn::Set(D(), kTop);
  Lanes greatest = hn::Set(D(), -kTop);
  std::size_t zeros = 0;

  HWY_INLINE void add(Lanes x) {
    least = hn::Min(least, x);
    greatest = hn::Max(greatest, x);
    count_zeros(hn::Eq(x, hn::Zero(D())));
  }

  HWY_INLINE void add_if(hn::Mask<D> counts, Lanes x) {
    least = hn::Min(least, hn::IfThenElse(counts, x, hn::Set(D(), kTop)));
    greatest =
        hn::Max(greatest, hn::IfThenElse(counts, x, hn::Set(D(), -kTop)));
    count_zeros(hn::And(counts, hn::Eq(x, hn::Zero(D()))));
  }

  HWY_INLINE void finish(BlockSums& sums) const {
    sums.min = hn::GetLane(hn::MinOfLanes(D(), least));
    sums.max = hn::GetLane(hn::MaxOfLanes(D(), greatest));
    sums.zeros = zeros;
  }

 private:
  HWY_INLINE void count_zeros(hn::Mask<D> mask) {
    zeros += hn::CountTrue(D(), mask);
  }
};

template <class Elements>
using BoundsOf =
    Bounds<std::conditional_t<std::is_same_v<Elements, Pair>, Doubles, Floats>>;

HWY_INLINE void add_all(Bounds<Floats>& bounds, const FloatPair& x) {
  bounds.add(x.narrow);
}
HWY_INLINE void add_all(Bounds<Doubles>& bounds, const Pair& x) {
  bounds.add(x.low);
  bounds.add(x.high);
}

HWY_INLINE void add_first(Bounds<Floats>& bounds, std::size_t count,
                          const FloatPair& x) {
  bounds.add_if(hn::FirstN(kFloats, count), x.narrow);
}
HWY_INLINE void add_first(Bounds<Doubles>& bounds, std::size_t count,
                          const Pair& x) {
  bounds.add_if(low_mask(count), x.low);
  bounds.add_if(high_mask(count), x.high);
}

// Sums of the distances to a shift, of their squares, and of absolute values.
// The two halves of a Pair have separate sums, so that consecutive additions
// are independent of each other.
struct Moments {
  HWY_INLINE Moments() {}

  DoubleLanes distances = hn::Zero(kDoubles);
  DoubleLanes squares = hn::Zero(kDoubles);
  DoubleLanes absolutes = hn::Zero(kDoubles);

  HWY_INLINE void add(DoubleLanes x, DoubleLanes shift) {
    add_distance(hn::Sub(x, shift));
    absolutes = hn::Add(absolutes, hn::Abs(x));
  }

  HWY_INLINE void add_if(hn::Mask<Doubles> counts, DoubleLanes x,
                         DoubleLanes shift) {
    add_distance(hn::IfThenElseZero(counts, hn::Sub(x, shift)));
    absolutes = hn::Add(absolutes, hn::IfThenElseZero(counts, hn::Abs(x)));
  }

  HWY_INLINE void finish(const Moments& other, BlockSums& sums) const {
    sums.distances = sum(distances, other.distances);
    sums.squared_distances = sum(squares, other.squares);
    sums.sum_abs = sum(absolutes, other.absolutes);
  }

 private:
  HWY_INLINE void add_distance(DoubleLanes distance) {
#if HWY_NATIVE_FMA
    // The exact sum, computed by the multiplication units: the addition units
    // are the bottleneck.
    distances = hn::MulAdd(distance, hn::Set(kDoubles, 1), distances);
#else
    distances = hn::Add(distances, distance);
#endif
    squares = hn::MulAdd(distance, distance, squares);
  }
  static HWY_INLINE double sum(DoubleLanes a, DoubleLanes b) {
    return hn::GetLane(hn::SumOfLanes(kDoubles, hn::Add(a, b)));
  }
};

// ---- Blocks --------------------------------------------------------------

// The fast path: sums and copies `count` elements. If one of them is not
// finite, neither is `sum_abs` of the result.
template <class Loader, Copy kCopy>
HWY_INLINE BlockSums sum_block(const typename Loader::Element* from,
                               std::size_t count, typename Loader::Element* to,
                               double shift) {
  using Elements =
      decltype(Loader::template load<Copy::none>(nullptr, nullptr));
  const DoubleLanes shifts = hn::Set(kDoubles, shift);
  BoundsOf<Elements> bounds;
  Moments low, high;
  // The rest comes first: a call of memcpy while the sums are in vector
  // registers would save and restore them.
  const std::size_t rest = count % kLanes;
  const std::size_t whole = count - rest;
  if (rest > 0) {
    if (kCopy != Copy::none) {
      std::memcpy(to + whole, from + whole, rest * sizeof(*to));
    }
    const Elements x = load_rest<Loader>(from + whole, rest);
    add_first(bounds, rest, x);
    low.add_if(low_mask(rest), wide(x).low, shifts);
    high.add_if(high_mask(rest), wide(x).high, shifts);
  }
  for (std::size_t i = 0; i < whole; i += kLanes) {
    const Elements x =
        Loader::template load<kCopy>(from + i, advanced<kCopy>(to, i));
    add_all(bounds, x);
    low.add(wide(x).low, shifts);
    high.add(wide(x).high, shifts);
  }
  BlockSums sums;
  sums.finite = count;
  sums.shift = shift;
  bounds.finish(sums);
  low.finish(high, sums);
  return sums;
}

// The sums of the careful path over kHalf lanes.
struct CarefulSums {
  HWY_INLINE CarefulSums() {}

  Bounds<Doubles> bounds;
  Moments moments;
  NonFiniteCounts non_finite;
  std::size_t finite = 0;

  HWY_INLINE void add(hn::Mask<Doubles> present, DoubleLanes x,
                      DoubleLanes shift) {
    const DoubleLanes inf = hn::Set(kDoubles, kInf);
    const auto finite_lanes = hn::And(present, hn::Lt(hn::Abs(x), inf));
    bounds.add_if(finite_lanes, x);
    moments.add_if(finite_lanes, x, shift);
    finite += hn::CountTrue(kDoubles, finite_lanes);
    non_finite.nan += hn::CountTrue(kDoubles, hn::And(present, hn::IsNaN(x)));
    non_finite.positive_inf += hn::CountTrue(kDoubles, hn::Eq(x, inf));
    non_finite.negative_inf += hn::CountTrue(kDoubles, hn::Eq(x, hn::Neg(inf)));
  }
};

template <class Loader>
HWY_INLINE CarefulSums sum_finite(const typename Loader::Element* from,
                                  std::size_t count, double shift) {
  const DoubleLanes shifts = hn::Set(kDoubles, shift);
  CarefulSums sums;
  for (std::size_t i = 0; i < count; i += kLanes) {
    const std::size_t here = std::min(kLanes, count - i);
    const Pair x =
        here == kLanes
            ? wide(Loader::template load<Copy::none>(from + i, nullptr))
            : wide(load_rest<Loader>(from + i, here));
    sums.add(low_mask(here), x.low, shifts);
    sums.add(high_mask(here), x.high, shifts);
  }
  return sums;
}

// The careful path: adds a block that contains NaN or infinities, in two
// passes. The mean of the previous block may be a poor shift next to such
// elements, so the first pass computes the mean of this block.
template <class Loader>
HWY_NOINLINE void add_careful_block(const typename Loader::Element* from,
                                    std::size_t count,
                                    RunningStatistics& running) {
  const CarefulSums first = sum_finite<Loader>(from, count, 0);
  running.add(first.non_finite);
  if (first.finite == 0) return;
  BlockSums sums;
  first.moments.finish(Moments(), sums);
  const double mean = sums.distances / static_cast<double>(first.finite);

  const CarefulSums second = sum_finite<Loader>(from, count, mean);
  sums.finite = second.finite;
  sums.shift = mean;
  second.bounds.finish(sums);
  second.moments.finish(Moments(), sums);
  running.add(sums);
}

// ---- Run -----------------------------------------------------------------

// Returns the value of one element. It fills all lanes, because a vector load
// right after a narrower store to the same place would stall.
template <class Loader>
HWY_INLINE double first_value(const typename Loader::Element* from) {
  typename Loader::Element first;
  std::memcpy(&first, from, sizeof(first));
  typename Loader::Element spread[kLanes];
  std::fill_n(spread, kLanes, first);
  return hn::GetLane(
      wide(Loader::template load<Copy::none>(spread, nullptr)).low);
}

// Returns the mean of the first elements, or the first one if there are fewer
// than kLanes; 0 if this is not finite.
template <class Loader>
HWY_INLINE double head_mean(const typename Loader::Element* from,
                            std::size_t count) {
  double mean = 0;
  if (const std::size_t n = std::min(count, kHead) / kLanes * kLanes; n > 0) {
    DoubleLanes sum = hn::Zero(kDoubles);
    for (std::size_t i = 0; i < n; i += kLanes) {
      const Pair x = wide(Loader::template load<Copy::none>(from + i, nullptr));
      sum = hn::Add(sum, hn::Add(x.low, x.high));
    }
    mean = hn::GetLane(hn::SumOfLanes(kDoubles, sum)) / static_cast<double>(n);
  } else {
    mean = first_value<Loader>(from);
  }
  return std::isfinite(mean) ? mean : 0;
}

// Adds a block. Its shift is the mean of the block before it; that of the first
// block is the mean of its head.
template <class Loader, Copy kCopy>
HWY_INLINE void add_block(const typename Loader::Element* from,
                          std::size_t count, typename Loader::Element* to,
                          RunningStatistics& running) {
  const double shift =
      running.finite() == 0 ? head_mean<Loader>(from, count) : running.shift();
  const BlockSums sums = sum_block<Loader, kCopy>(from, count, to, shift);
  if (std::isfinite(sums.sum_abs)) [[likely]] {
    running.add(sums);
  } else {
    add_careful_block<Loader>(from, count, running);
  }
}

// Copies with stores that bypass the cache. `to` is aligned to 64 bytes.
HWY_INLINE void stream_bytes(const void* from, std::size_t bytes, void* to) {
  const hn::ScalableTag<std::uint8_t> lanes;
  const auto* source = static_cast<const std::uint8_t*>(from);
  auto* target = static_cast<std::uint8_t*>(to);
  std::size_t i = 0;
  for (; i + hn::Lanes(lanes) <= bytes; i += hn::Lanes(lanes)) {
    hn::Stream(hn::LoadU(lanes, source + i), lanes, target + i);
  }
  std::memcpy(target + i, source + i, bytes - i);
}

template <class Loader, Copy kCopy>
void run(const void* data, std::size_t count, void* destination,
         TensorStatistics& whole) {
  using Element = typename Loader::Element;
  // Narrow elements fill only part of a vector, but streaming stores write
  // whole vectors: a block of such elements is copied before it is summed.
  constexpr bool kCopiesFirst = kCopy == Copy::streaming && sizeof(Element) < 4;
  constexpr Copy kBlockCopy = kCopiesFirst ? Copy::none : kCopy;
  const auto* from = static_cast<const Element*>(data);
  auto* to = static_cast<Element*>(destination);
  RunningStatistics running(whole);
  for (std::size_t i = 0; i < count; i += kBlock) {
    const std::size_t n = std::min(kBlock, count - i);
    if (kCopiesFirst) stream_bytes(from + i, n * sizeof(Element), to + i);
    add_block<Loader, kBlockCopy>(from + i, n, advanced<kBlockCopy>(to, i),
                                  running);
  }
  if (kCopy == Copy::streaming) hwy::FlushStream();
  running.finish(count);
}

// Converts dtypes without a loader to doubles first, block by block.
template <Copy kCopy>
void run_by_doubles(DType dtype, const void* data, std::size_t count,
                    void* destination, TensorStatistics& whole) {
  const std::size_t element_bytes = dtype_bytes(dtype);
  const auto* from = static_cast<const std::byte*>(data);
  auto* to = static_cast<std::byte*>(destination);
  HWY_ALIGN double values[kBlock];
  RunningStatistics running(whole);
  for (std::size_t i = 0; i < count; i += kBlock) {
    const std::size_t n = std::min(kBlock, count - i);
    const std::size_t at = i * element_bytes;
    const std::size_t bytes = n * element_bytes;
    if (kCopy == Copy::normal) std::memcpy(to + at, from + at, bytes);
    if (kCopy == Copy::streaming) stream_bytes(from + at, bytes, to + at);
    elements_to_doubles(dtype, from + at, n, values);
    add_block<Float64, Copy::none>(values, n, nullptr, running);
  }
  if (kCopy == Copy::streaming) hwy::FlushStream();
  running.finish(count);
}

template <Copy kCopy>
void run_dtype(DType dtype, const void* data, std::size_t count,
               void* destination, TensorStatistics& whole) {
  switch (dtype) {
    case DType::float16:
      return run<Float16, kCopy>(data, count, destination, whole);
    case DType::bfloat16:
      return run<BFloat16, kCopy>(data, count, destination, whole);
    case DType::float32:
      return run<Float32, kCopy>(data, count, destination, whole);
    case DType::float64:
      return run<Float64, kCopy>(data, count, destination, whole);
    case DType::int8:
      return run<SmallInteger<std::int8_t>, kCopy>(data, count, destination,
                                                   whole);
    case DType::int16:
      return run<SmallInteger<std::int16_t>, kCopy>(data, count, destination,
                                                    whole);
    case DType::int32:
      return run<Int32, kCopy>(data, count, destination, whole);
    case DType::int64:
      return run<Integer64<std::int64_t>, kCopy>(data, count, destination,
                                                 whole);
    case DType::uint8:
      return run<SmallInteger<std::uint8_t>, kCopy>(data, count, destination,
                                                    whole);
    case DType::uint16:
      return run<SmallInteger<std::uint16_t>, kCopy>(data, count, destination,
                                                     whole);
    case DType::uint32:
      return run<UInt32, kCopy>(data, count, destination, whole);
    case DType::uint64:
      return run<Integer64<std::uint64_t>, kCopy>(data, count, destination,
                                                  whole);
    case DType::boolean:
      return run<Boolean, kCopy>(data, count, destination, whole);
    case DType::float8_e4m3fn:
    case DType::float8_e5m2:
    case DType::complex64:
    case DType::complex128:
    case DType::string:
    case DType::bytes:
      break;
  }
  return run_by_doubles<kCopy>(dtype, data, count, destination, whole);
}

// Copies if there is a destination.
void run_best(DType dtype, const void* data, std::size_t count,
              void* destination, CopyStores stores, TensorStatistics& whole) {
  if (destination == nullptr) {
    return run_dtype<Copy::none>(dtype, data, count, nullptr, whole);
  }
  if (stores == CopyStores::streaming) {
    return run_dtype<Copy::streaming>(dtype, data, count, destination, whole);
  }
  return run_dtype<Copy::normal>(dtype, data, count, destination, whole);
}

const char* target_name() { return hwy::TargetName(HWY_TARGET); }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace smdebug
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace smdebug {
namespace {

HWY_EXPORT(run_best);
HWY_EXPORT(target_name);

TensorStatistics statistics_and_copy(DType dtype, const void* data,
                                     std::size_t count, void* destination,
                                     CopyStores stores) {
  TensorStatistics s;
  if (is_string(dtype)) s.count = count;
  if (count == 0 || is_string(dtype)) return s;
  HWY_DYNAMIC_DISPATCH(run_best)(dtype, data, count, destination, stores, s);
  // Squares and sums overflow fp64 only for huge float64 and complex elements.
  // The scalar version has the range of long double.
  const bool in_range = std::isfinite(s.m2) && std::isfinite(s.sum_squares) &&
                        std::isfinite(s.sum_abs);
  if (!in_range) s = scalar_statistics(dtype, data, count);
  return s;
}

bool can_stream_to(const void* destination) {
  return reinterpret_cast<std::uintptr_t>(destination) % 64 == 0;
}

}  // namespace

TensorStatistics statistics_of(DType dtype, const void* data,
                               std::size_t count) {
  return statistics_and_copy(dtype, data, count, nullptr, CopyStores::normal);
}

TensorStatistics copy_with_statistics(DType dtype, const void* data,
                                      std::size_t count, void* destination,
                                      CopyStores stores) {
  if (!can_stream_to(destination)) stores = CopyStores::normal;
  return statistics_and_copy(dtype, data, count, destination, stores);
}

const char* statistics_kernel_target() {
  return HWY_DYNAMIC_DISPATCH(target_name)();
}

std::vector<std::int64_t> statistics_kernel_targets() {
  return hwy::SupportedAndGeneratedTargets();
}

void use_statistics_kernel_target(std::int64_t target) {
  hwy::SetSupportedTargetsForTest(target);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace smdebug

#endif  // HWY_ONCE
