#include "smdebug/read/tensor.h"

#include "read/trial_testing.h"

namespace smdebug {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using enum Error::Code;

class TensorTest : public TrialTest {
 protected:
  TensorTest() {
    run_.put_collections("worker_0", 2);
    run_.put_collections("worker_1", 2);
  }

  Tensor tensor(std::string_view name) {
    if (!trial_) trial_ = open();
    auto tensor = trial_->tensor(name);
    EXPECT_TRUE(tensor.ok()) << tensor.error().message;
    return *tensor;
  }

  std::unique_ptr<Trial> trial_;
};

TEST(TensorValue, ShowsItsStringsWhereverItIsCopiedOrMoved) {
  TensorValue first(DType::bytes, {2, 1}, Bytes(), {"short", "b"});
  const TensorValue copy = first;
  const TensorValue moved = std::move(first);
  for (const TensorValue& value : {copy, moved}) {
    ASSERT_EQ(value.view().strings().size(), 2u);
    EXPECT_EQ(value.view().strings()[0], "short");
    EXPECT_EQ(value.strings()[1], "b");
  }
  const TensorValue none(DType::string, {0}, Bytes());
  EXPECT_TRUE(none.strings().empty());
  EXPECT_EQ(none.view().size(), 0);
}

TEST_F(TensorTest, TakesTheFirstWorkerByNameUnlessOneIsAskedFor) {
  put(0, 1);
  put(0, 0);
  Tensor w = tensor("w");
  EXPECT_THAT(floats(*w.value({0})), ElementsAre(0, 0));
  EXPECT_THAT(floats(*w.value({0, Mode::train, "worker_1"})),
              ElementsAre(0, 1));
  EXPECT_THAT(*w.workers(0, Mode::global), ElementsAre("worker_0", "worker_1"));
}

TEST_F(TensorTest, SaysWhyThereIsNoValue) {
  put(0, 0);
  put(0, 1);
  put(4, 0);
  put(4, 1);
  run_.put_step({{2, Mode::train, 2}, "worker_0", {{"other", {1}}}});
  put(6, 0);
  Tensor w = tensor("w");
  EXPECT_EQ(w.value({2}).error().code, not_found);
  EXPECT_THAT(w.value({2}).error().message, HasSubstr("other tensors"));
  EXPECT_EQ(w.value({3}).error().code, not_found);
  EXPECT_THAT(w.value({3}).error().message, HasSubstr("was not saved"));
  EXPECT_EQ(w.value({5}).error().code, not_yet);
  EXPECT_EQ(w.value({100, Mode::eval}).error().code, not_yet);
  EXPECT_EQ(w.value({0, Mode::global, "worker_7"}).error().code,
            invalid_argument);
  EXPECT_EQ(w.value({6, Mode::global, "worker_1"}).error().code, not_found);
  EXPECT_EQ(w.workers(3, Mode::train).error().code, not_found);
}

TEST_F(TensorTest, ListsCompleteStepsOrAll) {
  for (Step step : {0, 2, 4}) put(step, 0);
  for (Step step : {0, 4}) put(step, 1);
  put(6, 0);
  Tensor w = tensor("w");
  EXPECT_THAT(w.steps(), ElementsAre(0, 2, 4));
  EXPECT_THAT(w.steps(Mode::train, true), ElementsAre(0, 2, 4, 6));
  EXPECT_THAT(w.steps(Mode::eval), IsEmpty());
  EXPECT_THAT(w.prev_steps(4, 2, Mode::global), ElementsAre(2, 4));
  EXPECT_THAT(w.prev_steps(3, 0, Mode::global), ElementsAre(0, 2));
  EXPECT_THAT(w.prev_steps(-1, 2, Mode::global), IsEmpty());
}

TEST_F(TensorTest, ReadsValueAndShapeSavedTogether) {
  run_.put_step(
      {{0, Mode::train, 0}, "worker_0", {{"w", {1, 2}, false, true}}});
  Tensor w = tensor("w");
  EXPECT_THAT(floats(*w.value({0})), ElementsAre(1, 2));
  EXPECT_THAT(*w.shape({0}), ElementsAre(2));
  EXPECT_EQ(w.original_name(), "w");
}

TEST_F(TensorTest, FindsAShapeInTheRecordWhereTheIndexHasNone) {
  put(0);
  Tensor w = tensor("w");
  EXPECT_THAT(*w.shape({0}), ElementsAre(2));
  EXPECT_EQ(*w.dtype({0}), DType::float32);
  EXPECT_EQ(w.original_name(), std::nullopt);
}

TEST_F(TensorTest, SaysThatOnlyReductionsWereSaved) {
  const ReductionOp mean{Reduction::mean, false}, abs_l2{Reduction::l2, true};
  run_.put_step({{0, Mode::train, 0},
                 "worker_0",
                 {{"w", {}, false, false, {{mean, 3}, {abs_l2, 5}}}}});
  Tensor w = tensor("w");
  const auto value = w.value({0});
  EXPECT_EQ(value.error().code, not_found);
  EXPECT_THAT(value.error().message, HasSubstr("'mean', 'abs_l2'"));
  EXPECT_THAT(*w.reductions({0}),
              ElementsAre(std::pair(mean, 3), std::pair(abs_l2, 5)));
  EXPECT_EQ(*w.reduction({0}, mean), 3);
  EXPECT_EQ(w.reduction({0}, {Reduction::max, false}).error().code, not_found);
  EXPECT_THAT(w.saved_reductions({0})->at(mean).shape(), IsEmpty());
}

TEST_F(TensorTest, ComputesReductionsFromTheStatistics) {
  WrittenTensor summary{"w", {1, -2, 4}, true};
  summary.elements.resize(3);
  run_.put_step({{0, Mode::train, 0}, "worker_0", {summary}});
  // Without the event file only the index can answer.
  ASSERT_TRUE(storage_->remove(event_file_key(0, "worker_0")).ok());
  Tensor w = tensor("w");
  EXPECT_EQ(w.statistics({0})->count, 3u);
  EXPECT_DOUBLE_EQ(*w.reduction({0}, {Reduction::mean, false}), 1);
  // Population: ((0)^2 + (-3)^2 + (3)^2) / 3.
  EXPECT_DOUBLE_EQ(*w.reduction({0}, {Reduction::variance, false}), 6);
  EXPECT_DOUBLE_EQ(*w.reduction({0}, {Reduction::l1, false}), 7);
  EXPECT_EQ(w.reduction({0}, {Reduction::median, false}).error().code,
            unavailable);
}

TEST_F(TensorTest, ComputesReductionsFromTheElements) {
  run_.put_step({{0, Mode::train, 0}, "worker_0", {{"w", {3, -4, 0}}}});
  Tensor w = tensor("w");
  EXPECT_DOUBLE_EQ(*w.reduction({0}, {Reduction::l2, false}), 5);
  EXPECT_DOUBLE_EQ(*w.reduction({0}, {Reduction::median, false}), 0);
  EXPECT_DOUBLE_EQ(*w.reduction({0}, {Reduction::min, true}), 0);
  EXPECT_EQ(w.statistics({0})->zeros, 1u);
}

TEST_F(TensorTest, TakesNoReductionOfText) {
  const WrittenStep step{{0, Mode::train, 0}, "worker_0", {{"w", {1}, true}}};
  auto [events, index] = WrittenRun::make_step(step);
  const std::string number = "float32";
  index.replace(index.find(number), number.size(), dtype_name(DType::string));
  run_.put(event_file_key(0, "worker_0"), events);
  run_.put(index_file_key(0, "worker_0"), index);
  const auto mean = tensor("w").reduction({0}, {Reduction::mean, false});
  ASSERT_FALSE(mean.ok());
  EXPECT_EQ(mean.error().code, not_found);
  EXPECT_THAT(mean.error().message, HasSubstr("no numbers"));
}

TEST_F(TensorTest, KeepsValuesInMemoryIfAsked) {
  put(0);
  TrialOptions keeping = options();
  keeping.keep_values = true;
  trial_ = open(keeping);
  Tensor w = tensor("w");
  EXPECT_THAT(floats(*w.value({0})), ElementsAre(0, 0));
  ASSERT_TRUE(storage_->remove(event_file_key(0, "worker_0")).ok());
  EXPECT_THAT(floats(*w.value({0})), ElementsAre(0, 0));
}

TEST_F(TensorTest, PutsTheStatisticsOfShardsTogether) {
  const std::vector<std::vector<float>> parts = {{1, -2, 0}, {5, 8}};
  for (int worker = 0; worker < 2; ++worker) {
    WrittenTensor shard{"w", parts[static_cast<std::size_t>(worker)], true};
    shard.placement = ShardPlacement{{5}, {3 * worker}};
    run_.put_step({{0, Mode::train, 0},
                   "worker_" + std::to_string(worker),
                   {shard, {"own", {1}}}});
  }
  Tensor w = tensor("w");
  const auto placement = w.placement({0, Mode::train, "worker_1"});
  ASSERT_TRUE(placement.ok());
  EXPECT_EQ(**placement, (ShardPlacement{{5}, {3}}));
  const auto merged = w.merged_statistics(0, Mode::train);
  ASSERT_TRUE(merged.ok()) << merged.error().message;
  EXPECT_EQ(merged->count, 5u);
  EXPECT_EQ(merged->zeros, 1u);
  EXPECT_EQ(merged->min, -2);
  EXPECT_EQ(merged->max, 8);
  EXPECT_DOUBLE_EQ(merged->mean, 12.0 / 5);
  EXPECT_DOUBLE_EQ(merged->sum_abs, 16);
  EXPECT_DOUBLE_EQ(merged->sum_squares, 94);
  EXPECT_DOUBLE_EQ(merged->m2, 94 - 144.0 / 5);

  const auto own = tensor("own").merged_statistics(0, Mode::train);
  ASSERT_FALSE(own.ok());
  EXPECT_EQ(own.error().code, invalid_argument);
  EXPECT_THAT(own.error().message, HasSubstr("'own'"));
}

TEST_F(TensorTest, DoesNotTakeAShardForTheWhole) {
  WrittenTensor shard{"w", {1, 2}, true};
  shard.placement = ShardPlacement{{5}, {3}};
  run_.put_step({{0, Mode::train, 0}, "worker_1", {shard, {"whole", {4}}}});
  const auto merged = tensor("w").merged_statistics(0, Mode::train);
  ASSERT_FALSE(merged.ok());
  EXPECT_EQ(merged.error().code, not_found);
  EXPECT_THAT(merged.error().message, HasSubstr("2 of 5"));
  EXPECT_EQ(tensor("whole").merged_statistics(0, Mode::train)->max, 4);
}

}  // namespace
}  // namespace smdebug
