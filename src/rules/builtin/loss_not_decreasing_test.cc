#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/engine/rule_harness_testing.h"

namespace smdebug {
namespace {

using testing::HasSubstr;

StepBuilder loss_at(Step step, double value) {
  return StepBuilder(step).with_scalar("Loss_output_0", value);
}

TEST(LossNotDecreasing, ComparesTheStepsOfTheDocumentedExample) {
  // Saved every 3 steps, num_steps 10: 21 against 9, then 33 against 21. The
  // loss halves at every save, so only a wrong pair of steps could fire.
  const auto halved = [](Step step) { return std::ldexp(1.0, -int(step) / 3); };

  RuleHarness until_21("LossNotDecreasing");
  for (Step step = 9; step < 21; step += 3) {
    EXPECT_FALSE(until_21.fires_at(loss_at(step, 5.0))) << step;
  }
  EXPECT_TRUE(until_21.fires_at(loss_at(21, 5.0)));
  EXPECT_THAT(until_21.verdict().message, HasSubstr("12 steps before"));

  RuleHarness until_33("LossNotDecreasing");
  for (Step step = 9; step <= 21; step += 3) {
    EXPECT_FALSE(until_33.fires_at(loss_at(step, halved(step)))) << step;
  }
  for (Step step = 24; step < 33; step += 3) {
    EXPECT_FALSE(until_33.fires_at(loss_at(step, halved(21)))) << step;
  }
  EXPECT_TRUE(until_33.fires_at(loss_at(33, halved(21))));
}

// Feeds a loss of `before` and, 10 steps later, of `now`.
bool fires_from_to(double before, double now,
                   const std::map<std::string, std::string>& given = {}) {
  RuleHarness rule("LossNotDecreasing", given);
  rule.fires_at(loss_at(0, before));
  return rule.fires_at(loss_at(10, now));
}

TEST(LossNotDecreasing, FiresOnALossThatFallsByTooLittle) {
  EXPECT_TRUE(fires_from_to(100, 100));
  EXPECT_TRUE(fires_from_to(100, 99.95));
  EXPECT_FALSE(fires_from_to(100, 99.5));
  EXPECT_TRUE(fires_from_to(100, 99.5, {{"diff_percent", "1"}}));
  EXPECT_TRUE(fires_from_to(-100, -100));
  EXPECT_FALSE(fires_from_to(-100, -101));
}

TEST(LossNotDecreasing, LetsALossRiseByALittle) {
  EXPECT_FALSE(fires_from_to(100, 104));
  EXPECT_TRUE(fires_from_to(100, 106));
  EXPECT_FALSE(fires_from_to(100, 106, {{"increase_threshold_percent", "7"}}));
  EXPECT_FALSE(fires_from_to(-100, -96));
  EXPECT_TRUE(fires_from_to(-100, -94));
}

TEST(LossNotDecreasing, WritesALargeRiseInFull) {
  RuleHarness rule("LossNotDecreasing");
  rule.fires_at(loss_at(0, 1));
  EXPECT_TRUE(rule.fires_at(loss_at(10, 4.89)));
  EXPECT_THAT(rule.verdict().message, HasSubstr("is 389 % above 1 "));
}

TEST(LossNotDecreasing, DoesNotLetItRiseWhereItIsStrict) {
  EXPECT_TRUE(fires_from_to(100, 104, {{"strict", "true"}}));
  EXPECT_FALSE(fires_from_to(100, 99, {{"strict", "true"}}));
}

TEST(LossNotDecreasing, TakesALossThatStaysAtZeroForStuck) {
  EXPECT_TRUE(fires_from_to(0, 0));
  EXPECT_TRUE(fires_from_to(0, 1));
  EXPECT_FALSE(fires_from_to(0, -1));
}

TEST(LossNotDecreasing, FiresAtOnceOnALossThatIsNan) {
  RuleHarness rule("LossNotDecreasing");
  EXPECT_TRUE(rule.fires_at(loss_at(3, std::nan(""))));
  EXPECT_THAT(rule.verdict().message, HasSubstr("the loss is not finite"));
}

TEST(LossNotDecreasing, JudgesTrainingStepsUnlessAskedForOthers) {
  const auto feed = [](RuleHarness& rule, Mode mode) {
    rule.fires_at(StepBuilder({0, mode, 0}).with_scalar("Loss_output_0", 1.0));
    return rule.fires_at(
        StepBuilder({10, mode, 10}).with_scalar("Loss_output_0", 1.0));
  };
  RuleHarness plain("LossNotDecreasing");
  EXPECT_FALSE(feed(plain, Mode::eval));
  RuleHarness without_modes("LossNotDecreasing");
  EXPECT_TRUE(feed(without_modes, Mode::global));
  RuleHarness eval("LossNotDecreasing", {{"mode", "eval"}});
  EXPECT_TRUE(feed(eval, Mode::eval));
  RuleHarness global("LossNotDecreasing", {{"mode", "GLOBAL"}});
  EXPECT_TRUE(feed(global, Mode::eval));
}

TEST(LossNotDecreasing, CountsStepsOfItsMode) {
  RuleHarness rule("LossNotDecreasing");
  rule.fires_at(StepBuilder({0, Mode::train, 0}).with_scalar("Loss", 1.0));
  EXPECT_FALSE(
      rule.fires_at(StepBuilder({90, Mode::train, 9}).with_scalar("Loss", 1)));
  EXPECT_TRUE(
      rule.fires_at(StepBuilder({95, Mode::train, 10}).with_scalar("Loss", 1)));
}

TEST(LossNotDecreasing, KeepsTheLossesOfTwoWorkersApart) {
  RuleHarness rule("LossNotDecreasing");
  rule.fires_at(StepBuilder(0)
                    .with_scalar("Loss", 2.0)
                    .from_worker("worker_0")
                    .with_scalar("Loss", 9.0)
                    .from_worker("worker_1"));
  EXPECT_TRUE(rule.fires_at(StepBuilder(10)
                                .with_scalar("Loss", 1.0)
                                .from_worker("worker_0")
                                .with_scalar("Loss", 9.0)
                                .from_worker("worker_1")));
  ASSERT_EQ(rule.verdict().evidence.size(), 1u);
  EXPECT_EQ(rule.verdict().evidence.front().worker, "worker_1");
  EXPECT_THAT(rule.verdict().message, HasSubstr("Loss (worker_1):"));
}

TEST(LossNotDecreasing, SkipsALossOfSeveralElementsUnlessAskedForItsMean) {
  TensorStatistics statistics;
  statistics.count = 4;
  statistics.mean = statistics.min = statistics.max = 1;
  statistics.sum_abs = statistics.sum_squares = 4;
  for (const bool use_mean : {false, true}) {
    RuleHarness rule("LossNotDecreasing",
                     {{"use_mean", use_mean ? "true" : "false"}});
    rule.fires_at(StepBuilder(0).with_statistics("Loss", statistics));
    EXPECT_EQ(
        rule.fires_at(StepBuilder(10).with_statistics("Loss", statistics)),
        use_mean);
  }
}

TEST(LossNotDecreasing, AveragesAgainstTheNoiseOfSmallBatches) {
  // 1.0 and 1.2 in turn, falling by 0.01 per save: single losses rise by 20 %,
  // their averages fall.
  RuleHarness single("LossNotDecreasing");
  RuleHarness averaged("LossNotDecreasing", {{"average", "2"}});
  bool single_fired = false;
  for (Step i = 0; i < 20; ++i) {
    const double value = 2.0 - 0.01 * double(i) + (i % 2 ? 0.2 : 0.0);
    single_fired |= single.fires_at(loss_at(10 * i, value));
    EXPECT_FALSE(averaged.fires_at(loss_at(10 * i, value))) << i;
  }
  EXPECT_TRUE(single_fired);
}

TEST(LossNotDecreasing, ReadsALossFromValues) {
  RuleHarness rule("LossNotDecreasing");
  rule.fires_at(StepBuilder(0).with_values("Loss", {2.0f}, {}));
  EXPECT_TRUE(rule.fires_at(StepBuilder(10).with_values("Loss", {2.0f}, {})));
}

TEST(LossNotDecreasing, RefusesToJudgeNothing) {
  const auto rule =
      make_builtin_rule("LossNotDecreasing", {{"use_losses_collection", "no"}});
  ASSERT_FALSE(rule.ok());
  EXPECT_EQ(rule.error().code, Error::Code::invalid_config);
}

TEST(LossNotDecreasing, FiresForALossThatStandsStillWhateverItsMeanRoundsTo) {
  // 30 times 0.1 / 30, added up, is above 0.1 for some of these.
  for (const double loss : {0.1, 0.6563956, 0.6638, 1.1, 3.3}) {
    RuleHarness rule(
        "LossNotDecreasing",
        {{"average", "100"}, {"num_steps", "200"}, {"diff_percent", "0.0001"}});
    bool fired = false;
    for (Step step = 0; step <= 200; step += 10) {
      fired |= rule.fires_at(StepBuilder(step).with_scalar("Loss", loss));
    }
    EXPECT_TRUE(fired) << loss;
  }
}

TEST(LossNotDecreasing,
     ComparesInEachPresetIfAParameterOfTheComparisonIsGiven) {
  for (const char* given : {"num_steps", "average"}) {
    RuleHarness rule("LossNotDecreasing", {{"preset", "tuned"}, {given, "10"}});
    EXPECT_FALSE(rule.fires_at(StepBuilder(0).with_scalar("Loss", 2.0)));
    EXPECT_TRUE(rule.fires_at(StepBuilder(10).with_scalar("Loss", 2.0)))
        << given;
  }
}

TEST(LossNotDecreasing, RefusesAParameterThatDoesNotApplyToTheTrend) {
  const auto rule = make_builtin_rule("LossNotDecreasing",
                                      {{"trend", "true"}, {"average", "3"}});
  ASSERT_FALSE(rule.ok());
  EXPECT_EQ(rule.error().code, Error::Code::invalid_config);
  EXPECT_NE(rule.error().message.find("'average' does not apply"),
            std::string::npos);
}

// --- the course of a loss ---

const std::map<std::string, std::string> kTrend = {{"trend", "true"}};

// Losses of consecutive training steps as a series of a worker.
class Course {
 public:
  Course& with(const std::string& name,
               const std::function<double(Step)>& value, Step steps) {
    auto& samples = samples_[name];
    for (Step step = 0; step < steps; ++step) {
      samples.push_back({{step, Mode::train, step}, value(step)});
    }
    return *this;
  }

