#include "reduce/gather.h"

#include <cstdint>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace smdebug {
namespace {

using Shape = std::vector<std::int64_t>;
using Bytes = std::vector<std::byte>;

Bytes gather_all(const TensorView& view, std::size_t piece) {
  const std::size_t element_bytes = dtype_bytes(view.dtype);
  Bytes all;
  Bytes buffer(piece * element_bytes);
  Gather gather(view);
  while (const std::size_t n = gather.next(buffer.data(), piece)) {
    const auto end =
        buffer.begin() + static_cast<std::ptrdiff_t>(n * element_bytes);
    all.insert(all.end(), buffer.begin(), end);
  }
  return all;
}

// The definition: element (i, j, ..) lies at i * stride_i + j * stride_j + ..
Bytes gather_by_definition(const TensorView& view) {
  const std::size_t element_bytes = dtype_bytes(view.dtype);
  Bytes all;
  for (std::int64_t n = 0; n < view.size(); ++n) {
    std::int64_t at = 0;
    std::int64_t rest = n;
    for (std::size_t d = view.shape.size(); d-- > 0;) {
      at += rest % view.shape[d] * view.strides[d];
      rest /= view.shape[d];
    }
    const std::byte* element =
        view.data + at * static_cast<std::int64_t>(element_bytes);
    all.insert(all.end(), element, element + element_bytes);
  }
  return all;
}

std::vector<std::int32_t> gather_int32(const std::int32_t* first,
                                       const Shape& shape,
                                       const Shape& strides) {
  const TensorView view{.dtype = DType::int32,
                        .data = reinterpret_cast<const std::byte*>(first),
                        .shape = shape,
                        .strides = strides};
  const Bytes bytes = gather_all(view, 2);
  std::vector<std::int32_t> elements(bytes.size() / sizeof(std::int32_t));
  if (!bytes.empty()) std::memcpy(elements.data(), bytes.data(), bytes.size());
  return elements;
}

using Elements = std::vector<std::int32_t>;

TEST(Gather, ReadsATransposedMatrixRowByRow) {
  const Elements x = {1, 2, 3, 4, 5, 6};  // 2 x 3
  EXPECT_EQ(gather_int32(x.data(), {3, 2}, {1, 3}),
            (Elements{1, 4, 2, 5, 3, 6}));
}

TEST(Gather, ReadsBackwards) {
  const Elements x = {1, 2, 3, 4};
  EXPECT_EQ(gather_int32(&x[3], {4}, {-1}), (Elements{4, 3, 2, 1}));
}

TEST(Gather, RepeatsWhereAStrideIsZero) {
  const Elements x = {7, 8};
  EXPECT_EQ(gather_int32(x.data(), {2, 3}, {1, 0}),
            (Elements{7, 7, 7, 8, 8, 8}));
  EXPECT_EQ(gather_int32(x.data(), {2, 2}, {0, 1}), (Elements{7, 8, 7, 8}));
}

TEST(Gather, ReadsEveryOtherColumn) {
  const Elements x = {1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_EQ(gather_int32(x.data(), {2, 2}, {4, 2}), (Elements{1, 3, 5, 7}));
}

TEST(Gather, TakesNoStridesForCOrder) {
  const Elements x = {1, 2, 3, 4, 5, 6};
  EXPECT_EQ(gather_int32(x.data(), {2, 3}, {}), x);
}

TEST(Gather, HasOneElementInATensorWithoutDimensions) {
  const Elements x = {5};
  EXPECT_EQ(gather_int32(x.data(), {}, {}), x);
  EXPECT_EQ(gather_int32(x.data(), {1, 1}, {9, -3}), x);
}

TEST(Gather, HasNoElementInAnEmptyTensor) {
  EXPECT_EQ(gather_int32(nullptr, {3, 0, 2}, {2, 2, 1}), Elements{});
}

TEST(Gather, HasNoElementInATensorOfStrings) {
  const Shape shape = {3};
  Gather gather(
      {.dtype = DType::string, .data = nullptr, .shape = shape, .strides = {}});
  std::byte out;
  EXPECT_EQ(gather.next(&out, 10), 0U);
}

TEST(Gather, ReadsAnyStridedViewAsItsDefinitionSays) {
  const std::uint64_t seed = std::random_device()();
  std::mt19937_64 random(seed);
  const auto up_to = [&](std::int64_t most) {
    return static_cast<std::int64_t>(random() %
                                     static_cast<std::uint64_t>(most + 1));
  };
  for (int round = 0; round < 500; ++round) {
    SCOPED_TRACE("seed " + std::to_string(seed) + ", round " +
                 std::to_string(round));
    constexpr DType kDTypes[] = {DType::uint8, DType::float16, DType::float32,
                                 DType::float64, DType::complex128};
    const DType dtype = kDTypes[up_to(4)];
    Shape shape, strides;
    std::int64_t lowest = 0, highest = 0, in_c_order = 1;
    for (std::int64_t d = up_to(4); d > 0; --d) {
      const std::int64_t extent = 1 + up_to(4);
      const std::int64_t stride = up_to(2) == 0 ? in_c_order : up_to(20) - 10;
      shape.insert(shape.begin(), extent);
      strides.insert(strides.begin(), stride);
      in_c_order *= extent;
      (stride < 0 ? lowest : highest) += (extent - 1) * stride;
    }
    const auto element_bytes = static_cast<std::int64_t>(dtype_bytes(dtype));
    Bytes memory(
        static_cast<std::size_t>((highest - lowest + 1) * element_bytes));
    for (std::byte& b : memory) b = static_cast<std::byte>(random());
    const TensorView view{.dtype = dtype,
                          .data = memory.data() - lowest * element_bytes,
                          .shape = shape,
                          .strides = strides};
    const Bytes expected = gather_by_definition(view);
    EXPECT_EQ(gather_all(view, 1), expected);
    EXPECT_EQ(gather_all(view, static_cast<std::size_t>(1 + up_to(8))),
              expected);
    EXPECT_EQ(gather_all(view, 10'000), expected);
  }
}

TEST(Gather, CopiesAnElementOnceThatAnExpandedTensorShowsOften) {
  const std::int32_t row[] = {1, 2, 3};
  const Shape shape = {4, 3, 5};
  const Shape strides = {0, 1, 0};
  const TensorView view{.dtype = DType::int32,
                        .data = reinterpret_cast<const std::byte*>(row),
                        .shape = shape,
                        .strides = strides};
  EXPECT_EQ(repeats_of(view), 20U);
  std::int32_t copy[4] = {};
  Gather gather(view, Gather::Repeats::omitted);
  EXPECT_EQ(gather.next(copy, 4), 3U);
  EXPECT_EQ(gather.next(copy, 4), 0U);
  EXPECT_EQ(std::vector<std::int32_t>(copy, copy + 3),
            std::vector<std::int32_t>({1, 2, 3}));
}

TEST(Gather, RepeatsNothingOfATensorWithoutElements) {
  const Shape shape = {0, 4};
  const Shape strides = {1, 0};
  const TensorView view{.dtype = DType::int32,
                        .data = nullptr,
                        .shape = shape,
                        .strides = strides};
  EXPECT_EQ(repeats_of(view), 1U);
}

}  // namespace
}  // namespace smdebug
