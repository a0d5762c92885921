#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/engine/rule_harness_testing.h"

namespace smdebug {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Feeds losses in turn, as a training with modes saves them.
class Losses {
 public:
  explicit Losses(RuleHarness& rule) : rule_(rule) {}

  bool train(const std::vector<double>& losses) {
    return feed(Mode::train, losses);
  }
  bool eval(const std::vector<double>& losses) {
    return feed(Mode::eval, losses);
  }

 private:
  bool feed(Mode mode, const std::vector<double>& losses) {
    bool fired = false;
    for (const double loss : losses) {
      const StepId step = {next_++, mode, counted_[mode_index(mode)]++};
      fired = rule_.fires_at(StepBuilder(step).with_scalar("Loss", loss));
    }
    return fired;
  }

  RuleHarness& rule_;
  Step next_ = 0;
  std::array<Step, 4> counted_ = {};
};

// mean(1, 3) = 2 in training; (2.2 - 2) / 2 is the default ratio, not above it.
TEST(Overfit, FiresWhereTheMeanValidationLossIsAboveTheRatioAndNotAtIt) {
  RuleHarness at("Overfit", {{"ratio_threshold", "0.25"}});
  Losses at_ratio(at);
  at_ratio.train({1, 3});
  at_ratio.eval({2, 3});
  EXPECT_FALSE(at_ratio.train({2}));
  EXPECT_EQ(at.finish().status, RuleStatus::no_issues_found);

  RuleHarness above("Overfit", {{"ratio_threshold", "0.25"}});
  Losses above_ratio(above);
  above_ratio.train({1, 3});
  EXPECT_FALSE(above_ratio.eval({2, 3.1}));  // still open
  EXPECT_TRUE(above_ratio.train({2}));
  ASSERT_EQ(above.verdict().evidence.size(), 1u);
  EXPECT_NEAR(above.verdict().evidence[0].value, 0.275, 1e-12);
  EXPECT_EQ(above.verdict().evidence[0].threshold, 0.25);
  EXPECT_EQ(above.verdict().evidence[0].step, (StepId{3, Mode::eval, 1}));
}

TEST(Overfit, SaysHowFarApartTheLossesAreAndWhatTheyWereBefore) {
  RuleHarness rule("Overfit");
  Losses losses(rule);
  losses.train({2});
  losses.eval({2.1});
  losses.train({1});
  losses.eval({1.5});
  EXPECT_TRUE(losses.train({1}));
  EXPECT_EQ(rule.verdict().message,
            "Loss: the mean validation loss 1.5 up to step 3 (EVAL step 1) is "
            "50 % above the mean training loss 1 (allowed: up to 10 %); the "
            "evaluation before had 5 %");
  EXPECT_THAT(rule.verdict().cause, HasSubstr("memorizes its training set"));
}

TEST(Overfit, WritesALargeExcessAsAFactor) {
  RuleHarness rule("Overfit");
  Losses losses(rule);
  losses.train({0.01});
  losses.eval({0.01});
  losses.train({0.01});
  losses.eval({0.57});
  EXPECT_TRUE(losses.train({0.01}));
  EXPECT_THAT(rule.verdict().message,
              HasSubstr("is 57 times the mean training loss 0.01 (allowed"));
}

TEST(Overfit, JudgesErrorRatesOfXgboostOnlyWithoutALoss) {
  for (const bool has_loss : {false, true}) {
    RuleHarness rule("Overfit");
    rule.in_a_run_with({{"losses", {"^(train|test)-"}, {}}});
    StepBuilder step(StepId{0, Mode::global, 0});
    step.with_scalar("train-merror", 0.001).with_scalar("test-merror", 0.05);
    if (has_loss) {
      step.with_scalar("train-mlogloss", 0.5)
          .with_scalar("test-mlogloss", 0.51);
    }
    EXPECT_EQ(rule.fires_at(std::move(step)), !has_loss);
  }
}

TEST(Overfit, ClosesTheLastEvaluationWhenTheRunEnds) {
  RuleHarness rule("Overfit");
  Losses losses(rule);
  losses.train({1});
  EXPECT_FALSE(losses.eval({2, 2}));
  EXPECT_EQ(rule.finish().status, RuleStatus::issues_found);
}

TEST(Overfit, ComparesWithTheTrainingLossesSinceTheEvaluationBefore) {
  RuleHarness rule("Overfit");
  Losses losses(rule);
  losses.train({9, 9});
  losses.eval({9});
  losses.train({1});  // alone: with the nines the mean would be above 2
  losses.eval({2});
  EXPECT_TRUE(losses.train({1}));
  EXPECT_NEAR(rule.verdict().evidence[0].value, 1, 1e-12);
}

TEST(Overfit, WaitsForAsManyEvaluationsInARowAsPatienceSays) {
  RuleHarness rule("Overfit", {{"patience", "2"}});
  Losses losses(rule);
  losses.train({1});
  losses.eval({2});
  EXPECT_FALSE(losses.train({1}));
  losses.eval({1});  // not exceeded: the count starts again
  EXPECT_FALSE(losses.train({1}));
  losses.eval({2});
  EXPECT_FALSE(losses.train({1}));
  losses.eval({3});
  EXPECT_TRUE(losses.train({1}));
  EXPECT_THAT(rule.verdict().message,
              HasSubstr("as at 2 evaluations since step 5 (EVAL step 2)"));
}

// The ratio is 9 and more at every evaluation; the losses are those of a
// classifier that goes on learning, and of one that has stopped.
TEST(Overfit, NeverSaysNoIssueWithFewerEvaluationsThanItsPatience) {
  RuleHarness rule("Overfit", {{"patience", "3"}});
  Losses losses(rule);
  losses.train({1});
  losses.eval({9});
  losses.train({1});
  losses.eval({9, 9});
  EXPECT_EQ(rule.finish().status, RuleStatus::error);
  EXPECT_EQ(rule.verdict().message,
            "nothing to judge: 2 evaluations are too few; 3 are needed");
}

TEST(Overfit, LetsAFallingValidationLossPassIfToldTo) {
  const auto fires = [](const char* pass,
                        const std::vector<double>& validation) {
    RuleHarness rule("Overfit", {{"pass_new_best", pass}, {"patience", "2"}});
    Losses losses(rule);
    bool fired = false;
    for (const double loss : validation) {
      losses.train({loss / 10});
      losses.eval({loss});
      fired = losses.train({loss / 10});
    }
    return fired;
  };
  EXPECT_TRUE(fires("false", {0.4, 0.3, 0.2, 0.1}));
  EXPECT_FALSE(fires("true", {0.4, 0.3, 0.2, 0.1}));
  EXPECT_FALSE(fires("true", {0.4, 0.3, 0.31, 0.2, 0.21, 0.1}));
  EXPECT_TRUE(fires("true", {0.4, 0.3, 0.31, 0.305}));
  EXPECT_TRUE(fires("true", {0.3, 0.3, 0.3}));  // as low is not lower
}

TEST(Overfit, CountsAHigherValidationLossBesideALowTrainingLoss) {
  for (const bool counts : {false, true}) {
    RuleHarness rule("Overfit", {{"rise_threshold", counts ? "0.25" : "0"},
                                 {"ratio_threshold", "5"},
                                 {"patience", "2"},
                                 {"pass_new_best", "true"}});
    Losses losses(rule);
    const auto evaluate = [&](double training, double validation) {
      losses.train({training});
      return losses.eval({validation});
    };
    evaluate(0.6, 0.5);
    evaluate(0.45, 0.8);    // not twice the training loss
    evaluate(0.25, 0.62);   // a rise of 24 %
    evaluate(0.25, 0.63);   // 26 %
    evaluate(0.2, 0.4);     // a new best
    evaluate(0.2, 0.6);     // 50 % above it, and three times the training loss
    evaluate(0.125, 0.75);  // 87.5 % above it, 500 % above the training loss
    ASSERT_EQ(losses.train({0.1}), counts);
    if (!counts) continue;
    EXPECT_EQ(rule.verdict().message,
              "Loss: the mean validation loss 0.75 up to step 13 (EVAL step 6) "
              "is 87.5 % above the lowest so far (allowed: up to 25 %) and "
              "500 % above the mean training loss 0.125, as at 2 evaluations "
              "since step 11 (EVAL step 5); the lowest so far was 0.4; the "
              "evaluation before had 200 %");
    EXPECT_DOUBLE_EQ(rule.verdict().evidence[0].value, 0.875);
    EXPECT_EQ(rule.verdict().evidence[0].threshold, 0.25);
  }
}

TEST(Overfit, KnowsTheLowestValidationLossOfEachTensor) {
  RuleHarness rule("Overfit", {{"pass_new_best", "true"}});
  const auto step = [](Step number, double test, double eval) {
    return StepBuilder({number, Mode::global, number})
        .with_scalar("train-logloss", 0.1)
        .with_scalar("test-logloss", test)
        .with_scalar("eval-logloss", eval);
  };
  EXPECT_FALSE(rule.fires_at(step(0, 0.9, 0.5)));
  EXPECT_FALSE(rule.fires_at(step(1, 0.8, 0.4)));
  EXPECT_TRUE(rule.fires_at(step(2, 0.7, 0.45)));
  ASSERT_EQ(rule.verdict().evidence.size(), 1u);
  EXPECT_EQ(rule.verdict().evidence[0].tensor, "eval-logloss");
  EXPECT_THAT(rule.verdict().message, HasSubstr("; the lowest so far was 0.4"));
}

// The lowest of an evaluation before `start_step`, too, is the lowest so far.
TEST(Overfit, RemembersTheLowestValidationLossFromBeforeItsStartStep) {
  RuleHarness rule("Overfit", {{"pass_new_best", "true"}, {"start_step", "2"}});
  Losses losses(rule);
  losses.train({0.1});
  losses.eval({0.5});
  losses.train({0.1});
  losses.eval({0.6});
  EXPECT_TRUE(losses.train({0.1}));
}

TEST(Overfit, DoesNotFireBeforeItsStartStepButCountsWhatCameBefore) {
  RuleHarness rule("Overfit", {{"start_step", "3"}, {"patience", "2"}});
  Losses losses(rule);
  losses.train({1});
  losses.eval({2});  // step 1
  losses.train({1});
  losses.eval({2});  // step 3: the second in a row
  EXPECT_TRUE(losses.train({1}));

  RuleHarness late("Overfit", {{"start_step", "4"}});
  Losses before(late);
  before.train({1});
  before.eval({2});
  before.train({1});
  before.eval({2});
  EXPECT_FALSE(before.train({1}));
}

TEST(Overfit, LooksAtNothingFromItsEndStepOn) {
  RuleHarness rule("Overfit", {{"end_step", "1"}});
  Losses losses(rule);
  losses.train({1});
  losses.eval({2});
  EXPECT_FALSE(losses.train({1}));
  EXPECT_EQ(rule.finish().status, RuleStatus::error);
}

TEST(Overfit, LeavesOutLossesThatAreNotFinite) {
  RuleHarness rule("Overfit");
  Losses losses(rule);
  losses.train({1, kNan, 1});
  losses.eval({1.05, kNan, std::numeric_limits<double>::infinity()});
  EXPECT_FALSE(losses.train({1}));
  EXPECT_EQ(rule.finish().status, RuleStatus::no_issues_found);
}

TEST(Overfit, DoesNotJudgeATrainingLossOfZeroOrBelow) {
  for (const double loss : {0.0, -1.0}) {
    RuleHarness rule("Overfit");
    Losses losses(rule);
    losses.train({loss});
    losses.eval({5});
    EXPECT_FALSE(losses.train({loss})) << loss;
    EXPECT_EQ(rule.finish().status, RuleStatus::error);
  }
}

TEST(Overfit, PairsTheLossesOfXgboostByTheirNames) {
  RuleHarness rule("Overfit");
  EXPECT_FALSE(rule.fires_at(StepBuilder({0, Mode::global, 0})
                                 .with_scalar("train-logloss", 1)
                                 .with_scalar("validation-logloss", 1.05)
                                 .with_scalar("validation-merror_loss", 7)));
  EXPECT_TRUE(rule.fires_at(StepBuilder({1, Mode::global, 1})
                                .with_scalar("train-logloss", 0.5)
                                .with_scalar("eval-logloss", 0.6)
                                .with_scalar("test-logloss", 0.7)));
  ASSERT_EQ(rule.verdict().evidence.size(), 2u);
  EXPECT_EQ(rule.verdict().evidence[0].tensor, "test-logloss");
  EXPECT_NEAR(rule.verdict().evidence[0].value, 0.4, 1e-12);
  EXPECT_EQ(rule.verdict().evidence[1].tensor, "eval-logloss");
  EXPECT_THAT(rule.verdict().message, HasSubstr("test-logloss: the mean"));
}

TEST(Overfit, TakesTheSetThatIsTrainedOnForTrainingWhateverItsName) {
  for (const bool are_sets_known : {false, true}) {
    RuleHarness rule("Overfit");
    RunFacts facts;
    if (are_sets_known) facts.training_sets = {"validation_0"};
    rule.knows(facts, "worker_0");
    rule.fires_at(StepBuilder({0, Mode::global, 0})
                      .with_scalar("validation_0-logloss", 0.5)
                      .with_scalar("validation_1-logloss", 0.6));
    EXPECT_EQ(rule.finish().status,
              are_sets_known ? RuleStatus::issues_found : RuleStatus::error);
  }
}

TEST(Overfit, JudgesOnlyTheTensorsThatItsPatternFinds) {
  RuleHarness rule("Overfit", {{"tensor_regex", "^mine$"}});
  rule.fires_at(StepBuilder({0, Mode::train, 0})
                    .with_scalar("Loss", 1)
                    .with_scalar("mine", 1));
  rule.fires_at(StepBuilder({1, Mode::eval, 0})
                    .with_scalar("Loss", 5)
                    .with_scalar("mine", 1));
  EXPECT_EQ(rule.finish().status, RuleStatus::no_issues_found);
}

TEST(Overfit, WorksFromTheMeanOfALossPerSampleAndFromASavedReduction) {
  RuleHarness rule("Overfit");
  rule.fires_at(
      StepBuilder({0, Mode::train, 0}).with_values("Loss", {1, 3}, {2}));
  rule.fires_at(StepBuilder({1, Mode::eval, 0})
                    .with_reductions("Loss", {{{Reduction::mean}, 3.0}}));
  rule.finish();
  ASSERT_EQ(rule.verdict().status, RuleStatus::issues_found);
  EXPECT_NEAR(rule.verdict().evidence[0].value, 0.5, 1e-12);
}

TEST(Overfit, NeverSaysNoIssueWithoutOneOfTheTwoLosses) {
  RuleHarness training("Overfit");
  training.fires_at(StepBuilder({0, Mode::train, 0}).with_scalar("Loss", 1));
  EXPECT_EQ(training.finish().status, RuleStatus::error);
  EXPECT_THAT(training.verdict().message,
              AllOf(HasSubstr("nothing to judge"), HasSubstr("EVAL")));

  RuleHarness validation("Overfit");
  validation.fires_at(StepBuilder({0, Mode::eval, 0}).with_scalar("Loss", 1));
  EXPECT_EQ(validation.finish().status, RuleStatus::error);
  EXPECT_THAT(validation.verdict().message, HasSubstr("no training loss"));

  RuleHarness empty("Overfit");
  empty.fires_at(StepBuilder({0, Mode::eval, 0}).with_values("Loss", {}, {0}));
  EXPECT_EQ(empty.finish().status, RuleStatus::error);
}

// Random trainings, judged a second time by a plain loop. The seed is printed.
TEST(Overfit, FiresAtTheSameEvaluationAsAPlainLoop) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> loss(0.5, 1.0);
  std::uniform_int_distribution<int> length(1, 4);
  for (int run = 0; run < 50; ++run) {
    RuleHarness rule("Overfit",
                     {{"patience", "2"}, {"ratio_threshold", "0.2"}});
    Losses losses(rule);
    int in_a_row = 0;
    bool expected = false;
    for (int phase = 0; phase < 6 && !expected; ++phase) {
      double sums[2] = {0, 0};
      std::vector<double> parts[2];
      for (int part = 0; part < 2; ++part) {
        parts[part].resize(static_cast<std::size_t>(length(random)));
        for (double& one : parts[part]) sums[part] += one = loss(random);
      }
      ASSERT_FALSE(losses.train({parts[0]}));
      losses.eval(parts[1]);
      const double train = sums[0] / double(parts[0].size());
      const double eval = sums[1] / double(parts[1].size());
      in_a_row = (eval - train) / train > 0.2 ? in_a_row + 1 : 0;
      expected = in_a_row >= 2;
      if (expected) {
        EXPECT_TRUE(losses.train({1}));
      }
    }
    EXPECT_EQ(rule.finish().status, expected ? RuleStatus::issues_found
                                             : RuleStatus::no_issues_found);
  }
}

