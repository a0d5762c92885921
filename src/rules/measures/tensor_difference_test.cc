#include "rules/measures/tensor_difference.h"

#include <complex>
#include <string_view>

#include <gtest/gtest.h>

namespace smdebug {
namespace {

// Hands out elements of any dtype.
struct Elements : ValueSource {
  explicit Elements(TensorView held) : view(held) {}
  Result<TensorView> load() override { return view; }
  TensorView view;
};

template <typename T>
TensorCopy copy_of(DType dtype, const std::vector<T>& elements) {
  const std::vector<std::int64_t> shape = {std::int64_t(elements.size())};
  TensorView view;
  view.dtype = dtype;
  view.data = reinterpret_cast<const std::byte*>(elements.data());
  view.shape = shape;
  Elements source(view);
  Observation observation;
  observation.dtype = dtype;
  observation.shape = shape;
  observation.values = &source;
  return *TensorCopy::of(observation);
}

TEST(TensorDifference, ComparesBothPartsOfComplexNumbers) {
  using Complex = std::vector<std::complex<float>>;
  const auto difference =
      difference_of(copy_of(DType::complex64, Complex{{3, 4}, {1, 0}}),
                    copy_of(DType::complex64, Complex{{4, 3}, {1, 0}}), {});
  ASSERT_TRUE(difference.has_value());
  EXPECT_EQ(difference->compared, 4u);  // parts of equal absolute values
  EXPECT_EQ(difference->different, 2u);
}

TEST(TensorDifference, ComparesAcrossDtypes) {
  const auto halves = copy_of(DType::float64, std::vector<double>{0.5, 2});
  EXPECT_FALSE(
      difference_of(halves, copy_of(DType::float32, std::vector<float>{0.5, 2}),
                    {})
          ->found());
  EXPECT_TRUE(
      difference_of(halves,
                    copy_of(DType::int64, std::vector<std::int64_t>{0, 2}), {})
          ->found());
}

TEST(TensorDifference, ComparesStrings) {
  using Strings = std::vector<std::string_view>;
  const auto difference =
      difference_of(copy_of(DType::string, Strings{"a", "b", "c"}),
                    copy_of(DType::string, Strings{"a", "x", "c"}), {});
  ASSERT_TRUE(difference.has_value());
  EXPECT_EQ(difference->by, TensorDifference::By::strings);
  EXPECT_EQ(difference->different, 1u);
  EXPECT_EQ(difference->compared, 3u);
}

TEST(TensorDifference, HasNoneWhereNothingCanBeCompared) {
  using Strings = std::vector<std::string_view>;
  EXPECT_FALSE(difference_of(copy_of(DType::string, Strings{"a"}),
                             copy_of(DType::float32, std::vector<float>{1}), {})
                   .has_value());
  EXPECT_FALSE(difference_of({}, {}, {}).has_value());
}

TEST(TensorDifference, TellsThePairThatIsFurthestApart) {
  const auto difference =
      difference_of(copy_of(DType::float32, std::vector<float>{1, 5, 2}),
                    copy_of(DType::float32, std::vector<float>{2, 1, 2}), {});
  EXPECT_EQ(difference->value, 5);
  EXPECT_EQ(difference->reference, 1);
}

}  // namespace
}  // namespace smdebug
