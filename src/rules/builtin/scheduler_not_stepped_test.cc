#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/engine/rule_harness_testing.h"

namespace smdebug {
namespace {

using testing::HasSubstr;

RunFacts facts_with_scheduler(std::optional<bool> has_scheduler,
                              std::optional<std::uint64_t> data_passes,
                              Step step = 0) {
  RunFacts facts;
  facts.step = step;
  facts.optimizers = {{.kind = "SGD",
                       .groups = {},
                       .keeps_gradients = {},
                       .discards_gradients = {},
                       .has_scheduler = has_scheduler}};
  facts.loop.data_passes = data_passes;
  return facts;
}

RunFacts with_step_of(std::optional<std::size_t> optimizer, RunFacts facts) {
  facts.loop.schedulers = {{"StepLR", optimizer, 1, 10, {}}};
  return facts;
}

const Verdict& verdict_at_end(RuleHarness& rule,
                              const std::vector<RunFacts>& all) {
  EXPECT_EQ(rule.fires_with(10, all), -1) << "it may step until the end";
  return rule.finish();
}

TEST(SchedulerNotStepped, FindsASchedulerThatRestsInSeveralPasses) {
  RuleHarness rule("SchedulerNotStepped");
  const Verdict& verdict = verdict_at_end(
      rule, {facts_with_scheduler(true, 1), facts_with_scheduler(true, 3, 20)});
  EXPECT_EQ(verdict.status, RuleStatus::issues_found);
  EXPECT_EQ(verdict.message,
            "SGD: a scheduler of learning rates was made for it and has not "
            "stepped until step 90 (TRAIN step 90), although at least 3 passes "
            "over the data began");
  EXPECT_THAT(verdict.advice, HasSubstr("scheduler.step()"));
  EXPECT_EQ(verdict.severity, Severity::serious);
}

// The verdict on a training with so many evaluations.
Verdict verdict_after(int evaluations,
                      std::optional<std::uint64_t> data_passes) {
  RuleHarness rule("SchedulerNotStepped");
  rule.knows(facts_with_scheduler(true, data_passes), "worker_0");
  Step step = 0;
  for (int i = 0; i < evaluations; ++i) {
    for (const Mode mode : {Mode::train, Mode::eval, Mode::eval}) {
      const StepId at{.global = step, .mode = mode, .mode_step = step};
      EXPECT_FALSE(rule.fires_at(StepBuilder(at).with_scalar("Loss", 1)));
      ++step;
    }
  }
  return rule.finish();
}

TEST(SchedulerNotStepped, CountsEvaluationsOfALoopWithoutDataLoaders) {
  EXPECT_THAT(verdict_after(3, std::nullopt).message,
              HasSubstr("although 3 evaluations began"));
  const Verdict verdict = verdict_after(2, std::nullopt);
  EXPECT_EQ(verdict.status, RuleStatus::error);
  EXPECT_THAT(verdict.message, HasSubstr("than num_passes=3"));
}

TEST(SchedulerNotStepped, PassesOneLongEpochWithSeveralEvaluations) {
  EXPECT_EQ(verdict_after(5, 0).status, RuleStatus::error);
}

TEST(SchedulerNotStepped, PassesASchedulerThatStepsLate) {
  for (const std::optional<std::size_t> optimizer :
       {std::optional<std::size_t>(0), std::optional<std::size_t>()}) {
    RuleHarness rule("SchedulerNotStepped");
    const Verdict& verdict = verdict_at_end(
        rule, {facts_with_scheduler(true, 3),
               with_step_of(optimizer, facts_with_scheduler(true, 3, 80))});
    EXPECT_EQ(verdict.status, RuleStatus::no_issues_found) << verdict.message;
  }
}

TEST(SchedulerNotStepped, FindsOneWhoseNeighborSteps) {
  RuleHarness rule("SchedulerNotStepped");
  EXPECT_EQ(
      verdict_at_end(rule, {with_step_of(1, facts_with_scheduler(true, 3))})
          .status,
      RuleStatus::issues_found);
}

TEST(SchedulerNotStepped, JudgesNoOptimizerWithoutAScheduler) {
  for (const std::optional<bool> has_scheduler :
       {std::optional<bool>(false), std::optional<bool>()}) {
    RuleHarness rule("SchedulerNotStepped");
    const Verdict& verdict =
        verdict_at_end(rule, {facts_with_scheduler(has_scheduler, 3)});
    EXPECT_EQ(verdict.status, RuleStatus::error);
    EXPECT_THAT(verdict.message, HasSubstr("no scheduler of learning rates"));
  }
}

}  // namespace
}  // namespace smdebug
