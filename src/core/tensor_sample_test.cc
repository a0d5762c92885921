#include "smdebug/core/tensor_sample.h"

#include <numeric>
#include <random>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace smdebug {
namespace {

using testing::ElementsAre;

std::vector<std::int64_t> steps_of(std::vector<std::int64_t> shape,
                                   std::int64_t most) {
  const auto steps = sample_steps(shape, most);
  return {steps.begin(),
          steps.begin() + static_cast<std::ptrdiff_t>(shape.size())};
}

TEST(TensorSample, LeavesATensorThatIsSmallEnoughAsItIs) {
  EXPECT_THAT(steps_of({}, 1), ElementsAre());
  EXPECT_THAT(steps_of({64, 256}, 64 * 256), ElementsAre(1, 1));
  EXPECT_THAT(steps_of({0, 1 << 20}, 4), ElementsAre(1, 1));
}

TEST(TensorSample, ThinsALargeBatchBeforeItsRows) {
  EXPECT_THAT(steps_of({1024, 16}, 128 * 16), ElementsAre(8, 1));
  EXPECT_THAT(steps_of({1024, 64}, 128 * 16), ElementsAre(8, 4));
  EXPECT_THAT(steps_of({128, 3, 64, 32}, 128 * 3 * 32 * 32),
              ElementsAre(1, 1, 2, 1));
}

TEST(TensorSample, ThinsTheBatchFurtherIfItsRowsAreNumbers) {
  EXPECT_THAT(steps_of({128}, 16), ElementsAre(8));
  EXPECT_THAT(steps_of({128, 1}, 16), ElementsAre(8, 1));
}

TEST(TensorSample, StaysWithinItsLimitForEveryShape) {
  const auto seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 1000; ++round) {
    std::vector<std::int64_t> shape(random() % 6);
    for (auto& extent : shape) extent = random() % 40;
    const auto most = static_cast<std::int64_t>(1 + random() % 500);
    const auto steps = steps_of(shape, most);
    std::int64_t count = 1;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      ASSERT_GE(steps[i], 1);
      count *= (shape[i] + steps[i] - 1) / steps[i];
    }
    EXPECT_LE(count, most);
    // A step more in any dimension halves the sample at most.
    EXPECT_GE(2 * count, std::min(element_count(shape), most));
  }
}

TEST(TensorSample, SharesTheDataOfTheTensor) {
  std::vector<float> elements(4 * 6);
  std::iota(elements.begin(), elements.end(), 0.0F);
  const std::vector<std::int64_t> shape = {4, 6};
  TensorView tensor{.data = reinterpret_cast<const std::byte*>(elements.data()),
                    .shape = shape};
  const TensorSample sample(tensor, 12);
  EXPECT_EQ(sample.view().data, tensor.data);
  EXPECT_THAT(sample.view().shape, ElementsAre(4, 3));
  EXPECT_THAT(sample.view().strides, ElementsAre(6, 2));

  const std::vector<std::int64_t> transposed = {6, 4}, strides = {1, 6};
  tensor.shape = transposed;
  tensor.strides = strides;
  const TensorSample other(tensor, 12);
  EXPECT_THAT(other.view().shape, ElementsAre(6, 2));
  EXPECT_THAT(other.view().strides, ElementsAre(1, 12));
}

}  // namespace
}  // namespace smdebug
