#include "smdebug/rules/runner.h"

#include <optional>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/engine/step_builder_testing.h"

namespace smdebug {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Notes what it is shown; fires or fails at a step if told so.
class ScriptedRule : public Rule {
 public:
  struct Script {
    RuleNeeds needs;
    std::set<Step> fires_at;
    Step fails_at = -1;
    bool fires_in_the_end = false;
    bool judges = true;
    std::string not_judged = {};
    std::string offender = {};
    std::optional<Step> evidence_from = {};  // none: the evidence has no step
    std::optional<Error::Code> ends_with = {};
    std::uint64_t judges_in_the_end = 0;
    std::optional<StepId> is_about = {};
  };
  struct Notes {
    std::vector<Step> steps;
    std::vector<std::size_t> runs;
    std::vector<std::string> names;
    int finished = 0;
    std::vector<double> ticks;
  };

  ScriptedRule(Script script, Notes& notes)
      : script_(std::move(script)), notes_(notes) {}

  std::string_view name() const override { return "Scripted"; }
  RuleNeeds needs() const override { return script_.needs; }

  Outcome on_step(const RuleStep& step) override {
    notes_.steps.push_back(step.step.global);
    notes_.runs.push_back(step.run);
    for (const auto& selected : step.selected) {
      for (const Observation* observation : selected) {
        notes_.names.emplace_back(observation->name);
        judged_ += script_.judges;
      }
    }
    if (step.step.global == script_.fails_at) {
      return Error{Error::Code::io, "the disk said no"};
    }
    if (script_.fires_at.contains(step.step.global)) return finding();
    return no_finding();
  }

  Outcome on_tick(double wall_seconds) override {
    notes_.ticks.push_back(wall_seconds);
    return no_finding();
  }

  Outcome finish() override {
    ++notes_.finished;
    judged_ += script_.judges_in_the_end;
    if (script_.ends_with) return Error{*script_.ends_with, "nothing to judge"};
    return script_.fires_in_the_end ? Outcome(finding()) : no_finding();
  }

  std::uint64_t observations_judged() const override { return judged_; }

  std::string not_judged() const override { return script_.not_judged; }

