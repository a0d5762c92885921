#include "smdebug/report/run_summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace smdebug {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

RunSummary stopped() {
  RunOverview overview;
  overview.location = "/runs/a";
  overview.steps = 5;
  overview.modes = {{Mode::train, 4, 0, 30}, {Mode::eval, 1, 0, 0}};
  overview.losses = {{"Loss_output_0", Mode::train, 4, 2.25, 0.5}};
  overview.attempt = RunOverview::Attempt{};
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

TEST(RunSummary, TellsHowTheTrainingWent) {
  EXPECT_EQ(run_summary_text(stopped()),
            "smdebug\n"
            "  training  stopped after 4.5 s, because VanishingGradient fired\n"
            "  steps     5 saved steps, TRAIN 0 to 30, EVAL 0 to 0\n"
            "  loss      Loss_output_0 from 2.25 to 0.5 (TRAIN)\n"
            "  cost      20 ms in 31 steps, 0.5 % of 4 s\n"
            "  dropped   2 tensors\n"
            "  rule      VanishingGradient: IssuesFound\n"
            "              gradient/a: too small\n"
            "              for long\n"
            "  run       /runs/a\n"
            "  open it   from smdebug.trials import create_trial\n"
            "            trial = create_trial(\"/runs/a\")\n");
}

TEST(RunSummary, TellsDefaultRulesThatHadNothingToJudgeTogether) {
  RunSummary summary = stopped();
  for (const char* rule : {"NLPSequenceRatio", "CheckInputImages"}) {
    Verdict verdict;
    verdict.rule = rule;
    verdict.status = RuleStatus::error;
    verdict.message = "nothing to judge: no such tensor";
    summary.verdicts.push_back(verdict);
  }
  EXPECT_THAT(run_summary_text(summary), HasSubstr("nothing to judge"))
      << "of rules that were asked for";
  summary.has_default_rules = true;
  EXPECT_THAT(
      run_summary_text(summary),
      AllOf(HasSubstr("  rule      VanishingGradient: IssuesFound\n"),
            HasSubstr(
                "  no data   NLPSequenceRatio, CheckInputImages\n              "
                "the run has no tensors for these rules; 'smdebug check RUN "
                "--rule NAME' shows which tensors a rule needs\n"),
            Not(HasSubstr("nothing to judge"))));

  summary.verdicts.back().observations_found = 3;
  summary.verdicts.back().message = "nothing to judge: 3 images of one kind";
  EXPECT_THAT(
      run_summary_text(summary),
      AllOf(HasSubstr("  no data     NLPSequenceRatio\n"),
            HasSubstr("  too little  CheckInputImages\n"
                      "                nothing to judge: 3 images of one "
                      "kind\n")))
      << "of one that found tensors, but too few";
}

TEST(RunSummary, NamesTheFirstOfSeveralRulesAsTheLikelyCause) {
  RunSummary summary = stopped();
  summary.verdicts[0].step.global = 9;
  Verdict earlier = summary.verdicts[0];
  earlier.rule = "ExplodingTensor";
  earlier.step.global = 7;
  summary.verdicts.push_back(earlier);
  EXPECT_THAT(run_summary_text(summary),
              HasSubstr("  cause     ExplodingTensor at step 7, the first of 2 "
                        "rules that fired\n"));
  EXPECT_THAT(run_summary_json(summary),
              HasSubstr("\"likely_cause\": {\n    \"rule\": "
                        "\"ExplodingTensor\""));
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
  summary.problem = "nothing was recorded";
  EXPECT_THAT(run_summary_text(summary),
              AllOf(HasSubstr("problem   nothing was recorded"),
                    Not(HasSubstr("rule")), Not(HasSubstr("create_trial"))));
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
      AllOf(HasSubstr("  action    stop: done: it ended\n"),
            HasSubstr("  action    webhook http://h/…: failed: answered "
                      "500\\x1b\n"),
            HasSubstr("  action    email a@b.de: not repeated: done before")));
  EXPECT_THAT(run_summary_json(summary),
              AllOf(HasSubstr(R"("target": "a@b.de")"),
                    HasSubstr(R"("status": "not_repeated")")));
}

}  // namespace
}  // namespace smdebug
