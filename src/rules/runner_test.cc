#include "smdebug/rules/runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/observed_step.h"

namespace smdebug {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

// Notes what it is shown; fires or fails at a step if told so.
class ScriptedRule : public Rule {
 public:
  struct Script {
    RuleNeeds needs;
    Step fires_at = -1;
    Step fails_at = -1;
    bool fires_in_the_end = false;
    bool judges = true;
  };
  struct Notes {
    std::vector<Step> steps;
    std::vector<std::string> names;
    int finished = 0;
    std::vector<double> ticks;
  };

  ScriptedRule(Script script, Notes& notes)
      : script_(std::move(script)), notes_(notes) {}

  std::string_view name() const override { return "Scripted"; }
  RuleNeeds needs() const override { return script_.needs; }

  Result<std::optional<Finding>> on_step(const RuleStep& step) override {
    notes_.steps.push_back(step.step.global);
    for (const auto& selected : step.selected) {
      for (const Observation* observation : selected) {
        notes_.names.emplace_back(observation->name);
        judged_ += script_.judges;
      }
    }
    if (step.step.global == script_.fails_at) {
      return Error{Error::Code::io, "the disk said no"};
    }
    if (step.step.global == script_.fires_at) return finding();
    return std::optional<Finding>();
  }

  Result<std::optional<Finding>> on_tick(double wall_seconds) override {
    notes_.ticks.push_back(wall_seconds);
    return std::optional<Finding>();
  }

  Result<std::optional<Finding>> finish() override {
    ++notes_.finished;
    return script_.fires_in_the_end ? finding() : std::optional<Finding>();
  }

  std::uint64_t observations_judged() const override { return judged_; }

 private:
  static std::optional<Finding> finding() {
    return Finding{"it is so", "do better", {Evidence{}}};
  }

  Script script_;
  Notes& notes_;
  std::uint64_t judged_ = 0;
};

class RuleRunnerTest : public testing::Test {
 protected:
  RuleRunner runner(ScriptedRule::Script script) {
    std::vector<std::unique_ptr<Rule>> rules;
    rules.push_back(std::make_unique<ScriptedRule>(std::move(script), notes_));
    return RuleRunner(std::move(rules));
  }

  static RuleNeeds every_tensor() {
    RuleNeeds needs;
    needs.selectors.push_back({{}, {}, true});
    return needs;
  }

  static RuleNeeds gradients_and(std::string regex) {
    RuleNeeds needs;
    needs.selectors.push_back({{"gradients"}, {std::move(regex)}, false});
    return needs;
  }

