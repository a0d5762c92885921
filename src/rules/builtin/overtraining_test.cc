#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/engine/rule_harness_testing.h"

namespace smdebug {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class OvertrainingTest : public testing::Test {
 protected:
  void use(const std::map<std::string, std::string>& given) {
    rule_.emplace("Overtraining", given);
    next_ = 0;
  }

  bool train(double loss) { return feed(Mode::train, loss); }
  bool eval(double loss) { return feed(Mode::eval, loss); }

  bool feed(Mode mode, double loss) {
    const Step step = next_++;
    return rule_->fires_at(
        StepBuilder({step, mode, step}).with_scalar("Loss", loss));
  }

  std::optional<RuleHarness> rule_;
  Step next_ = 0;
};

TEST_F(OvertrainingTest, FiresWhenBothLossesHaveStoppedForTheirPatience) {
  use({{"patience_train", "2"}, {"patience_validation", "3"}});
  train(1);
  eval(1);
  EXPECT_FALSE(train(1));
  EXPECT_FALSE(train(1));  // the training loss has stopped
  EXPECT_FALSE(eval(1));
  EXPECT_FALSE(eval(1));
  EXPECT_TRUE(eval(1));  // the third saved step without a new best
  ASSERT_EQ(rule_->verdict().evidence.size(), 2u);
  EXPECT_EQ(rule_->verdict().evidence[0].value, 3);
  EXPECT_EQ(rule_->verdict().evidence[0].threshold, 3);
  EXPECT_EQ(rule_->verdict().evidence[1].value, 2);
  EXPECT_EQ(rule_->verdict().evidence[1].threshold, 2);
}

TEST_F(OvertrainingTest, LetsATrainingPassOfWhichOneLossStillImproves) {
  use({{"patience_train", "2"}, {"patience_validation", "2"}});
  double falling = 10;
  eval(1);
  for (int i = 0; i < 20; ++i) {
    EXPECT_FALSE(train(falling -= 0.1));
    EXPECT_FALSE(eval(1));
  }
  EXPECT_EQ(rule_->finish().status, RuleStatus::no_issues_found);
}

TEST_F(OvertrainingTest, TakesALossForANewBestOnlyBelowTheBestMinusDelta) {
  for (const bool is_enough : {false, true}) {
    use({{"patience_train", "1"},
         {"patience_validation", "1"},
         {"delta", "0.25"}});
    eval(1);
    eval(1);
    train(1);
    EXPECT_EQ(train(is_enough ? 0.7 : 0.75), !is_enough);
  }
}

TEST_F(OvertrainingTest, SaysWhatTheBestLossesWereAndWhere) {
  use({{"patience_train", "1"}, {"patience_validation", "2"}});
  train(0.5);
  eval(0.25);
  train(0.5);
  eval(0.75);
  EXPECT_TRUE(eval(0.5));
  EXPECT_EQ(rule_->verdict().message,
            "Loss: the validation loss has not improved for 2 saved steps "
            "(best: 0.25 at step 1 (EVAL step 1), last: 0.5), and the training "
            "loss has not improved for 1 saved steps (best: 0.5 at step 0 "
            "(TRAIN step 0), last: 0.5)");
  EXPECT_THAT(rule_->verdict().advice, HasSubstr("stop"));
}

TEST_F(OvertrainingTest, HasThePatienceOfTheDocumentsByDefault) {
  use({});
  train(1);
  eval(1);
  for (int i = 0; i < 5; ++i) train(1);
  for (int i = 0; i < 9; ++i) EXPECT_FALSE(eval(0.995)) << i;
  EXPECT_TRUE(eval(0.995));
}

TEST_F(OvertrainingTest, NeverSaysNoIssueWithFewerLossesThanItsPatience) {
  use({{"patience_train", "2"}, {"patience_validation", "3"}});
  for (int i = 0; i < 3; ++i) {
    train(1);
    eval(1);
  }
  EXPECT_EQ(rule_->finish().status, RuleStatus::error);
  EXPECT_EQ(rule_->verdict().message,
            "nothing to judge: 3 evaluated steps are too few; 4 are needed");
}

TEST_F(OvertrainingTest, TakesNanForNoNewBest) {
  use({{"patience_train", "1"}, {"patience_validation", "1"}});
  const double nan = std::numeric_limits<double>::quiet_NaN();
  eval(nan);
  EXPECT_TRUE(train(nan));
  EXPECT_THAT(rule_->verdict().message, HasSubstr("no loss was finite"));
}

TEST_F(OvertrainingTest, CountsAStepOfSeveralWorkersOnce) {
  use({{"patience_train", "2"}, {"patience_validation", "1"}});
  eval(1);
  eval(1);
  const auto both = [&] {
    const Step step = next_++;
    return rule_->fires_at(StepBuilder({step, Mode::train, step})
                               .with_scalar("Loss", 1)
                               .with_scalar("Loss", 3)
                               .from_worker("worker_1"));
  };
  EXPECT_FALSE(both());
  EXPECT_FALSE(both());
  EXPECT_TRUE(both());
  EXPECT_THAT(rule_->verdict().message, HasSubstr("2 at step 2"));
}

TEST_F(OvertrainingTest, PairsTheLossesOfXgboost) {
  use({{"patience_train", "1"}, {"patience_validation", "1"}});
  for (Step step = 0; step < 2; ++step) {
    EXPECT_EQ(rule_->fires_at(StepBuilder({step, Mode::global, step})
                                  .with_scalar("train-logloss", 1)
                                  .with_scalar("validation-logloss", 1)),
              step == 1);
  }
}

TEST_F(OvertrainingTest, NeverSaysNoIssueWithoutAValidationLoss) {
  use({});
  for (int i = 0; i < 30; ++i) EXPECT_FALSE(train(1));
  EXPECT_EQ(rule_->finish().status, RuleStatus::error);
  EXPECT_THAT(
      rule_->verdict().message,
      AllOf(HasSubstr("nothing to judge"), HasSubstr("no validation losses")));
}

// Four training steps and three of evaluation in each epoch, with the series of
// all losses.
TEST_F(OvertrainingTest, CountsTheEvaluationsOfSeries) {
  use({{"patience_train", "8"}, {"patience_validation", "2"}});
  Step step = 0;
  std::vector<Step> ends;
  for (const double validation : {1.0, 0.5, 0.5, 0.495, 0.5}) {
    std::vector<ScalarSample> trained, evaluated;
    for (int i = 0; i < 4; ++i, ++step) {
      trained.push_back({{step, Mode::train, step}, 0.25});
    }
    for (int i = 0; i < 3; ++i, ++step) {
      evaluated.push_back({{step, Mode::eval, step}, validation + i - 1});
    }
    const ScalarSeriesView series[] = {{"CELoss_output_0", evaluated},
                                       {"loss_output_0", trained}};
    rule_->fires_at(
        StepBuilder(trained[0].step).with_scalar("CELoss_output_0", 0.25));
    rule_->notes(series, "worker_0");
    rule_->fires_at(StepBuilder(evaluated[0].step)
                        .with_scalar("CELoss_output_0", validation));
    ends.push_back(step - 1);
  }
  const Verdict& verdict = rule_->finish();
  EXPECT_EQ(verdict.status, RuleStatus::issues_found);
  EXPECT_EQ(verdict.step.global, ends[3]);
  EXPECT_EQ(verdict.message,
            "CELoss_output_0: the validation loss has not improved for 2 "
            "evaluations (best: 0.5 at step 13 (EVAL step 13), last: 0.495), "
            "and the training loss has not improved for 12 steps (best: 0.25 "
            "at step 6 (EVAL step 6), last: 0.25)");
}

}  // namespace
}  // namespace smdebug
