#include "smdebug/report/run_summary.h"

#include <algorithm>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace smdebug {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

RunSummary stopped() {
  RunOverview overview;
  overview.location = "/runs/a";
  overview.steps = 5;
  overview.modes = {{Mode::train, 4, 0, 30}, {Mode::eval, 1, 0, 0}};
  overview.losses = {{"Loss_output_0", Mode::train, 4, 2.25, 0.5}};
  overview.attempt = Attempt{};
  overview.attempt->cost = {
      {"step_thread_seconds", 0.02}, {"run_seconds", 4}, {"steps", 31}};
  overview.dropped_tensors = 2;
  RunSummary summary;
  summary.command = {"python", "train.py"};
  summary.seconds = 4.5;
  summary.exit_code = 143;
  summary.signal = 15;
  summary.stopped_by = "VanishingGradient";
  summary.location = overview.location;
  summary.overview = overview;
  summary.verdicts.emplace_back();
  summary.verdicts[0].rule = "VanishingGradient";
  summary.verdicts[0].status = RuleStatus::issues_found;
  summary.verdicts[0].message = "gradient/a: too small\nfor long";
  return summary;
}

Verdict unjudged(const std::string& rule, std::uint64_t found) {
  Verdict verdict;
  verdict.rule = rule;
  verdict.status = RuleStatus::error;
  verdict.lacks_data = true;
  verdict.observations_found = found;
  verdict.message = "nothing to judge: looked for pattern '(?<![Pp])'";
  return verdict;
}

long lines_in(const std::string& text) {
  return std::ranges::count(text, '\n');
}

TEST(RunSummary, TellsHowTheTrainingWent) {
  EXPECT_EQ(run_summary_text(stopped()),
            "smdebug: VanishingGradient fired\n"
            "  training  stopped after 4.5 s, because VanishingGradient fired\n"
            "  steps     5 saved steps, TRAIN 0 to 30, EVAL 0 to 0\n"
            "  loss      Loss_output_0 from 2.25 to 0.5 (TRAIN)\n"
            "  dropped   2 tensors\n"
            "  found     VanishingGradient: gradient/a: too small for long\n"
            "  run       /runs/a\n"
            "  open it   from smdebug.trials import create_trial; trial = "
            "create_trial(\"/runs/a\")\n");
}

TEST(RunSummary, NeverNamesADefaultRuleThatDoesNotApply) {
  RunSummary summary = stopped();
  summary.verdicts.push_back(unjudged("TreeDepth", 0));
  summary.verdicts.push_back(unjudged("CheckInputImages", 3));
  EXPECT_THAT(run_summary_text(summary), HasSubstr("TreeDepth: nothing"))
      << "of rules that were asked for";
  summary.has_default_rules = true;
  EXPECT_THAT(run_summary_text(summary),
              AllOf(Not(HasSubstr("TreeDepth")),
                    HasSubstr("  too little  CheckInputImages: ")));
  summary.detail = Detail::verbose;
  EXPECT_THAT(run_summary_text(summary),
              HasSubstr("TreeDepth: Error: nothing to judge"));
}

// A run with more of everything than fits.
RunSummary crowded() {
  RunSummary summary = stopped();
  summary.overview->damage = {{"index/0", "torn"}, {"index/1", "torn"}};
  for (const char* name : {"a", "b", "c", "d"}) {
    summary.overview->losses.push_back({name, Mode::train, 4, 2, 1});
    summary.actions.push_back(
        {"VanishingGradient", "email", name, ActionStatus::done, "sent"});
    summary.verdicts.push_back(unjudged(name, 3));
    Verdict failed;
    failed.rule = std::string("Own") + name;
    failed.status = RuleStatus::error;
    summary.verdicts.push_back(failed);
  }
  summary.problem = "the disk is full";
  return summary;
}

TEST(RunSummary, NamesARuleWithTooLittleDataBesideAdvice) {
  RunSummary summary = stopped();
  summary.has_default_rules = true;
  summary.overview->dropped_tensors = 0;
  summary.verdicts[0].severity = Severity::advice;
  summary.verdicts[0].advice = "start it again";
  summary.verdicts.push_back(unjudged("CheckInputImages", 3));
  summary.verdicts.emplace_back();
  summary.verdicts.back().rule = "DeadRelu";
  summary.verdicts.back().status = RuleStatus::no_issues_found;
  const std::string text = run_summary_text(summary);
  EXPECT_THAT(text, HasSubstr("  too little  CheckInputImages: "));
  EXPECT_LE(lines_in(text), 8) << text;
}

