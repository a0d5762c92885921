#include "smdebug/core/observation.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace smdebug {
namespace {

using testing::Ref;
using testing::Return;
using testing::SizeIs;
using DataNeed = ObservationSink::DataNeed;

// Strict: a call that reaches it in another form, or twice, is an error.
class Sink : public ObservationSink {
 public:
  MOCK_METHOD(void, on_collections, (std::size_t, std::span<const TensorGroup>),
              (override));
  MOCK_METHOD(void, on_facts, (std::size_t, std::string_view, const RunFacts&),
              (override));
  MOCK_METHOD(void, on_scalars,
              (std::size_t, std::string_view,
               std::span<const ScalarSeriesView>),
              (override));
  MOCK_METHOD(DataNeed, data_need, (std::size_t, std::string_view), (override));
  MOCK_METHOD(void, on_step, (const StepView&), (override));
  MOCK_METHOD(void, on_tick, (double), (override));
  MOCK_METHOD(void, on_run_end, (std::size_t), (override));
};

class PlainForwarding : public ForwardingSink {
 public:
  explicit PlainForwarding(ObservationSink& target) : ForwardingSink(target) {}
};

TEST(ForwardingSink, PassesEveryCallOnUnchanged) {
  testing::StrictMock<Sink> target;
  const std::vector<TensorGroup> groups(3);
  const RunFacts facts;
  const std::vector<ScalarSeriesView> series(2);
  const StepView step{};
  testing::InSequence in_this_order;
  EXPECT_CALL(target, on_collections(2, SizeIs(3)));
  EXPECT_CALL(target, on_facts(2, std::string_view("worker_0"), Ref(facts)));
  EXPECT_CALL(target, on_scalars(2, std::string_view("worker_0"), SizeIs(2)));
  EXPECT_CALL(target, data_need(1, std::string_view("loss")))
      .WillOnce(Return(DataNeed::statistics));
  EXPECT_CALL(target, on_step(Ref(step)));
  EXPECT_CALL(target, on_tick(12.5));
  EXPECT_CALL(target, on_run_end(7));
  PlainForwarding sink(target);
  sink.on_collections(2, groups);
  sink.on_facts(2, "worker_0", facts);
  sink.on_scalars(2, "worker_0", series);
  EXPECT_EQ(sink.data_need(1, "loss"), DataNeed::statistics);
  sink.on_step(step);
  sink.on_tick(12.5);
  sink.on_run_end(7);
}

// A sink that states no need gets everything.
TEST(ObservationSink, NeedsValuesUnlessItSaysOtherwise) {
  class Silent : public ObservationSink {
   public:
    void on_collections(std::size_t, std::span<const TensorGroup>) override {}
    void on_step(const StepView&) override {}
    void on_tick(double) override {}
    void on_run_end(std::size_t) override {}
  };
  Silent sink;
  EXPECT_EQ(sink.data_need(0, "w"), DataNeed::values);
}

}  // namespace
}  // namespace smdebug
