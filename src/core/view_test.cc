#include "smdebug/core/view.h"

#include <array>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace smdebug {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

template <typename T>
class ViewOfType : public testing::Test {};

using Types =
    testing::Types<float, double, bool, std::int8_t, std::int16_t, std::int32_t,
                   std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t,
                   std::uint64_t, std::complex<float>, std::complex<double>,
                   long long, unsigned long long>;
TYPED_TEST_SUITE(ViewOfType, Types);

TYPED_TEST(ViewOfType, RefersToTheNumbersAndCopiesThemBack) {
  const TypeParam numbers[] = {TypeParam(1), TypeParam(0), TypeParam(1),
                               TypeParam(1), TypeParam(0), TypeParam(0)};
  const TypeParam* first = numbers;
  const auto check = [&](const TensorView& tensor) {
    EXPECT_EQ(static_cast<const void*>(tensor.data), first);
    EXPECT_THAT(tensor.shape, ElementsAre(2, 3));
    EXPECT_EQ(tensor.bytes(), sizeof(numbers));
    const auto copied = elements<TypeParam>(tensor);
    ASSERT_TRUE(copied.ok()) << copied.error().message;
    EXPECT_EQ(*copied, std::vector<TypeParam>(first, first + 6));
  };
  check(view(numbers, {2, 3}));
  const std::vector<std::int64_t> shape = {2, 3};
  check(view(std::span<const TypeParam>(numbers), shape));
  TypeParam copies[6];
  std::copy(numbers, numbers + 6, copies);
  first = copies;
  check(view(std::span<TypeParam>(copies), shape));
}

TYPED_TEST(ViewOfType, OfOneNumberHasNoDimensions) {
  const TypeParam number(1);
  const TensorView tensor = view(number);
  EXPECT_TRUE(tensor.shape.empty());
  EXPECT_EQ(tensor.size(), 1);
  EXPECT_THAT(*elements<TypeParam>(tensor), ElementsAre(number));
}

TEST(View, HasTheDtypeOfItsNumbers) {
  EXPECT_EQ(view(1.5f).dtype, DType::float32);
  EXPECT_EQ(view(1.5).dtype, DType::float64);
  EXPECT_EQ(view(true).dtype, DType::boolean);
  EXPECT_EQ(view(std::int8_t{1}).dtype, DType::int8);
  EXPECT_EQ(view(std::int16_t{1}).dtype, DType::int16);
  EXPECT_EQ(view(std::int32_t{1}).dtype, DType::int32);
  EXPECT_EQ(view(std::int64_t{1}).dtype, DType::int64);
  EXPECT_EQ(view(std::uint8_t{1}).dtype, DType::uint8);
  EXPECT_EQ(view(std::uint16_t{1}).dtype, DType::uint16);
  EXPECT_EQ(view(std::uint32_t{1}).dtype, DType::uint32);
  EXPECT_EQ(view(std::uint64_t{1}).dtype, DType::uint64);
  EXPECT_EQ(view(1LL).dtype, DType::int64);
  EXPECT_EQ(view(std::complex<float>(1)).dtype, DType::complex64);
  EXPECT_EQ(view(std::complex<double>(1)).dtype, DType::complex128);
}

template <typename T>
constexpr bool can_be_viewed = requires(const T& numbers) {
  view(numbers, {1});
};

TEST(View, TakesMemoryInOnePieceOnly) {
  EXPECT_TRUE((can_be_viewed<std::array<double, 2>>));
  EXPECT_TRUE((can_be_viewed<std::vector<int>>));
  EXPECT_FALSE((can_be_viewed<std::vector<bool>>));
  EXPECT_FALSE((can_be_viewed<std::vector<std::string>>));
  EXPECT_FALSE((can_be_viewed<std::string>));
}

TEST(View, HasNoElementsIfTheyDoNotFitTheShape) {
  const std::vector<float> six(6), none;
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  for (const std::vector<std::int64_t>& shape :
       std::vector<std::vector<std::int64_t>>{{},
                                              {5},
                                              {7},
                                              {2, 2},
                                              {0},
                                              {0, 3},
                                              {-6},
                                              {-2, -3},
                                              {kMost, kMost},
                                              {6, kMost, 0}}) {
    const TensorView tensor = view(six, shape);
    EXPECT_EQ(tensor.data, nullptr);
    EXPECT_EQ(tensor.size(), 1);
    EXPECT_FALSE(elements<float>(tensor).ok());
  }
  EXPECT_EQ(view(none, {1}).size(), 1);
  EXPECT_EQ(view(none, {}).data, nullptr);
}

TEST(View, OfNoElementsIsEmpty) {
  const std::vector<float> none;
  const std::int64_t shape[] = {0, 3};
  const TensorView tensor = view(none, shape);
  EXPECT_EQ(tensor.size(), 0);
  EXPECT_THAT(tensor.shape, ElementsAre(0, 3));
  EXPECT_TRUE(elements<float>(tensor)->empty());
}

TEST(Elements, NamesBothTypesIfTheyDiffer) {
  const auto copied = elements<double>(view(1.5f));
  ASSERT_FALSE(copied.ok());
  EXPECT_EQ(copied.error().code, Error::Code::invalid_argument);
  EXPECT_THAT(copied.error().message, HasSubstr("'float64'"));
  EXPECT_THAT(copied.error().message, HasSubstr("'float32'"));
}

TEST(Elements, MayBeUnalignedButNotStrided) {
  alignas(8) std::byte memory[sizeof(double) + 1] = {};
  const double number = 2.5;
  std::memcpy(memory + 1, &number, sizeof(number));
  EXPECT_THAT(*elements<double>(TensorView{DType::float64, memory + 1, {}, {}}),
              ElementsAre(2.5));
  const float numbers[] = {1, 2, 3, 4};
  const std::int64_t strides[] = {1, 2};
  TensorView transposed = view(numbers, {2, 2});
  const std::int64_t shape[] = {2, 2};
  transposed.shape = shape;
  transposed.strides = strides;
  const auto copied = elements<float>(transposed);
  ASSERT_FALSE(copied.ok());
  EXPECT_EQ(copied.error().code, Error::Code::unsupported);
}

}  // namespace
}  // namespace smdebug