TEST(RunSummary, ShowsTheCostIfNothingWasFound) {
  RunSummary summary = stopped();
  EXPECT_THAT(run_summary_text(summary), Not(HasSubstr("cost")));
  summary.verdicts[0].status = RuleStatus::no_issues_found;
  EXPECT_THAT(run_summary_text(summary),
              HasSubstr("  cost      20 ms in 31 steps, 0.5 % of the 4 s since "
                        "its first step\n"));
}

TEST(RunSummary, TakesEightLinesForOneFindingWithAllItsParts) {
  RunSummary summary = stopped();
  summary.overview->dropped_tensors = 0;
  summary.verdicts[0].cause = "a deep stack of sigmoids";
  summary.verdicts[0].advice = "use ReLU";
  summary.verdicts.push_back(unjudged("Overfit", 3));
  EXPECT_EQ(lines_in(run_summary_text(summary)), 8);
  EXPECT_THAT(run_summary_text(summary),
              AllOf(HasSubstr("  try         use ReLU\n"),
                    HasSubstr("  run         /runs/a\n")));
}

TEST(RunSummary, FitsElevenLinesTogetherWithWhatWasPrintedBefore) {
  RunSummary summary = stopped();
  summary.stopped_by.clear();
  summary.exit_code = 0;
  summary.signal.reset();
  summary.overview->dropped_tensors = 0;
  summary.verdicts[0].cause = "a deep stack of sigmoids";
  summary.verdicts[0].advice = "use ReLU";
  for (const int before : {3, 4, 5}) {
    summary.lines_before = static_cast<std::size_t>(before);
    EXPECT_EQ(lines_in(run_summary_text(summary)), 11 - before);
  }
  summary.lines_before = 100;
  EXPECT_EQ(run_summary_text(summary),
            "smdebug: VanishingGradient fired\n"
            "  training  ended after 4.5 s with exit code 0\n"
            "  found     VanishingGradient: gradient/a: too small for long\n"
            "  cause     likely a deep stack of sigmoids\n"
            "  try       use ReLU\n"
            "  run       /runs/a\n");
}

TEST(RunSummary, KeepsProblemsHoweverMuchWasPrintedBefore) {
  RunSummary summary = stopped();
  summary.lines_before = 100;
  EXPECT_THAT(run_summary_text(summary),
              AllOf(HasSubstr("stopped after 4.5 s"), HasSubstr("  dropped ")));
}

TEST(RunSummary, PrefersTheCostToMoreLosses) {
  RunSummary summary = stopped();
  summary.verdicts[0].status = RuleStatus::no_issues_found;
  for (const char* name : {"a", "b", "c", "d"})
    summary.overview->losses.push_back({name, Mode::train, 4, 2, 1});
  const std::string text = run_summary_text(summary);
  EXPECT_THAT(text, AllOf(HasSubstr("  cost "), HasSubstr("a from 2 to 1"),
                          Not(HasSubstr("d from 2 to 1"))));
}

TEST(RunSummary, KeepsALossThatIsNotFiniteAmongManyLines) {
  RunSummary summary = crowded();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const char* name : {"eval_a", "eval_b"})
    summary.overview->losses.push_back({name, Mode::eval, 4, 2, nan});
  const std::string text = run_summary_text(summary);
  EXPECT_THAT(text, AllOf(HasSubstr("eval_a from 2 to nan (EVAL)"),
                          Not(HasSubstr("eval_b"))));
  EXPECT_LE(lines_in(text), 12);
}

TEST(RunSummary, FitsTenLinesWithoutAFindingAndTwelveWithFindings) {
  RunSummary summary = crowded();
  for (const char* rule : {"A", "B", "C", "D"}) {
    summary.verdicts.push_back(summary.verdicts.front());
    summary.verdicts.back().rule = rule;
    summary.verdicts.back().advice = "train longer";
  }
  EXPECT_LE(lines_in(run_summary_text(summary)), 12);
  EXPECT_THAT(run_summary_text(summary),
              AllOf(HasSubstr("smdebug: 5 rules fired"),
                    HasSubstr("the disk is full")));
  for (Verdict& verdict : summary.verdicts) {
    if (verdict.status == RuleStatus::issues_found) {
      verdict.status = RuleStatus::no_issues_found;
    }
  }
  for (const bool has_default_rules : {false, true}) {
    summary.has_default_rules = has_default_rules;
    EXPECT_LE(lines_in(run_summary_text(summary)), 10);
  }
}