  ScriptedRule::Notes notes_;
};

TEST_F(RuleRunnerTest, IsInProgressUntilTheRunEnds) {
  RuleRunner judging = runner({.needs = every_tensor()});
  EXPECT_TRUE(judging.is_judging());
  judging.on_step(ObservedStep(0).with_nothing("a").view());
  EXPECT_EQ(judging.verdicts()[0].status, RuleStatus::in_progress);
  judging.on_run_end(0);
  EXPECT_EQ(judging.verdicts()[0].status, RuleStatus::no_issues_found);
  EXPECT_EQ(judging.verdicts()[0].steps_judged, 1u);
  EXPECT_EQ(judging.verdicts()[0].observations_judged, 1u);
  EXPECT_FALSE(judging.is_judging());
}

TEST_F(RuleRunnerTest, KeepsWhatARuleFoundAndAsksItNoMore) {
  RuleRunner judging = runner({.needs = every_tensor(), .fires_at = 1});
  int called = 0;
  judging.set_on_verdict([&](const Verdict& verdict) {
    ++called;
    EXPECT_EQ(verdict.status, RuleStatus::issues_found);
  });
  for (Step step = 0; step < 4; ++step) {
    judging.on_step(ObservedStep(step).with_nothing("a").view());
  }
  judging.on_run_end(0);
  const Verdict& verdict = judging.verdicts()[0];
  EXPECT_EQ(called, 1);
  EXPECT_THAT(notes_.steps, ElementsAre(0, 1));
  EXPECT_EQ(notes_.finished, 0);
  EXPECT_EQ(verdict.rule, "Scripted");
  EXPECT_EQ(verdict.message, "it is so");
  EXPECT_EQ(verdict.advice, "do better");
  EXPECT_EQ(verdict.step.global, 1);
  EXPECT_EQ(verdict.evidence.size(), 1u);
}

TEST_F(RuleRunnerTest, TakesAnErrorOfARuleForItsVerdict) {
  RuleRunner judging = runner({.needs = every_tensor(), .fails_at = 0});
  judging.on_step(ObservedStep(0).with_nothing("a").view());
  EXPECT_EQ(judging.verdicts()[0].status, RuleStatus::error);
  EXPECT_EQ(judging.verdicts()[0].message, "the disk said no");
}

TEST_F(RuleRunnerTest, LetsARuleFireInTheEnd) {
  RuleRunner judging =
      runner({.needs = every_tensor(), .fires_in_the_end = true});
  judging.on_step(ObservedStep(0).with_nothing("a").view());
  judging.on_run_end(0);
  EXPECT_EQ(judging.verdicts()[0].status, RuleStatus::issues_found);
}

TEST_F(RuleRunnerTest, NeverSaysNoIssueOfTensorsThatWereNotThere) {
  RuleRunner judging = runner({.needs = gradients_and("^grad_norm$")});
  judging.on_step(ObservedStep(0)
                      .with_nothing("grad_norms")
                      .with_nothing("fc1_output_0")
                      .view());
  judging.on_run_end(0);
  EXPECT_EQ(judging.verdicts()[0].status, RuleStatus::error);
  EXPECT_THAT(
      judging.verdicts()[0].message,
      AllOf(HasSubstr("nothing to judge"), HasSubstr("collection 'gradients'"),
            HasSubstr("pattern '^grad_norm$'"),
            HasSubstr("the nearest of 2 names are 'grad_norms'")));
}

TEST_F(RuleRunnerTest, SaysThatARunHoldsNothingAtAll) {
  RuleRunner judging = runner({.needs = every_tensor()});
  judging.on_run_end(0);
  EXPECT_EQ(judging.verdicts()[0].status, RuleStatus::error);
  EXPECT_THAT(judging.verdicts()[0].message,
              HasSubstr("the run holds no tensor"));
}

TEST_F(RuleRunnerTest, SaysThatWhatItSelectedCouldNotBeJudged) {
  RuleRunner judging = runner({.needs = every_tensor(), .judges = false});
  judging.on_step(ObservedStep(0).with_nothing("a").with_nothing("b").view());
  judging.on_run_end(0);
  EXPECT_EQ(judging.verdicts()[0].status, RuleStatus::error);
  EXPECT_THAT(judging.verdicts()[0].message, HasSubstr("2 observations"));
}

TEST_F(RuleRunnerTest, ShowsARuleOnlyWhatItsSelectorsTake) {
  RuleRunner judging = runner({.needs = gradients_and("_output_0$")});
  const std::vector<TensorGroup> groups = {
      {"gradients", {"^gradient/"}, {"late_gradient"}}, {"losses", {"x"}, {}}};
  judging.on_collections(0, groups);
  judging.on_step(ObservedStep(0)
                      .with_nothing("gradient/a")
                      .with_nothing("fc_output_0")
                      .with_nothing("fc_output_1")
                      .with_nothing("x")
                      .with_nothing("late_gradient")
                      .view());
  EXPECT_THAT(notes_.names,
              ElementsAre("gradient/a", "fc_output_0", "late_gradient"));
}

TEST_F(RuleRunnerTest, MatchesAnewWhenTheCollectionsOfARunChange) {
  RuleRunner judging = runner({.needs = gradients_and("^none$")});
  judging.on_step(ObservedStep(0).with_nothing("a").view());
  EXPECT_TRUE(notes_.names.empty());
  judging.on_collections(0, std::vector<TensorGroup>{{"gradients", {}, {"a"}}});
  judging.on_step(ObservedStep(1).with_nothing("a").view());
  EXPECT_THAT(notes_.names, ElementsAre("a"));
}

TEST_F(RuleRunnerTest, TakesABadPatternForAnErrorOfTheRule) {
  RuleRunner judging = runner({.needs = gradients_and("(")});
  judging.on_step(ObservedStep(0).with_nothing("a").view());
  EXPECT_EQ(judging.verdicts()[0].status, RuleStatus::error);
  EXPECT_THAT(judging.verdicts()[0].message, HasSubstr("("));
}

TEST_F(RuleRunnerTest, EndsWithTheLastOfSeveralRuns) {
  RuleRunner judging = runner({.needs = every_tensor()});
  judging.on_collections(0, {});
  judging.on_collections(1, {});
  judging.on_step(ObservedStep(0).with_nothing("a").in_run(0).view());
  judging.on_run_end(0);
  EXPECT_TRUE(judging.is_judging());
  judging.on_step(ObservedStep(0).with_nothing("a").in_run(1).view());
  judging.on_run_end(1);
  EXPECT_EQ(judging.verdicts()[0].status, RuleStatus::no_issues_found);
  EXPECT_EQ(notes_.finished, 1);
}

TEST_F(RuleRunnerTest, CountsAStepThatIsSeenTwiceOnce) {
  RuleRunner judging = runner({.needs = every_tensor()});
  judging.on_step(ObservedStep(0)
                      .with_nothing("a")
                      .in_phase(StepPhase::before_update)
                      .view());
  judging.on_step(ObservedStep(0).with_nothing("a").view());
  EXPECT_EQ(judging.verdicts()[0].steps_judged, 1u);
}

TEST_F(RuleRunnerTest, TellsRulesTheTime) {
  RuleRunner judging = runner({});
  judging.on_tick(12.5);
  EXPECT_THAT(notes_.ticks, ElementsAre(12.5));
}

TEST_F(RuleRunnerTest, JudgesNoMoreOnceItWasStopped) {
  RuleRunner judging = runner({.needs = every_tensor(), .fires_at = 1});
  judging.on_step(ObservedStep(0).with_nothing("a").view());
  judging.stop();
  judging.on_step(ObservedStep(1).with_nothing("a").view());
  judging.on_run_end(0);
  const Verdict& verdict = judging.verdicts()[0];
  EXPECT_EQ(verdict.status, RuleStatus::stopped);
  EXPECT_EQ(verdict.message,
            "stopped before the run ended; nothing found in 1 step");
  EXPECT_FALSE(judging.is_judging());
  EXPECT_EQ(notes_.finished, 0);
}

}  // namespace
}  // namespace smdebug