// With series, an evaluation of which no step is saved counts as well.
TEST(Overfit, JudgesTheLossesOfAllStepsIfThereAreSeries) {
  for (const double last : {3.0, 1.0}) {
    RuleHarness rule("Overfit", {{"patience", "2"}, {"ratio_threshold", "1"}});
    const std::vector<ScalarSample> training = {{{0, Mode::train, 0}, 1},
                                                {{2, Mode::train, 1}, 1},
                                                {{5, Mode::train, 2}, 1}};
    const std::vector<ScalarSample> validation = {{{1, Mode::eval, 0}, 3},
                                                  {{3, Mode::eval, 1}, last},
                                                  {{4, Mode::eval, 2}, last}};
    const ScalarSeriesView series[] = {{"CELoss_output_0", validation},
                                       {"loss_output_0", training}};
    rule.fires_at(StepBuilder(0).with_scalar("CELoss_output_0", 1));
    rule.notes(series, "worker_0");
    EXPECT_EQ(rule.verdict().status == RuleStatus::issues_found, last == 3.0);
    EXPECT_EQ(rule.finish().status, last == 3.0 ? RuleStatus::issues_found
                                                : RuleStatus::no_issues_found);
    if (last == 3.0) {
      EXPECT_EQ(rule.verdict().step.global, 4);
      EXPECT_THAT(rule.verdict().message,
                  HasSubstr("the mean validation loss 3 up to step 4"));
    }
  }
}