 private:
  std::optional<Finding> finding() const {
    Evidence evidence;
    evidence.tensor = script_.offender;
    if (script_.evidence_from) evidence.step.global = *script_.evidence_from;
    Finding finding{"it is so", "it was bad", "do better", {evidence}};
    finding.step = script_.is_about;
    return finding;
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
  judging.on_step(StepBuilder(0).with_nothing("a").view());
  EXPECT_EQ(judging.verdicts()[0].status, RuleStatus::in_progress);
  judging.on_run_end(0);
  EXPECT_EQ(judging.verdicts()[0].status, RuleStatus::no_issues_found);
  EXPECT_EQ(judging.verdicts()[0].steps_judged, 1u);
  EXPECT_EQ(judging.verdicts()[0].observations_judged, 1u);
  EXPECT_FALSE(judging.is_judging());
}

TEST_F(RuleRunnerTest, KnowsWhereInItsStepTheFirstOffenderStands) {
  const auto position = [&](const std::string& offender) {
    RuleRunner judging = runner(
        {.needs = every_tensor(), .fires_at = {0}, .offender = offender});
    judging.on_step(StepBuilder(0)
                        .with_nothing("a")
                        .with_nothing("b")
                        .with_nothing("c")
                        .view());
    return judging.verdicts()[0].position;
  };
  EXPECT_EQ(position("a"), 0u);
  EXPECT_EQ(position("c"), 2u);
  EXPECT_EQ(position("of another step"), std::nullopt);
}

TEST_F(RuleRunnerTest, KeepsWhatARuleFoundAndAsksItNoMore) {
  RuleRunner judging = runner({.needs = every_tensor(), .fires_at = {1}});
  int called = 0;
  judging.set_on_verdict([&](const Verdict& verdict) {
    ++called;
    EXPECT_EQ(verdict.status, RuleStatus::issues_found);
  });
  for (Step step = 0; step < 4; ++step) {
    judging.on_step(StepBuilder(step).with_nothing("a").view());
  }
  judging.on_run_end(0);
  const Verdict& verdict = judging.verdicts()[0];
  EXPECT_EQ(called, 1);
  EXPECT_THAT(notes_.steps, ElementsAre(0, 1));
  EXPECT_EQ(notes_.finished, 0);
  EXPECT_EQ(verdict.rule, "Scripted");
  EXPECT_EQ(verdict.message, "it is so");
  EXPECT_EQ(verdict.cause, "it was bad");
  EXPECT_EQ(verdict.advice, "do better");
  EXPECT_EQ(verdict.step.global, 1);
  EXPECT_EQ(verdict.evidence.size(), 1u);
}

TEST_F(RuleRunnerTest, TakesAnErrorOfARuleForItsVerdict) {
  RuleRunner judging = runner({.needs = every_tensor(), .fails_at = 0});
  judging.on_step(StepBuilder(0).with_nothing("a").view());
  EXPECT_EQ(judging.verdicts()[0].status, RuleStatus::error);
  EXPECT_EQ(judging.verdicts()[0].message, "the disk said no");
}

TEST_F(RuleRunnerTest, LetsARuleFireInTheEnd) {
  RuleRunner judging =
      runner({.needs = every_tensor(), .fires_in_the_end = true});
  judging.on_step(StepBuilder(0).with_nothing("a").view());
  judging.on_run_end(0);
  EXPECT_EQ(judging.verdicts()[0].status, RuleStatus::issues_found);
}

TEST_F(RuleRunnerTest, NamesWhatARuleCouldNotJudge) {
  RuleRunner judging = runner(
      {.needs = every_tensor(), .not_judged = "the loss (none was saved)"});
  judging.on_step(StepBuilder(0).with_nothing("a").view());
  judging.on_run_end(0);
  EXPECT_EQ(judging.verdicts()[0].message,
            "nothing found in 1 step; not judged: the loss (none was saved)");
}

TEST_F(RuleRunnerTest, NeverSaysNoIssueOfTensorsThatWereNotThere) {
  RuleRunner judging = runner({.needs = gradients_and("^grad_norm$")});
  judging.on_step(StepBuilder(0)
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
  EXPECT_EQ(judging.verdicts()[0].observations_found, 0u);
}

TEST_F(RuleRunnerTest, NamesNoTensorThatHasHardlyALetterOfThoseLookedFor) {
  RuleRunner judging = runner({.needs = gradients_and("^grad_norm$")});
  judging.on_step(StepBuilder(0).with_nothing("fc1_output_0").view());
  judging.on_run_end(0);
  EXPECT_THAT(judging.verdicts()[0].message,
              HasSubstr("the run has 1 other tensor"));
}

TEST_F(RuleRunnerTest, DoesNotMissWhatARuleLooksAtOnlyIfItIsSaved) {
  RuleNeeds needs = gradients_and("^a$");
  needs.selectors.push_back(
      {.collections = {"weights"}, .regexes = {}, .if_saved = true});
  RuleRunner judging = runner({.needs = needs});
  judging.on_step(StepBuilder(0).with_nothing("b").view());
  judging.on_run_end(0);
  EXPECT_THAT(judging.verdicts()[0].message,
              HasSubstr("looked for collection 'gradients' or pattern '^a$';"));
}

TEST_F(RuleRunnerTest, SaysThatARunHoldsNothingAtAll) {
  RuleRunner judging = runner({.needs = every_tensor()});
  judging.on_run_end(0);
  EXPECT_EQ(judging.verdicts()[0].status, RuleStatus::error);
  EXPECT_THAT(judging.verdicts()[0].message,
              HasSubstr("the run has no tensor"));
}

TEST_F(RuleRunnerTest, HasFoundNothingWhereTheRuleSaysThatItIsOfAnotherKind) {
  for (const auto code : {Error::Code::not_found, Error::Code::unsupported}) {
    RuleRunner judging =
        runner({.needs = every_tensor(), .judges = false, .ends_with = code});
    judging.on_step(StepBuilder(0).with_nothing("a").view());
    judging.on_run_end(0);
    EXPECT_EQ(judging.verdicts()[0].status, RuleStatus::error);
    EXPECT_EQ(judging.verdicts()[0].observations_found,
              code == Error::Code::not_found ? 1u : 0u);
  }
}

TEST_F(RuleRunnerTest, SaysThatWhatItSelectedCouldNotBeJudged) {
  RuleRunner judging = runner({.needs = every_tensor(), .judges = false});
  judging.on_step(StepBuilder(0).with_nothing("a").with_nothing("b").view());
  judging.on_run_end(0);
  EXPECT_EQ(judging.verdicts()[0].status, RuleStatus::error);
  EXPECT_THAT(judging.verdicts()[0].message,
              HasSubstr("looked for any tensor; found tensors, but none in a "
                        "form that the rule can use"));
  EXPECT_EQ(judging.verdicts()[0].observations_found, 2u);
  EXPECT_EQ(judging.verdicts()[0].observations_judged, 0u);
}

TEST_F(RuleRunnerTest, ShowsARuleOnlyWhatItsSelectorsTake) {
  RuleRunner judging = runner({.needs = gradients_and("_output_0$")});
  const std::vector<TensorGroup> groups = {
      {"gradients", {"^gradient/"}, {"late_gradient"}}, {"losses", {"x"}, {}}};
  judging.on_collections(0, groups);
  judging.on_step(StepBuilder(0)
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
  judging.on_step(StepBuilder(0).with_nothing("a").view());
  EXPECT_TRUE(notes_.names.empty());
  judging.on_collections(0, std::vector<TensorGroup>{{"gradients", {}, {"a"}}});
  judging.on_step(StepBuilder(1).with_nothing("a").view());
  EXPECT_THAT(notes_.names, ElementsAre("a"));
}

TEST_F(RuleRunnerTest, TakesABadPatternForAnErrorOfTheRule) {
  RuleRunner judging = runner({.needs = gradients_and("(")});
  judging.on_step(StepBuilder(0).with_nothing("a").view());
  EXPECT_EQ(judging.verdicts()[0].status, RuleStatus::error);
  EXPECT_THAT(judging.verdicts()[0].message, HasSubstr("("));
}

TEST_F(RuleRunnerTest, EndsWithTheLastOfSeveralRuns) {
  RuleRunner judging = runner({.needs = every_tensor()});
  judging.on_collections(0, {});
  judging.on_collections(1, {});
  judging.on_step(StepBuilder(0).with_nothing("a").in_run(0).view());
  judging.on_run_end(0);
  EXPECT_TRUE(judging.is_judging());
  judging.on_step(StepBuilder(0).with_nothing("a").in_run(1).view());
  judging.on_run_end(1);
  EXPECT_EQ(judging.verdicts()[0].status, RuleStatus::no_issues_found);
  EXPECT_EQ(notes_.finished, 1);
}

TEST_F(RuleRunnerTest, DatesAFindingOfTheEndByItsEvidence) {
  for (const auto& [from, dated] :
       {std::pair<std::optional<Step>, Step>{1, 1}, {std::nullopt, 2}}) {
    RuleRunner judging = runner({.needs = every_tensor(),
                                 .fires_in_the_end = true,
                                 .evidence_from = from});
    judging.on_collections(0, {});
    for (Step step = 0; step < 3; ++step)
      judging.on_step(StepBuilder(step).with_nothing("a").view());
    judging.on_run_end(0);
    EXPECT_EQ(judging.verdicts()[0].status, RuleStatus::issues_found);
    EXPECT_EQ(judging.verdicts()[0].step.global, dated);
  }
}

TEST_F(RuleRunnerTest, DatesAFindingByTheStepThatItIsAbout) {
  RuleRunner judging = runner({.needs = every_tensor(),
                               .fires_at = {2},
                               .is_about = StepId{1, Mode::train, 1}});
  for (Step step = 0; step < 3; ++step)
    judging.on_step(StepBuilder(step).with_nothing("a").view());
  EXPECT_EQ(judging.verdicts()[0].step.global, 1);
}

TEST_F(RuleRunnerTest, ShowsOtherRunsOnlyToTheRulesThatAskedForThem) {
  ScriptedRule::Notes asked, not_asked;
  RuleNeeds with_others = every_tensor();
  with_others.other_runs = {"b", "c"};
  RuleNeeds with_one = every_tensor();
  with_one.other_runs = {"a", "b"};
  ScriptedRule::Notes first;
  std::vector<std::unique_ptr<Rule>> rules;
  rules.push_back(std::make_unique<ScriptedRule>(
      ScriptedRule::Script{.needs = with_one}, first));
  rules.push_back(std::make_unique<ScriptedRule>(
      ScriptedRule::Script{.needs = with_others}, asked));
  rules.push_back(std::make_unique<ScriptedRule>(
      ScriptedRule::Script{.needs = every_tensor()}, not_asked));
  RuleRunner judging(std::move(rules));
  EXPECT_THAT(judging.other_runs(), ElementsAre("a", "b", "c"));
  for (std::size_t run = 0; run <= 3; ++run) {
    judging.on_step(
        StepBuilder(Step(10 + run)).with_nothing("w").in_run(run).view());
  }
  EXPECT_THAT(first.steps, ElementsAre(10, 11, 12));
  EXPECT_THAT(asked.steps, ElementsAre(10, 12, 13));
  EXPECT_THAT(asked.runs, ElementsAre(0u, 1u, 2u));  // the rule's own numbers
  EXPECT_THAT(not_asked.steps, ElementsAre(10));
  EXPECT_NE(judging.data_need(3, "w"), ObservationSink::DataNeed::none);
  EXPECT_EQ(judging.data_need(4, "w"), ObservationSink::DataNeed::none);
}

TEST_F(RuleRunnerTest, CountsAStepThatIsSeenTwiceOnce) {
  RuleRunner judging = runner({.needs = every_tensor()});
  judging.on_step(StepBuilder(0)
                      .with_nothing("a")
                      .in_phase(StepPhase::before_update)
                      .view());
  judging.on_step(StepBuilder(0).with_nothing("a").view());
  EXPECT_EQ(judging.verdicts()[0].steps_judged, 1u);
}

TEST_F(RuleRunnerTest, ShowsARuleEachObservationOfARunningStepOnce) {
  RuleRunner judging = runner({.needs = every_tensor()});
  StepBuilder step(0);
  judging.on_step(
      step.with_nothing("early").in_phase(StepPhase::before_update).view());
  EXPECT_THAT(notes_.names, ElementsAre("early"));
  judging.on_step(
      step.with_nothing("late").in_phase(StepPhase::complete).view());
  EXPECT_THAT(notes_.names, ElementsAre("early", "late"));
  judging.on_step(StepBuilder(1).with_nothing("next").view());
  EXPECT_THAT(notes_.names, ElementsAre("early", "late", "next"));
  EXPECT_EQ(judging.verdicts()[0].steps_judged, 2u);
}

TEST_F(RuleRunnerTest, WaitsForTheEndOfTheStepWhereARoleIsMissing) {
  RuleNeeds needs;
  needs.selectors = {{.collections = {}, .regexes = {"labels"}},
                     {.collections = {}, .regexes = {"predictions"}}};
  RuleRunner judging = runner({.needs = needs});
  StepBuilder step(0);
  judging.on_step(
      step.with_nothing("labels").in_phase(StepPhase::before_update).view());
  EXPECT_THAT(notes_.names, IsEmpty());
  judging.on_step(
      step.with_nothing("predictions").in_phase(StepPhase::complete).view());
  EXPECT_THAT(notes_.names, ElementsAre("labels", "predictions"));
}

TEST_F(RuleRunnerTest, AsksARuleThatFiredAgainWhereEachFindingIsToBeTold) {
  RuleRunner judging = runner({.needs = every_tensor(), .fires_at = {1, 3}});
  std::vector<Step> found;
  judging.set_on_finding(
      [&](const Verdict& finding) { found.push_back(finding.step.global); });
  for (Step step = 0; step < 5; ++step)
    judging.on_step(StepBuilder(step).with_nothing("a").view());
  EXPECT_THAT(found, ElementsAre(1, 3));
  EXPECT_EQ(judging.verdicts()[0].step.global, 1);
  EXPECT_EQ(judging.verdicts()[0].steps_judged, 5u);
  judging.on_run_end(0);
  EXPECT_EQ(judging.verdicts()[0].status, RuleStatus::issues_found);
}

TEST_F(RuleRunnerTest, IsInterestedInWhatItsRulesStillLookAt) {
  using DataNeed = ObservationSink::DataNeed;
  RuleNeeds values;
  values.selectors = {{.collections = {}, .regexes = {"^labels"}}};
  values.depth = RuleNeeds::Depth::values;
  RuleRunner judging = runner({.needs = values, .fires_at = {0}});
  EXPECT_EQ(judging.data_need(0, "labels_0"), DataNeed::values);
  EXPECT_EQ(judging.data_need(0, "weight"), DataNeed::none);
  judging.on_step(StepBuilder(0).with_nothing("labels_0").view());
  EXPECT_EQ(judging.data_need(0, "labels_0"), DataNeed::none);
  EXPECT_EQ(runner({.needs = every_tensor()}).data_need(0, "weight"),
            DataNeed::statistics);
}

// Judges a series at its step 7.
class SeriesRule : public Rule {
 public:
  std::string_view name() const override { return "Series"; }
  RuleNeeds needs() const override { return {}; }
  Outcome on_scalars(std::string_view,
                     std::span<const ScalarSeriesView> series) override {
    for (const ScalarSample& sample : series.front().samples) {
      if (sample.step.global == 7) count_judged();
    }
    return no_finding();
  }
  Outcome on_step(const RuleStep&) override { return no_finding(); }
};

TEST_F(RuleRunnerTest, CountsTheStepsOfASeriesHoweverManyArriveAtOnce) {
  std::vector<ScalarSample> samples;
  for (Step step = 0; step < 12; ++step) {
    samples.push_back({{step, Mode::train, step}, 1.0});
  }
  for (const std::size_t at_once : {1u, 5u, 12u}) {
    std::vector<std::unique_ptr<Rule>> rules;
    rules.push_back(std::make_unique<SeriesRule>());
    RuleRunner judging(std::move(rules));
    for (std::size_t first = 0; first < samples.size(); first += at_once) {
      const std::size_t count = std::min(at_once, samples.size() - first);
      const ScalarSeriesView series[] = {
          {"loss", std::span(samples).subspan(first, count)}};
      judging.on_scalars(0, "worker_0", series);
    }
    EXPECT_EQ(judging.verdicts()[0].steps_judged, 12u) << at_once;
  }
}

TEST_F(RuleRunnerTest, CountsNoStepsForARuleThatJudgesTheFactsAlone) {
  RuleRunner judging =
      runner({.needs = every_tensor(), .judges_in_the_end = 1});
  judging.on_run_end(0);
  EXPECT_EQ(judging.verdicts()[0].status, RuleStatus::no_issues_found);
  EXPECT_EQ(judging.verdicts()[0].message,
            "nothing found at the end of the run");
}

TEST_F(RuleRunnerTest, TellsRulesTheTime) {
  RuleRunner judging = runner({});
  judging.on_tick(12.5);
  EXPECT_THAT(notes_.ticks, ElementsAre(12.5));
}

TEST_F(RuleRunnerTest, JudgesNoMoreOnceItWasStopped) {
  RuleRunner judging = runner({.needs = every_tensor(), .fires_at = {1}});
  judging.on_step(StepBuilder(0).with_nothing("a").view());
  judging.stop();
  judging.on_step(StepBuilder(1).with_nothing("a").view());
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
