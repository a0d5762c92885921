#include "smdebug/core/tensor_view.h"

#include <vector>

#include <gtest/gtest.h>

namespace smdebug {
namespace {

TEST(TensorView, CountsElementsAndBytes) {
  const std::vector<std::int64_t> shape = {2, 3, 4};
  const TensorView view{.dtype = DType::float64, .shape = shape};
  EXPECT_EQ(view.size(), 24);
  EXPECT_EQ(view.bytes(), 192u);
}

TEST(TensorView, HasOneElementWithoutDimensions) {
  EXPECT_EQ(TensorView{}.size(), 1);
  EXPECT_EQ(TensorView{}.bytes(), 4u);
  EXPECT_TRUE(TensorView{}.is_contiguous());
}

bool contiguous(std::vector<std::int64_t> shape,
                std::vector<std::int64_t> strides) {
  return TensorView{.shape = shape, .strides = strides}.is_contiguous();
}

TEST(TensorView, GivesTheElementsOfATensorOfStrings) {
  const std::vector<std::int64_t> shape = {2, 1};
  const std::vector<std::string_view> texts = {"a", "bc"};
  const TensorView view{DType::bytes,
                        reinterpret_cast<const std::byte*>(texts.data()),
                        shape,
                        {}};
  ASSERT_EQ(view.strings().size(), 2u);
  EXPECT_EQ(view.strings()[1], "bc");
  EXPECT_EQ(view.bytes(), 0u);
}

TEST(TensorView, IsContiguousInCOrder) {
  EXPECT_TRUE(contiguous({2, 3}, {}));
  EXPECT_TRUE(contiguous({2, 3}, {3, 1}));
  EXPECT_FALSE(contiguous({2, 3}, {1, 2}));  // transposed
  EXPECT_FALSE(contiguous({2, 3}, {6, 2}));  // every second
  EXPECT_FALSE(contiguous({3}, {-1}));       // reversed
  EXPECT_FALSE(contiguous({3}, {0}));        // one element three times
}

TEST(TensorView, IsContiguousWhateverTheStrideOfAnExtentOfOne) {
  EXPECT_TRUE(contiguous({1, 3}, {77, 1}));
  EXPECT_TRUE(contiguous({2, 1, 3}, {3, -5, 1}));
}

TEST(TensorView, IsContiguousWhenEmpty) {
  EXPECT_TRUE(contiguous({0, 3}, {1, 2}));
}

}  // namespace
}  // namespace smdebug
