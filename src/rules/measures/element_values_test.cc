#include "rules/measures/element_values.h"

#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace smdebug {
namespace {

using testing::ElementsAre;

struct Elements : ValueSource {
  explicit Elements(Result<TensorView> given) : held(std::move(given)) {}
  Result<TensorView> load() override { return held; }
  Result<TensorView> held;
};

TEST(ElementValues, ReadsStridedIntegersInCOrder) {
  const std::vector<std::int16_t> memory = {0, 1, 2, 3, 4, 5};
  const std::vector<std::int64_t> shape = {3, 2}, strides = {1, 3};
  TensorView view;
  view.dtype = DType::int16;
  view.data = reinterpret_cast<const std::byte*>(memory.data());
  view.shape = shape;
  view.strides = strides;
  Elements source(view);
  Observation observation;
  observation.values = &source;
  const auto read = *element_values(observation);
  ASSERT_TRUE(read.has_value());
  EXPECT_THAT(read->values, ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_THAT(read->shape, ElementsAre(3, 2));
}

TEST(ElementValues, ReadsTensorsOfManyBlocks) {
  std::vector<float> memory(5000);
  std::iota(memory.begin(), memory.end(), 0.0f);
  const std::vector<std::int64_t> shape = {5000};
  TensorView view;
  view.data = reinterpret_cast<const std::byte*>(memory.data());
  view.shape = shape;
  Elements source(view);
  Observation observation;
  observation.values = &source;
  const auto read = *element_values(observation);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->values, std::vector<double>(memory.begin(), memory.end()));
}

TEST(ElementValues, AreNoneWhereTheRunHasNoneAndFailWhereTheDiskDoes) {
  Elements missing(Error{Error::Code::not_found, "not kept"});
  Observation observation;
  observation.values = &missing;
  EXPECT_FALSE(element_values(observation)->has_value());
  Elements failing(Error{Error::Code::io, "the disk said no"});
  observation.values = &failing;
  EXPECT_FALSE(element_values(observation).ok());
}

}  // namespace
}  // namespace smdebug
