#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/engine/rule_harness_testing.h"

namespace smdebug {
namespace {

using testing::AllOf;
using testing::HasSubstr;

StepBuilder replicas(std::vector<std::vector<float>> by_worker,
                     const char* name = "Net_fc.weight") {
  StepBuilder step(30);
  for (std::size_t i = 0; i < by_worker.size(); ++i) {
    const auto size = std::int64_t(by_worker[i].size());
    step.with_values(name, by_worker[i], {size})
        .from_worker("worker_" + std::to_string(i));
  }
  return step;
}

TEST(ReplicasDiffer, FiresIfOneWorkerHoldsOtherWeights) {
  RuleHarness same("ReplicasDiffer");
  EXPECT_FALSE(same.fires_at(replicas({{1, 2}, {1, 2}, {1, 2}})));
  EXPECT_EQ(same.verdict().observations_judged, 2u);
  RuleHarness rule("ReplicasDiffer");
  EXPECT_TRUE(rule.fires_at(replicas({{1, 2}, {1, 2}, {1, 2.5f}})));
  EXPECT_EQ(rule.verdict().message,
            "Net_fc.weight (worker_2): largest difference from worker_0 in "
            "layer Net_fc is 0.5, above 2e-05, at step 30 (TRAIN step 30)");
  EXPECT_EQ(rule.verdict().evidence.size(), 1u);
}

TEST(ReplicasDiffer, TakesTolerances) {
  const auto fires = [](const std::map<std::string, std::string>& given) {
    RuleHarness rule("ReplicasDiffer", given);
    return rule.fires_at(replicas({{100.0f}, {100.01f}}));
  };
  EXPECT_TRUE(fires({}));
  EXPECT_FALSE(fires({{"rtol", "0.000101"}}));
  EXPECT_TRUE(fires({{"rtol", "0.000099"}}));
  EXPECT_FALSE(fires({{"rtol", "0"}, {"atol", "0.0101"}}));
  EXPECT_TRUE(fires({{"rtol", "0"}, {"atol", "0.0099"}}));
}

TEST(ReplicasDiffer, ListsTheLargestDifferenceFirst) {
  RuleHarness rule("ReplicasDiffer");
  StepBuilder step = replicas({{1}, {2}}, "a.weight");
  step.with_values("b.bias", {1}, {1}).from_worker("worker_0");
  step.with_values("b.bias", {7}, {1}).from_worker("worker_1");
  EXPECT_TRUE(rule.fires_at(step));
  ASSERT_EQ(rule.verdict().evidence.size(), 2u);
  EXPECT_EQ(rule.verdict().evidence[0].tensor, "b.bias");
  EXPECT_EQ(rule.verdict().evidence[0].value, 6);
  EXPECT_THAT(rule.verdict().message, HasSubstr("2 tensors differ"));
}

// As fully_shard and tensor parallelism of torch save them.
TEST(ReplicasDiffer, ComparesOnlyEqualPartsOfADistributedTensor) {
  const auto step_of = [](Step number, float last) {
    StepBuilder step(number);
    const auto add = [&](float value, std::int64_t offset, const char* worker) {
      step.with_values("Net_fc.weight", {value}, {1})
          .placed_at({{2}, {offset}})
          .from_worker(worker);
    };
    add(1, 0, "worker_0");
    add(2, 1, "worker_1");
    add(1, 0, "worker_2");
    add(last, 1, "worker_3");
    return step;
  };
  RuleHarness rule("ReplicasDiffer");
  EXPECT_FALSE(rule.fires_at(step_of(0, 2)));
  EXPECT_TRUE(rule.fires_at(step_of(1, 3)));
  EXPECT_THAT(rule.verdict().message, HasSubstr("Net_fc.weight (worker_3)"));
}

StepBuilder layer_of_two_workers(Step number, float weight, float bias,
                                 float norm) {
  StepBuilder step(number);
  const auto add = [&](const char* name, float other) {
    step.with_values(name, {0}, {1}).from_worker("worker_0");
    step.with_values(name, {other}, {1}).from_worker("worker_1");
  };
  add("Net_fc.weight", weight);
  add("Net_fc.bias", bias);
  add("Net_norm.weight", norm);
  return step;
}

// Its bias is 0 on all workers at first.
TEST(ReplicasDiffer, PassesALayerThatATrainingCutsByItself) {
  RuleHarness rule("ReplicasDiffer");
  EXPECT_FALSE(rule.fires_at(layer_of_two_workers(0, 5, 0, 0)));
  EXPECT_FALSE(rule.fires_at(layer_of_two_workers(1, 6, 1, 0)));
  EXPECT_TRUE(rule.fires_at(layer_of_two_workers(2, 6, 1, 1)));
  EXPECT_THAT(rule.verdict().message, HasSubstr("Net_norm.weight (worker_1)"));
  EXPECT_EQ(rule.verdict().evidence.size(), 1u);
}

TEST(ReplicasDiffer, DoesNotJudgeTheFlatParametersOfTorch) {
  for (const char* name : {"FullyShardedDataParallel__flat_param",
                           "Net_fc._fsdp_wrapped_module.weight"}) {
    RuleHarness rule("ReplicasDiffer", {{"tensor_regex", "."}});
    EXPECT_FALSE(rule.fires_at(replicas({{1}, {2}}, name)));
  }
}

TEST(ReplicasDiffer, FiresIfAllTensorsDifferFromTheStart) {
  RuleHarness rule("ReplicasDiffer");
  EXPECT_TRUE(rule.fires_at(layer_of_two_workers(0, 5, 5, 5)));
  EXPECT_EQ(rule.verdict().evidence.size(), 3u);
}

TEST(ReplicasDiffer, LooksAtWeightsAndBiasesUnlessToldOtherwise) {
  RuleHarness rule("ReplicasDiffer");
  EXPECT_FALSE(rule.fires_at(replicas({{1}, {2}}, "fc_output_0")));
  RuleHarness other("ReplicasDiffer", {{"collection_names", "losses"},
                                       {"tensor_regex", "_output_"}});
  EXPECT_FALSE(other.fires_at(replicas({{1}, {2}}, "Net_fc.weight")));
  EXPECT_TRUE(other.fires_at(replicas({{1}, {2}}, "fc_output_0")));
}

TEST(ReplicasDiffer, SaysThatOnlyOneWorkerSavedAnything) {
  RuleHarness rule("ReplicasDiffer");
  EXPECT_FALSE(rule.fires_at(replicas({{1}})));
  EXPECT_EQ(rule.finish().status, RuleStatus::error);
  EXPECT_THAT(rule.verdict().message,
              AllOf(HasSubstr("only worker_0"), HasSubstr("include_workers")));
}

TEST(ReplicasDiffer, TakesAnotherShapeForADifference) {
  RuleHarness rule("ReplicasDiffer");
  EXPECT_TRUE(rule.fires_at(replicas({{1, 1}, {1, 1, 1}})));
  EXPECT_THAT(rule.verdict().message, HasSubstr("another shape"));
}

TEST(ReplicasDiffer, ComparesNanWithNan) {
  RuleHarness rule("ReplicasDiffer");
  EXPECT_FALSE(rule.fires_at(replicas({{1, kNan}, {1, kNan}})));
  EXPECT_TRUE(rule.fires_at(replicas({{1, kNan}, {1, 2}})));
}

TEST(ReplicasDiffer, SkipsEmptyTensors) {
  RuleHarness rule("ReplicasDiffer");
  EXPECT_FALSE(rule.fires_at(replicas({{}, {}})));
  EXPECT_EQ(rule.finish().status, RuleStatus::error);
}

TensorStatistics statistics(double mean) {
  TensorStatistics made;
  made.count = 100;
  made.min = -1;
  made.max = 1;
  made.mean = mean;
  made.m2 = made.sum_squares = 40;
  return made;
}

TEST(ReplicasDiffer, SeesADifferenceInStatistics) {
  const auto fires = [](double mean) {
    RuleHarness rule("ReplicasDiffer");
    StepBuilder step(0);
    step.with_statistics("a.weight", statistics(0.1)).from_worker("worker_0");
    step.with_statistics("a.weight", statistics(mean)).from_worker("worker_1");
    const bool fired = rule.fires_at(step);
    EXPECT_EQ(rule.verdict().observations_judged, 1u);
    return fired;
  };
  EXPECT_FALSE(fires(0.1));
  EXPECT_FALSE(fires(0.100009));
  EXPECT_TRUE(fires(0.10002));
}

TEST(ReplicasDiffer, SeesADifferenceInSavedBoundsAndNotInSums) {
  const auto fires = [](Reduction reduction, double first, double second) {
    RuleHarness rule("ReplicasDiffer");
    StepBuilder step(0);
    step.with_reductions("a.weight", {{{reduction}, first}});
    step.from_worker("worker_0");
    step.with_reductions("a.weight", {{{reduction}, second}});
    step.from_worker("worker_1");
    return rule.fires_at(step);
  };
  EXPECT_TRUE(fires(Reduction::max, 1, 1.1));
  EXPECT_FALSE(fires(Reduction::max, 1, 1));
  EXPECT_FALSE(fires(Reduction::sum, 1, 1.1));
}

}  // namespace
}  // namespace smdebug