  // Keeps the samples of some steps of a series.
  Course& thin(const std::string& name,
               const std::function<bool(Step)>& is_kept) {
    std::erase_if(samples_[name], [&](const ScalarSample& sample) {
      return !is_kept(sample.step.global);
    });
    return *this;
  }

  Course& of(RunFacts facts) {
    facts_ = std::move(facts);
    return *this;
  }

  // The verdict of a rule that receives `at_once` samples of each series at a
  // time.
  Verdict judged(std::size_t at_once, const std::string& worker = "worker_0") {
    RuleHarness rule("LossNotDecreasing", kTrend);
    if (facts_) rule.knows(*facts_, worker);
    std::size_t longest = 0;
    for (const auto& [name, samples] : samples_) {
      longest = std::max(longest, samples.size());
    }
    for (std::size_t from = 0; from < longest; from += at_once) {
      std::vector<ScalarSeriesView> views;
      for (const auto& [name, samples] : samples_) {
        const std::span all(samples);
        if (from >= all.size()) continue;
        views.push_back(
            {name, all.subspan(from, std::min(at_once, all.size() - from))});
      }
      rule.notes(views, worker);
    }
    return rule.finish();
  }

  // The same verdict, however many samples arrive at a time.
  Verdict judged() {
    Verdict verdict = judged(1);
    for (const std::size_t at_once : {std::size_t(7), std::size_t(1000)}) {
      const Verdict other = judged(at_once);
      EXPECT_EQ(other.status, verdict.status) << at_once;
      EXPECT_EQ(other.message, verdict.message) << at_once;
      EXPECT_EQ(other.step, verdict.step) << at_once;
    }
    return verdict;
  }