TEST(Overfit, FiresAtTheSameEvaluationHoweverManyArriveAtOnce) {
  RuleHarness rule("Overfit", {{"ratio_threshold", "1"}});
  std::vector<ScalarSample> training, validation;
  for (Step step = 0; step < 8; step += 2) {
    training.push_back({{step, Mode::train, step}, 1});
    const double loss = 1 + static_cast<double>(step);  // 1, 3, 5, 7
    validation.push_back({{step + 1, Mode::eval, step}, loss});
  }
  const ScalarSeriesView series[] = {{"CELoss_output_0", validation},
                                     {"loss_output_0", training}};
  rule.fires_at(StepBuilder(0).with_scalar("CELoss_output_0", 1));
  rule.notes(series, "worker_0");
  EXPECT_EQ(rule.finish().step.global, 3);
  EXPECT_EQ(rule.verdict().evidence.size(), 1);
  EXPECT_EQ(rule.verdict().evidence[0].value, 2);
}

TEST(Overfit, JudgesOnlySavedLossesIfAPatternNamesThem) {
  RuleHarness rule("Overfit", {{"tensor_regex", "Loss"}});
  const std::vector<ScalarSample> training = {{{0, Mode::train, 0}, 1}};
  const std::vector<ScalarSample> validation = {{{1, Mode::eval, 0}, 3}};
  const ScalarSeriesView series[] = {{"CELoss_output_0", validation},
                                     {"loss_output_0", training}};
  rule.fires_at(StepBuilder(0).with_scalar("CELoss_output_0", 1));
  rule.notes(series, "worker_0");
  EXPECT_EQ(rule.finish().status, RuleStatus::error);
}

}  // namespace
}  // namespace smdebug
