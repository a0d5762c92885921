// Tests how a rule receives scalar series.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "smdebug/rules/runner.h"

#include "rules/engine/shared_parameters.h"
#include "rules/engine/step_builder_testing.h"

namespace smdebug {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Fires at the first sample above a limit.
class Limited : public Rule {
 public:
  struct Seen {
    std::vector<std::string> names;
    std::vector<Step> steps;
  };
  Limited(Seen& seen, double limit) : seen_(seen), limit_(limit) {}

  std::string_view name() const override { return "Limited"; }
  RuleNeeds needs() const override { return {}; }
  Outcome on_step(const RuleStep&) override {
    count_judged();
    return no_finding();
  }
  Outcome on_scalars(std::string_view worker,
                     std::span<const ScalarSeriesView> series) override {
    for (const ScalarSeriesView& one : series) {
      seen_.names.push_back(std::string(worker) + "/" + std::string(one.name));
      for (const ScalarSample& sample : one.samples) {
        seen_.steps.push_back(sample.step.global);
        count_judged();
        if (sample.value > limit_) return above(one.name, worker, sample);
      }
    }
    return no_finding();
  }

 private:
  static Outcome above(std::string_view name, std::string_view worker,
                       const ScalarSample& sample) {
    Evidence evidence;
    evidence.tensor = name;
    evidence.worker = worker;
    evidence.step = sample.step;
    evidence.value = sample.value;
    return std::optional(Finding{"too high", "", "", {evidence}});
  }

  Seen& seen_;
  const double limit_;
};

std::vector<ScalarSample> samples(Step first, Step end) {
  std::vector<ScalarSample> all;
  for (Step step = first; step < end; ++step)
    all.push_back({{step, Mode::train, step}, static_cast<double>(step)});
  return all;
}

class ScalarsOfRuleTest : public testing::Test {
 protected:
  RuleRunner runner(double limit) {
    std::vector<std::unique_ptr<Rule>> rules;
    rules.push_back(std::make_unique<Limited>(seen_, limit));
    return RuleRunner(std::move(rules));
  }

  static void feed(RuleRunner& runner, std::span<const ScalarSample> samples,
                   std::size_t run = 0) {
    const ScalarSeriesView loss{"loss", samples};
    runner.on_scalars(run, "worker_0", std::span(&loss, 1));
  }

  Limited::Seen seen_;
};

TEST_F(ScalarsOfRuleTest, FindAtTheStepOfTheirEvidence) {
  RuleRunner judging = runner(4.5);
  feed(judging, samples(0, 3));
  EXPECT_TRUE(judging.is_judging());
  feed(judging, samples(3, 9));
  const Verdict& verdict = judging.verdicts()[0];
  EXPECT_EQ(verdict.status, RuleStatus::issues_found);
  EXPECT_EQ(verdict.step, (StepId{5, Mode::train, 5}));
  feed(judging, samples(9, 12));  // it has fired
  EXPECT_THAT(seen_.steps, ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(seen_.names, ElementsAre("worker_0/loss", "worker_0/loss"));
}

TEST_F(ScalarsOfRuleTest, AreEnoughToHaveJudgedSteps) {
  RuleRunner judging = runner(100);
  feed(judging, samples(0, 7));
  judging.on_step(StepBuilder(6).view());  // the same step again
  judging.on_step(StepBuilder(8).view());
  judging.on_run_end(0);
  EXPECT_EQ(judging.verdicts()[0].status, RuleStatus::no_issues_found);
  EXPECT_THAT(judging.verdicts()[0].message, HasSubstr("in 8 steps"));
}

TEST_F(ScalarsOfRuleTest, CountEachStepOnceWhicheverComesFirst) {
  for (const bool tensors_first : {true, false}) {
    RuleRunner judging = runner(100);
    if (tensors_first) judging.on_step(StepBuilder(6).view());
    feed(judging, samples(0, 7));
    if (!tensors_first) judging.on_step(StepBuilder(6).view());
    judging.on_run_end(0);
    EXPECT_EQ(judging.verdicts()[0].steps_judged, 7u);
  }
}

TEST_F(ScalarsOfRuleTest, OfRunsToCompareWithAreNotShown) {
  RuleRunner judging = runner(100);
  feed(judging, samples(0, 3), 1);
  EXPECT_THAT(seen_.steps, IsEmpty());
}

TEST_F(ScalarsOfRuleTest, OutsideTheBoundsOfARuleAreNotShown) {
  const ParameterSpec table[] = {kStartStep, kEndStep};
  const auto parameters = Parameters::parse(
      "Limited", table, {{"start_step", "2"}, {"end_step", "5"}});
  ASSERT_TRUE(parameters.ok());
  auto rule = within_step_bounds(std::make_unique<Limited>(seen_, 100),
                                 *parameters, false);
  const auto show = [&](const std::vector<ScalarSample>& shown) {
    const ScalarSeriesView loss{"loss", shown};
    EXPECT_TRUE(rule->on_scalars("worker_0", std::span(&loss, 1)).ok());
  };
  show(samples(0, 2));
  EXPECT_FALSE(rule->finish().ok());
  show(samples(1, 4));
  show(samples(4, 9));
  show(samples(9, 11));
  EXPECT_THAT(seen_.steps, ElementsAre(2, 3, 4));
  EXPECT_THAT(seen_.names, ElementsAre("worker_0/loss", "worker_0/loss"));
  EXPECT_TRUE(rule->finish().ok());
}

}  // namespace
}  // namespace smdebug