 private:
  std::map<std::string, std::vector<ScalarSample>> samples_;
  std::optional<RunFacts> facts_;
};

// The facts of a training whose only loss is a cross entropy.
RunFacts cross_entropy_of(std::int64_t classes) {
  RunFacts facts;
  facts.losses.emplace_back();
  facts.losses.back().input.emplace();
  facts.losses.back().input->function = "cross_entropy";
  facts.losses.back().input->shape = {32, classes};
  return facts;
}

// Noise between -1 and 1 that has no trend.
double jitter(Step step) { return std::sin(double(step * step) * 2.4); }

TEST(LossCourse, IsFoundAt40StepsIfItIsConstant) {
  const Verdict verdict =
      Course()
          .with(
              "loss_output_0", [](Step) { return 2.5; }, 100)
          .judged();
  EXPECT_EQ(verdict.status, RuleStatus::issues_found);
  EXPECT_EQ(verdict.step.global, 39);
  EXPECT_EQ(verdict.severity, Severity::fatal);
  EXPECT_EQ(verdict.message,
            "loss_output_0: the loss is 2.5 at every one of 40 steps");
}

TEST(LossCourse, SaysWhatALossOfZeroMayBe) {
  const Verdict verdict = Course()
                              .with(
                                  "loss_output_0", [](Step) { return 0; }, 100)
                              .judged();
  EXPECT_EQ(verdict.step.global, 39);
  EXPECT_EQ(verdict.kind, "the loss is the same at every step: 0");
  EXPECT_THAT(verdict.cause, HasSubstr("all labels are ignored"));
}

TEST(LossCourse, IsNotFoundIfTheLossFalls) {
  const auto falling = [](Step step) {
    return std::exp(-double(step) / 50) + 0.05 * jitter(step) + 0.2;
  };
  const Verdict verdict = Course().with("loss_output_0", falling, 200).judged();
  EXPECT_EQ(verdict.status, RuleStatus::no_issues_found);
  EXPECT_EQ(verdict.steps_judged, 200u);
}

TEST(LossCourse, NamesBothEndsOfALossThatStandsStill) {
  const Verdict verdict =
      Course()
          .with(
              "loss_output_0",
              [](Step step) { return 2.3 + 0.02 * jitter(step); }, 200)
          .judged();
  EXPECT_EQ(verdict.status, RuleStatus::issues_found);
  EXPECT_THAT(verdict.message, HasSubstr("the loss does not fall: 2.3"));
  EXPECT_EQ(verdict.severity, Severity::serious);
}

TEST(LossCourse, NamesTheLossOfAGuess) {
  const auto still = [](Step step) { return 2.31 + 0.02 * jitter(step); };
  EXPECT_THAT(Course()
                  .with("loss_output_0", still, 200)
                  .of(cross_entropy_of(10))
                  .judged()
                  .message,
              HasSubstr(", the loss of a guess among 10 classes (2.303)"));
  RunFacts of_probabilities = cross_entropy_of(10);
  of_probabilities.losses[0].input->function = "categorical_cross_entropy";
  EXPECT_THAT(
      Course().with("loss", still, 200).of(of_probabilities).judged().message,
      HasSubstr(", the loss of a guess among 10 classes (2.303)"));
  // Five classes: worse than a guess.
  EXPECT_THAT(Course()
                  .with("loss_output_0", still, 200)
                  .of(cross_entropy_of(5))
                  .judged()
                  .message,
              testing::Not(HasSubstr("guess")));
}

// The mean of the targets is 100, and their variance 4.
RunFacts far_regression() {
  RunFacts facts = cross_entropy_of(1);
  LossInputFacts& input = *facts.losses[0].input;
  input.function = "mse_loss";
  DataFacts& targets = input.targets.emplace();
  targets.mean = 100;
  targets.deviation = 2;
  return facts;
}

TEST(LossCourse, NamesTheLossOfAConstantPrediction) {
  const auto still = [](Step step) { return 4.2 + 0.02 * jitter(step); };
  RunFacts regression = far_regression();
  const auto message_of = [&](const RunFacts& facts) {
    return Course().with("loss", still, 200).of(facts).judged().message;
  };
  EXPECT_THAT(message_of(regression),
              HasSubstr(", about that of a constant prediction, the variance "
                        "of the targets (4)"));
  regression.losses[0].input->targets->deviation = 3;
  EXPECT_THAT(message_of(regression), testing::Not(HasSubstr("constant")));
}

TEST(LossCourse, FindsALossThatEndsFarAboveThatOfAConstantPrediction) {
  const auto slow = [](Step step) {
    return 10000 - 20 * double(step) + 10 * jitter(step);
  };
  const auto verdict_on = [&](const RunFacts& facts, Step steps) {
    return Course().with("loss", slow, steps).of(facts).judged();
  };
  const Verdict verdict = verdict_on(far_regression(), 300);
  EXPECT_THAT(verdict.message,
              testing::MatchesRegex(
                  "loss: the loss is 4[0-9.]+ after 300 steps, and a constant "
                  "prediction would have the variance of the targets \\(4\\)"));
  EXPECT_EQ(verdict.kind,
            "the loss is far above that of a constant prediction");
  EXPECT_EQ(verdict.severity, Severity::serious);
  EXPECT_EQ(verdict_on(far_regression(), 90).kind, "");
  // Targets of reinforcement learning begin small, and grow.
  RunFacts small = far_regression();
  small.losses[0].input->targets->mean = 1;
  EXPECT_EQ(verdict_on(small, 300).kind, "");
  EXPECT_EQ(verdict_on(RunFacts(), 300).kind, "");
}

TEST(LossCourse, BlamesAHighRateOfDropout) {
  const auto with_dropout = [](double rate) {
    RunFacts facts = cross_entropy_of(10);
    facts.modules = {{.path = "drop", .kind = "Dropout"}};
    facts.modules[0].settings["p"] = rate;
    return facts;
  };
  const auto still = [](Step step) { return 2.31 + 0.02 * jitter(step); };
  const auto falls = [](Step step) {
    return 2.23 + 1.5 * std::exp(-double(step) / 40) + 0.01 * jitter(step);
  };
  const std::string_view kind = "a guess, while dropout drops most units";
  const Verdict verdict =
      Course().with("loss", still, 200).of(with_dropout(0.9)).judged();
  EXPECT_EQ(verdict.kind, kind);
  EXPECT_THAT(verdict.message,
              HasSubstr("; dropout drops up to 90 % of the units"));
  EXPECT_EQ(
      Course().with("loss", falls, 200).of(with_dropout(0.9)).judged().kind,
      kind);
  EXPECT_NE(
      Course().with("loss", still, 200).of(with_dropout(0.5)).judged().kind,
      kind);
  EXPECT_EQ(
      Course().with("loss", falls, 200).of(with_dropout(0.5)).judged().kind,
      "");
}

TEST(LossCourse, FindsATripletLossThatStaysAtItsMargin) {
  RunFacts facts;
  facts.losses = {{"loss", "TripletMarginLoss", "mean", {}, {}, 0.5}};
  const auto collapsed = [](Step step) {
    return 0.5 + 0.15 * std::exp(-double(step) / 10) + 0.002 * jitter(step);
  };
  const Verdict verdict =
      Course().with("loss", collapsed, 400).of(facts).judged();
  EXPECT_EQ(verdict.kind, "the loss does not fall below its margin");
  EXPECT_THAT(verdict.message,
              HasSubstr("; a model with the same output for all samples has "
                        "the loss 0.5, its margin"));
  facts.losses[0].margin = 1;
  EXPECT_EQ(Course().with("loss", collapsed, 400).of(facts).judged().kind, "");
}

TEST(LossCourse, FindsALossThatFellToThatOfAGuessAndStays) {
  const auto guesses = [](Step step) {
    return 2.303 + 3 * std::exp(-double(step) / 4) + 0.01 * jitter(step);
  };
  const Verdict verdict = Course()
                              .with("loss_output_0", guesses, 500)
                              .of(cross_entropy_of(10))
                              .judged();
  EXPECT_EQ(verdict.status, RuleStatus::issues_found);
  EXPECT_THAT(verdict.message, HasSubstr("the loss fell from 5.3"));
  EXPECT_THAT(verdict.message, HasSubstr(" and falls no more: 2.30"));
  EXPECT_THAT(verdict.message,
              HasSubstr(", the loss of a guess among 10 classes (2.303)"));
  // A plateau elsewhere may be as good as the data allow.
  EXPECT_EQ(Course()
                .with("loss_output_0", guesses, 500)
                .of(cross_entropy_of(12))
                .judged()
                .status,
            RuleStatus::no_issues_found);
}

TEST(LossCourse, OfAModelThatWasTrainedBeforeMayStandStill) {
  const auto still = [](Step step) { return 1.2 + 0.02 * jitter(step); };
  EXPECT_EQ(Course()
                .with("loss_output_0", still, 200)
                .of(cross_entropy_of(10))
                .judged()
                .status,
            RuleStatus::no_issues_found);
}

TEST(LossCourse, DivergesIfTheLossIsTenTimesHigher) {
  const Verdict verdict =
      Course()
          .with(
              "loss_output_0",
              [](Step step) { return 4.5 + 0.2 * step * step; }, 70)
          .judged();
  EXPECT_EQ(verdict.severity, Severity::fatal);
  EXPECT_THAT(verdict.message, HasSubstr("the loss rises: "));
  EXPECT_THAT(verdict.cause, HasSubstr("learning rate that is too high"));
}

TEST(LossCourse, OfTooFewStepsSaysHowManyItNeeds) {
  const auto noisy = [](Step step) { return 1 + 0.5 * jitter(step); };
  const Verdict few = Course().with("loss_output_0", noisy, 12).judged();
  EXPECT_EQ(few.status, RuleStatus::error);
  EXPECT_TRUE(few.lacks_data);
  EXPECT_EQ(few.message,
            "nothing to judge: 12 steps are too few to tell whether the loss "
            "falls; it needs about 40");
  EXPECT_THAT(Course().with("loss_output_0", noisy, 1).judged().message,
              HasSubstr("1 step is too few to tell"));
  const Verdict many = Course().with("loss_output_0", noisy, 80).judged();
  EXPECT_THAT(many.message, HasSubstr("80 steps are too few to tell"));

  RuleHarness sparse("LossNotDecreasing", kTrend);
  for (Step step = 0; step < 100; step += 10) sparse.fires_at(loss_at(step, 1));
  EXPECT_THAT(sparse.finish().message,
              HasSubstr("91 steps, of which 10 were saved, are too few to tell "
                        "whether the loss falls; it needs about 190, or fewer "
                        "if more of them are saved"));

  RuleHarness boosted("LossNotDecreasing",
                      {{"trend", "true"}, {"tensor_regex", "^train-"}});
  for (Step round = 0; round < 5; ++round)
    boosted.fires_at(StepBuilder(round).with_scalar("train-logloss", 0.7));
  EXPECT_THAT(boosted.finish().message, HasSubstr("5 rounds are too few"));
}

TEST(LossCourse, IsJudgedAtTheEndOfAShortTraining) {
  const Verdict verdict = Course()
                              .with(
                                  "loss_output_0", [](Step) { return 0.7; }, 25)
                              .judged();
  EXPECT_EQ(verdict.status, RuleStatus::issues_found);
  EXPECT_EQ(verdict.step.global, 24);
}

TEST(LossCourse, OfAdversariesMayRise) {
  const auto up = [](Step step) { return 1 + 0.01 * step; };
  const auto down = [](Step step) { return 3 - 0.01 * step; };
  const Verdict rivals = Course()
                             .with("loss_output_0", up, 200)
                             .with("loss_output_1", down, 200)
                             .judged();
  EXPECT_EQ(rivals.status, RuleStatus::no_issues_found);
  EXPECT_THAT(rivals.note, HasSubstr("does not judge the course of losses"));
  EXPECT_EQ(Course().with("loss_output_0", down, 200).judged().note, "");
  EXPECT_EQ(Course().with("loss_output_0", up, 200).judged().status,
            RuleStatus::issues_found);
}

TEST(LossCourse, OfAdversariesThatShareASeriesMayRise) {
  const auto up = [](Step step) { return (1 + 0.01 * step) * (1 + step % 2); };
  const auto rate = [](Step) { return 1e-3; };
  Course course;
  course.with("loss_output_0", up, 200);
  EXPECT_EQ(Course(course).judged().status, RuleStatus::issues_found);
  course.with("learning_rate/Adam/0", rate, 200);
  course.with("learning_rate/Adam_1/0", rate, 200);
  EXPECT_EQ(Course(course).judged().status, RuleStatus::issues_found);
  course.thin("learning_rate/Adam/0", [](Step step) { return step % 2 == 0; });
  course.thin("learning_rate/Adam_1/0",
              [](Step step) { return step % 2 == 1; });
  EXPECT_EQ(course.judged().status, RuleStatus::no_issues_found);
}

TEST(LossCourse, OfAModelThatIsCalledAgainInAStepMayRise) {
  const auto up = [](Step step) { return 1 + 0.01 * step; };
  Course course;
  course.with("loss_output_0", up, 200)
      .with(
          "repeated_calls", [](Step) { return 12; }, 200);
  EXPECT_NE(course.judged().status, RuleStatus::issues_found);
}

TEST(LossCourse, TakesTheSeriesOfAWorkerBeforeItsSavedTensors) {
  RuleHarness rule("LossNotDecreasing", kTrend);
  for (Step step = 0; step < 100; ++step) {
    const std::vector<ScalarSample> sample = {
        {{step, Mode::train, step}, 3 * std::exp(-double(step) / 30)}};
    rule.notes(std::vector<ScalarSeriesView>{{"loss_output_0", sample}},
               "worker_0");
    // The loss of a part rises.
    EXPECT_FALSE(rule.fires_at(StepBuilder({step, Mode::train, step})
                                   .with_scalar("Part_loss", 1.0 + step)));
  }
  EXPECT_EQ(rule.finish().status, RuleStatus::no_issues_found);
}

// Of a live run, the series arrive after the tensors of the saved steps.
TEST(LossCourse, NamesTheGrowthAlthoughASavedLossOverflowsFirst) {
  std::vector<ScalarSample> samples;
  for (Step step = 0; step <= 30; ++step) {
    const double loss = step < 29 ? std::pow(10.0, double(step)) : INFINITY;
    samples.push_back({{step, Mode::train, step}, loss});
  }
  const std::span all(samples);
  RuleHarness rule("LossNotDecreasing", kTrend);
  rule.notes(std::vector<ScalarSeriesView>{{"loss_output_0", all.first(1)}},
             "worker_0");
  const auto overflow =
      StepBuilder({30, Mode::train, 30}).with_scalar("Loss_0", std::nan(""));
  EXPECT_FALSE(rule.fires_at(overflow));
  rule.notes(std::vector<ScalarSeriesView>{{"loss_output_0", all.subspan(1)}},
             "worker_0");
  EXPECT_EQ(rule.verdict().kind, "the loss grew until it was not finite");
  EXPECT_THAT(rule.verdict().message, HasSubstr("rose from 1 to 1e+28"));
}

TEST(LossCourse, FindsASavedLossThatIsNanInTheEndIfItsSeriesIsFinite) {
  RuleHarness rule("LossNotDecreasing", kTrend);
  const std::vector<ScalarSample> sample = {{{0, Mode::train, 0}, 1.0}};
  rule.notes(std::vector<ScalarSeriesView>{{"loss_output_0", sample}},
             "worker_0");
  EXPECT_FALSE(rule.fires_at(StepBuilder({10, Mode::train, 10})
                                 .with_scalar("Part_loss", std::nan(""))));
  const Verdict verdict = rule.finish();
  EXPECT_EQ(verdict.status, RuleStatus::issues_found);
  EXPECT_THAT(verdict.message, HasSubstr("Part_loss"));
}

TEST(LossCourse, OfSavedTensorsIsJudgedIfThereIsNoSeries) {
  RuleHarness rule("LossNotDecreasing", kTrend);
  bool has_fired = false;
  for (Step step = 0; step < 400 && !has_fired; step += 10) {
    has_fired = rule.fires_at(loss_at(step, 1.0));
  }
  EXPECT_TRUE(has_fired);
  EXPECT_EQ(rule.verdict().step.global, 190);
}

// Judges 60 rounds of XGBoost, in which each metric has these values.
Verdict judged_rounds(
    const std::map<std::string, std::function<double(Step)>>& metrics) {
  RuleHarness rule("LossNotDecreasing",
                   {{"trend", "true"}, {"tensor_regex", "^[a-z]+-"}});
  for (Step round = 0; round < 60; ++round) {
    StepBuilder step(round);
    for (const auto& [name, value] : metrics)
      step.with_scalar(name, value(round));
    if (rule.fires_at(step)) return rule.verdict();
  }
  rule.finish();
  return rule.verdict();
}

double falling(Step step) { return 0.7 * std::exp(-double(step) / 30); }
double rising(Step step) { return 0.7 + 0.02 * double(step); }
double overcorrected(Step step) { return step == 0 ? 0.15 : 2.847; }

TEST(LossCourse, OfATrainingWithAValidationIsJudgedInXgboost) {
  const Verdict verdict = judged_rounds(
      {{"train-logloss", overcorrected}, {"validation-logloss", rising}});
  EXPECT_EQ(verdict.status, RuleStatus::issues_found);
  EXPECT_THAT(verdict.message,
              HasSubstr("train-logloss: the loss leapt from 0.15 to 2.847"));
}

TEST(LossCourse, OfAValidationMayRiseInXgboost) {
  for (const char* name : {"validation-logloss", "test-logloss"}) {
    EXPECT_EQ(
        judged_rounds({{"train-logloss", falling}, {name, rising}}).status,
        RuleStatus::no_issues_found)
        << name;
  }
  EXPECT_EQ(judged_rounds({{"validation-logloss", rising}}).status,
            RuleStatus::issues_found);
}

TEST(LossCourse, OfWrongDecisionsMayStandStillInXgboost) {
  const auto constant = [](Step) { return 0.1; };
  for (const char* name : {"train-error", "train-merror", "train-error@0.7"}) {
    EXPECT_EQ(
        judged_rounds({{"train-logloss", falling}, {name, constant}}).status,
        RuleStatus::no_issues_found)
        << name;
    EXPECT_THAT(judged_rounds({{name, constant}}).message,
                HasSubstr("error rates need not fall; pass the training set"));
  }
}

TEST(LossCourse, OfSeriesOfXgboostIsJudgedAsThatOfItsTensors) {
  const auto constant = [](Step) { return 0.1; };
  const Verdict verdict = Course()
                              .with("train-rmse", overcorrected, 60)
                              .with("validation-rmse", rising, 60)
                              .judged();
  EXPECT_EQ(verdict.status, RuleStatus::issues_found) << verdict.message;
  EXPECT_THAT(verdict.message,
              HasSubstr("train-rmse: the loss leapt from 0.15 to 2.847"));
  for (const char* other : {"validation-rmse", "train-error", "test-merror"}) {
    const bool rises = std::string_view(other) == "validation-rmse";
    EXPECT_EQ(
        Course()
            .with("train-rmse", falling, 60)
            .with(other, rises ? std::function<double(Step)>(rising) : constant,
                  60)
            .judged()
            .status,
        RuleStatus::no_issues_found)
        << other;
  }
}

TEST(LossCourse, IgnoresSeriesThatAreNoLosses) {
  const Verdict verdict =
      Course()
          .with(
              "learning_rate/SGD/0", [](Step) { return 0.1; }, 100)
          .judged();
  EXPECT_EQ(verdict.status, RuleStatus::error);
}

TEST(LossCourse, FiresAtOnceOnALossThatIsNan) {
  const Verdict verdict =
      Course()
          .with(
              "loss_output_0",
              [](Step step) { return step < 7 ? 1.0 : std::nan(""); }, 60)
          .judged();
  EXPECT_EQ(verdict.step.global, 7);
  EXPECT_THAT(verdict.message, HasSubstr("the loss is not finite"));
}

double still_loss(Step step) { return 2.3 + 0.02 * jitter(step); }

// A loss that leaps at the third step and then stands still.
double leaping_loss(Step step) {
  return step < 2 ? 2.3 : step < 12 ? 40.0 : step % 2 == 0 ? 2.34 : 2.36;
}

TEST(LossCourse, IsDatedByTheLeapAndNamesTheLearningRateOfIt) {
  const Verdict verdict =
      Course()
          .with("loss_output_0", leaping_loss, 100)
          .with(
              "learning_rate/Adam/0",
              [](Step step) { return step < 50 ? 1.0 : 0.1; }, 100)
          .judged();
  EXPECT_EQ(verdict.step.global, 2);
  EXPECT_EQ(verdict.message,
            "loss_output_0: the loss leapt from 2.3 to 40 in the first steps; "
            "after 40 steps it is 2.35, no lower than it began; the learning "
            "rate of Adam is 1");
  EXPECT_EQ(verdict.evidence.front().value, 40.0);
}

TEST(LossCourse, OfATensorIsDatedByTheLeapToo) {
  RuleHarness rule("LossNotDecreasing", {{"preset", "tuned"}});
  Step step = 0;
  while (step < 100 && !rule.fires_at(loss_at(step, leaping_loss(step)))) {
    ++step;
  }
  EXPECT_GT(step, 12);
  EXPECT_LT(step, 100);
  EXPECT_EQ(rule.verdict().step.global, 2);
}

TEST(LossCourse, OfATensorThatGrewIntoNanIsDatedByTheGrowth) {
  RuleHarness rule("LossNotDecreasing", {{"preset", "tuned"}});
  for (Step step = 0; step < 7; ++step) {
    EXPECT_FALSE(
        rule.fires_at(loss_at(step, 2 * std::pow(10.0, double(step)))));
  }
  rule.fires_at(loss_at(7, std::nan("")));
  rule.finish();
  EXPECT_EQ(rule.verdict().status, RuleStatus::issues_found);
  EXPECT_EQ(rule.verdict().step.global, 1);
}

TEST(LossCourse, ThatStandsStillAtALowLearningRateNamesIt) {
  const auto judged_at = [](double rate) {
    return Course()
        .with("loss_output_0", still_loss, 200)
        .with(
            "learning_rate/SGD/0", [rate](Step) { return rate; }, 200)
        .judged();
  };
  EXPECT_THAT(judged_at(1e-6).message,
              HasSubstr("; the learning rate of SGD is 1e-06"));
  EXPECT_THAT(judged_at(1e-6).cause, HasSubstr("too low: the weights"));
  EXPECT_THAT(judged_at(0.1).cause, HasSubstr("labels that do not belong"));
  EXPECT_EQ(judged_at(0.1).kind,
            "the loss does not fall at a usual learning rate");
  EXPECT_THAT(judged_at(2).cause, HasSubstr("too low or far too high"));
  EXPECT_THAT(judged_at(1e-3).cause, HasSubstr("too low or far too high"));
}

TEST(LossCourse, OfTreesThatStandsStillNamesWhatKeepsThemFromSplitting) {
  const Verdict verdict =
      judged_rounds({{"train-logloss", [](Step) { return 0.66; }}});
  EXPECT_EQ(verdict.kind, "the loss of trees is the same at every round");
  EXPECT_EQ(verdict.severity, Severity::fatal);
  EXPECT_THAT(verdict.cause, HasSubstr("min_child_weight"));
}

// The facts of a training of XGBoost.
RunFacts boosting_facts(double eta, const std::string& objective) {
  RunFacts facts;
  facts.optimizers.push_back({"gbtree", {{0, 0, {{"learning_rate", eta}}}}});
  facts.losses.emplace_back();
  facts.losses.back().tensor = facts.losses.back().kind = objective;
  return facts;
}

Verdict boosted(double eta, const std::string& objective,
                const std::string& metric,
                const std::function<double(Step)>& loss, Step rounds = 100) {
  return Course()
      .with(metric, loss, rounds)
      .of(boosting_facts(eta, objective))
      .judged();
}

// Trees that fit the errors wholly: of each, a share `eta` is left out.
std::function<double(Step)> shrinking(double eta, double noise = 0) {
  return [=](Step step) {
    const double left = std::pow(1 - eta, double(step + 1));
    return 1e5 * std::sqrt(left * left * (1 - noise) + noise);
  };
}

TEST(LossCourse, OfTreesAtALearningRateThatIsTooLowForTheRoundsNamesIt) {
  const Verdict low =
      boosted(0.001, "reg:squarederror", "train-rmse", shrinking(0.001));
  EXPECT_EQ(low.status, RuleStatus::issues_found);
  EXPECT_EQ(low.kind, "the loss of trees hardly falls");
  EXPECT_EQ(low.severity, Severity::serious);
  // 1 - 0.999^100 = 0.0952.
  EXPECT_THAT(low.message,
              HasSubstr("; 100 rounds with a learning rate of 0.001 correct at "
                        "most 9.5 % of the errors"));
  EXPECT_EQ(
      boosted(1e-5, "reg:squarederror", "train-rmse", shrinking(1e-5), 90).kind,
      "the loss of trees hardly falls");
}

TEST(LossCourse, OfTreesThatFallsSlowlyPassesWhereTheRateAllowsIt) {
  const auto passes = [](double eta, double noise, Step rounds) {
    return boosted(eta, "reg:squarederror", "train-rmse", shrinking(eta, noise),
                   rounds)
               .status != RuleStatus::issues_found;
  };
  EXPECT_TRUE(passes(0.01, 0.7, 300)) << "targets that are mostly noise";
  EXPECT_TRUE(passes(0.03, 0, 250));
  EXPECT_TRUE(passes(0.001, 0, 3000));
  EXPECT_TRUE(passes(0.001, 0, 40)) << "hardly begun";
  const auto overfits = [](Step step) { return 1 - 5e-4 * double(step); };
  EXPECT_NE(boosted(0.1, "binary:logistic", "train-logloss", overfits).status,
            RuleStatus::issues_found)
      << "noise that the trees learn";
  EXPECT_NE(Course().with("train-rmse", shrinking(0.001), 100).judged().status,
            RuleStatus::issues_found)
      << "a learning rate that is unknown";
  EXPECT_NE(
      boosted(0.001, "reg:squarederror", "validation-rmse", shrinking(0.001))
          .status,
      RuleStatus::issues_found)
      << "no loss of the training";
  RunFacts continued = boosting_facts(0.001, "reg:squarederror");
  continued.optimizers[0].groups[0].settings["earlier_rounds"] = 200;
  EXPECT_NE(Course()
                .with("train-rmse", shrinking(0.001), 100)
                .of(continued)
                .judged()
                .status,
            RuleStatus::issues_found)
      << "a model that was trained before";
}

TEST(LossCourse, OfTreesThatNeverSplitNamesTheDerivativesOfACustomObjective) {
  const auto constant = [](Step) { return 0.6931; };
  const Verdict own =
      boosted(0.3, "custom objective", "train-my_logloss", constant);
  EXPECT_EQ(own.kind,
            "the loss of trees is the same at every round of a custom "
            "objective");
  EXPECT_THAT(own.cause, HasSubstr("second derivatives that are wrong"));
  EXPECT_EQ(own.severity, Severity::fatal);
  EXPECT_THAT(boosted(0.3, "binary:logistic", "train-logloss", constant).cause,
              HasSubstr("min_child_weight or gamma is too large"));
}

TEST(LossCourse, OfTreesThatSplitNoMoreNamesGamma) {
  const auto stopped = [](Step step) { return step < 15 ? 0.127 : 0.1244; };
  const Verdict at_rest =
      boosted(0.1, "reg:squarederror", "train-rmse", stopped);
  EXPECT_EQ(at_rest.kind, "the loss of trees stopped falling");
  EXPECT_THAT(at_rest.cause, HasSubstr("gamma"));
  const auto random = [](Step step) { return 0.69 - 1e-6 * double(step); };
  const Verdict still =
      boosted(0.1, "binary:logistic", "train-logloss", random);
  EXPECT_EQ(still.kind, "the loss of trees does not fall");
  EXPECT_THAT(still.cause, HasSubstr("rows in another order"));
}

TEST(LossCourse, OfTreesThatRisesNamesTheGradientOfACustomObjective) {
  const auto grows = [](Step step) { return 0.7 * std::pow(1.1, step); };
  const auto kind = [](double eta, const std::string& objective,
                       const std::string& metric,
                       const std::function<double(Step)>& loss) {
    const Verdict verdict = boosted(eta, objective, metric, loss, 60);
    return verdict.kind +
           (verdict.severity == Severity::advice ? " (advice)" : "");
  };
  const std::string wrong = "the loss of trees rises with a custom objective";
  EXPECT_EQ(kind(0.1, "custom objective", "train-nll", grows), wrong);
  EXPECT_EQ(kind(0.1, "custom objective", "train-nll", rising), wrong);
  EXPECT_EQ(kind(0.1, "custom objective", "train-rmse", grows), wrong);
  // The rmse of scores rises while the model learns probabilities.
  EXPECT_EQ(kind(0.1, "custom objective", "train-rmse", rising),
            "the loss of trees rises (advice)");
  EXPECT_EQ(kind(0.1, "reg:absoluteerror", "train-rmse", rising),
            "the loss of trees rises");
  EXPECT_EQ(kind(3, "reg:squarederror", "train-rmse", grows),
            "the loss diverges");
}

TEST(LossCourse, ThatStandsStillAfterADecayNamesTheSchedule) {
  const auto decayed_from = [](Step step) {
    return Course()
        .with("loss_output_0", still_loss, 200)
        .with(
            "learning_rate/SGD/0",
            [step](Step each) { return each < step ? 0.1 : 1e-7; }, 200)
        .judged();
  };
  EXPECT_THAT(
      decayed_from(9).message,
      HasSubstr("; the learning rate of SGD has fallen from 0.1 to 1e-07"));
  EXPECT_THAT(decayed_from(9).cause, HasSubstr("a schedule"));
  // It fires at step 89, when the rate is still high.
  EXPECT_THAT(decayed_from(95).message, HasSubstr("of SGD is 0.1"));
}

TEST(LossCourse, ThatEndsInNanTellsGrowthFromASuddenEnd) {
  const auto judged = [](const std::function<double(Step)>& loss) {
    return Course()
        .with("loss_output_0", loss, 60)
        .with(
            "learning_rate/SGD/0", [](Step) { return 0.5; }, 60)
        .judged();
  };
  const Verdict grew = judged([](Step step) {
    return step < 7 ? 2 * std::pow(10.0, double(step)) : -std::nan("");
  });
  EXPECT_EQ(grew.message,
            "loss_output_0: the loss is not finite: nan at step 7 (TRAIN step "
            "7), after it rose from 2 to 2e+06; the learning rate of SGD is "
            "0.5");
  EXPECT_THAT(grew.cause, HasSubstr("a learning rate that is too high"));
  EXPECT_EQ(grew.step.global, 1);
  ASSERT_EQ(grew.evidence.size(), 2u);
  EXPECT_EQ(grew.evidence[0].value, 20.0);
  EXPECT_EQ(grew.evidence[1].step.global, 7);
  const Verdict sudden =
      judged([](Step step) { return step < 7 ? 2.0 : std::nan(""); });
  EXPECT_THAT(sudden.cause, HasSubstr("NaN in the data of this step"));
  const Verdict first = judged([](Step) { return std::nan(""); });
  EXPECT_THAT(first.cause, HasSubstr("a training that diverged"));
}

TEST(LossCourse, WithoutALowerBoundHasTheWrongSign) {
  const auto judged = [](const std::function<double(Step)>& loss) {
    return Course().with("loss_output_0", loss, 200).judged();
  };
  const auto square = [](Step step) { return -std::pow(double(step), 4); };
  const Verdict plunged = judged(square);
  EXPECT_EQ(plunged.severity, Severity::fatal);
  EXPECT_THAT(plunged.cause,
              HasSubstr("a wrong sign, or a term without a lower bound"));
  EXPECT_THAT(plunged.message, HasSubstr("falls ever faster below zero"));
  const Verdict overflowed = judged([&](Step step) {
    return step < 30 ? square(step) : -std::numeric_limits<double>::infinity();
  });
  EXPECT_EQ(overflowed.cause, plunged.cause);
  EXPECT_THAT(overflowed.message, HasSubstr("-inf at step 30"));
  EXPECT_EQ(judged([](Step step) { return -double(step); }).status,
            RuleStatus::no_issues_found);
}

}  // namespace
}  // namespace smdebug