TEST(RunSummary, PrintsNothingInQuietUnlessThereIsSomethingToReport) {
  RunSummary summary = stopped();
  summary.detail = Detail::quiet;
  EXPECT_THAT(run_summary_text(summary), HasSubstr("VanishingGradient"));
  summary.verdicts[0].status = RuleStatus::no_issues_found;
  EXPECT_EQ(run_summary_text(summary), "");
  summary.problem = "nothing was recorded";
  EXPECT_THAT(run_summary_text(summary), HasSubstr("nothing was recorded"));
}

TEST(RunSummary, NeverSaysNothingFoundIfNoRuleJudged) {
  RunSummary summary = stopped();
  summary.has_default_rules = true;
  summary.verdicts = {unjudged("TreeDepth", 0)};
  EXPECT_THAT(run_summary_text(summary), Not(HasSubstr("nothing found")));
}

TEST(RunSummary, NamesTheFindingThatExplainsTheOthers) {
  RunSummary summary = stopped();
  summary.verdicts[0].step.global = 9;
  Verdict earlier = summary.verdicts[0];
  earlier.rule = "SaturatedActivation";
  earlier.step.global = 7;
  summary.verdicts.push_back(earlier);
  EXPECT_THAT(
      run_summary_text(summary),
      HasSubstr("  found     SaturatedActivation: gradient/a: too small "
                "for long\n"
                "            also: VanishingGradient at step 9\n"));
  EXPECT_THAT(run_summary_json(summary),
              HasSubstr("\"likely_cause\": {\n    \"rule\": "
                        "\"SaturatedActivation\""));
  EXPECT_THAT(run_summary_json(summary),
              HasSubstr("\"diagnosis\": [\n    {\n      \"cause\": {\n"));
}

TEST(RunSummary, TellsHowATrainingEndedByItself) {
  RunSummary summary = stopped();
  summary.stopped_by.clear();
  EXPECT_THAT(run_summary_text(summary), HasSubstr("ended by signal 15"));
  summary.was_interrupted = true;
  EXPECT_THAT(run_summary_text(summary), HasSubstr("interrupted after 4.5 s"));
  summary.was_interrupted = false;
  summary.signal.reset();
  summary.exit_code = 2;
  EXPECT_THAT(run_summary_text(summary), HasSubstr("with exit code 2"));
}

TEST(RunSummary, SaysOneThingWhereNothingWasRecorded) {
  RunSummary summary = stopped();
  summary.overview.reset();
  summary.problem = "the program failed";
  EXPECT_THAT(
      run_summary_text(summary),
      AllOf(HasSubstr("problem   the program failed"),
            HasSubstr("smdebug: nothing was recorded\n"),
            Not(HasSubstr("fired\n  found")), Not(HasSubstr("create_trial"))));
}

TEST(RunSummary, SaysThatTheRecordingFailedBeforeWhatTheRulesFound) {
  RunSummary summary = stopped();
  summary.overview->recording_failure = "the disk is full";
  summary.exit_code = 0;
  summary.signal.reset();
  EXPECT_THAT(run_summary_text(summary),
              StartsWith("smdebug: the recording failed; VanishingGradient"));
  summary.verdicts[0].status = RuleStatus::no_issues_found;
  EXPECT_THAT(
      run_summary_text(summary),
      StartsWith("smdebug: the recording failed; no rule fired before\n"));
}

TEST(RunSummary, HoldsThePageInItsJson) {
  EXPECT_THAT(
      run_summary_json(stopped()),
      AllOf(HasSubstr(R"("stopped_by": "VanishingGradient")"),
            HasSubstr(R"("signal": 15)"), HasSubstr(R"("dropped_tensors": 2)"),
            HasSubstr(R"("step_thread_seconds": 0.02)")));
}

TEST(RunSummary, TellsWhatWasDone) {
  RunSummary summary = stopped();
  summary.actions = {
      {"VanishingGradient", "stop", "", ActionStatus::done, "it ended"},
      {"VanishingGradient", "webhook", "http://h/…", ActionStatus::failed,
       "answered 500\x1b"},
      {"VanishingGradient", "email", "a@b.de", ActionStatus::not_repeated,
       "done before"}};
  EXPECT_THAT(
      run_summary_text(summary),
      AllOf(HasSubstr("  action    webhook http://h/…: failed: answered "
                      "500\\x1b\n"),
            HasSubstr("            email a@b.de: not repeated: done before"),
            Not(HasSubstr("stop: done"))))
      << "the line of the training says that it was stopped";
  summary.detail = Detail::verbose;
  EXPECT_THAT(run_summary_text(summary),
              HasSubstr("  action    stop: done: it ended\n"));
  EXPECT_THAT(run_summary_json(summary),
              AllOf(HasSubstr(R"("target": "a@b.de")"),
                    HasSubstr(R"("status": "not_repeated")")));
}

}  // namespace
}  // namespace smdebug
