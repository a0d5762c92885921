#include "rules/measures/evaluation_phases.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/engine/step_builder_testing.h"

namespace smdebug {
namespace {

using testing::DoubleEq;
using testing::IsEmpty;
using testing::SizeIs;

constexpr double kNotFinite = std::numeric_limits<double>::infinity();

// One training with the saved losses and the series of one worker.
class EvaluationPhasesTest : public testing::Test {
 protected:
  static StepId at(Mode mode, Step step) { return {step, mode, step}; }

  EvaluationPhases::Ended save(const std::string& name, const StepId& step,
                               double loss) {
    StepBuilder builder(step);
    builder.with_scalar(name, loss);
    auto ended = phases_.begin_step(step);
    const auto role = role_of_loss(name, step.mode);
    phases_.add(builder.view().tensors[0], step, loss, *role);
    for (Evaluation& one : phases_.end_step(step)) ended.push_back(one);
    return ended;
  }

  // Notes samples for the next call of `arrive`.
  void note(const std::string& series, Mode mode, Step step, double value) {
    noted_[series].push_back({at(mode, step), value});
  }
  EvaluationPhases::Ended arrive() {
    std::vector<ScalarSeriesView> views;
    for (const auto& [name, samples] : noted_) views.push_back({name, samples});
    auto ended = phases_.add("worker_0", views);
    noted_.clear();
    return ended;
  }

  EvaluationPhases phases_;
  std::map<std::string, std::vector<ScalarSample>> noted_;
};

TEST(LossRole, IsThatOfAValidationLossForTheNamesThatUsersGiveToASet) {
  const auto part = [](const std::string& set) {
    const auto role = role_of_loss(set + "-mlogloss", Mode::global);
    EXPECT_TRUE(role) << set;
    return role ? role->part : LossRole::Part::training;
  };
  for (const std::string set :
       {"validation", "validation_0", "valid", "valid_1", "val", "dval", "dev",
        "eval", "test", "dtest", "dvalid"}) {
    const auto role = role_of_loss(set + "-mlogloss", Mode::global);
    ASSERT_TRUE(role) << set;
    EXPECT_EQ(role->part, LossRole::Part::validation) << set;
    EXPECT_EQ(role->pair, "mlogloss") << set;
  }
  for (const std::string set : {"train", "fold3", "tester", "d"})
    EXPECT_EQ(part(set), LossRole::Part::training) << set;
}

TEST_F(EvaluationPhasesTest, CompareEachEvaluationWithTheTrainingBeforeIt) {
  save("Loss", at(Mode::train, 0), 5);
  save("Loss", at(Mode::train, 1), 3);
  EXPECT_THAT(save("Loss", at(Mode::eval, 2), 6), IsEmpty());
  EXPECT_THAT(save("Loss", at(Mode::eval, 3), 8), IsEmpty());
  const auto first = save("Loss", at(Mode::train, 4), 1);
  ASSERT_THAT(first, SizeIs(1));
  EXPECT_EQ(first[0].validation.mean, 7);
  EXPECT_EQ(first[0].training.mean, 4);
  EXPECT_EQ(first[0].last.step.global, 3);
  save("Loss", at(Mode::eval, 5), 9);
  const auto second = phases_.finish();
  ASSERT_THAT(second, SizeIs(1));
  EXPECT_EQ(second[0].validation.mean, 9);
  EXPECT_EQ(second[0].training.mean, 1);
  EXPECT_THAT(phases_.finish(), IsEmpty());
}

TEST_F(EvaluationPhasesTest, PreferTheSeriesOfAllLossesToTheSavedOnes) {
  save("CE_output_0", at(Mode::train, 0), 4);
  note("loss_output_0", Mode::train, 0, 4);
  note("loss_output_0", Mode::train, 1, 2);  // not saved
  note("CE_output_0", Mode::eval, 2, 5);
  note("CE_output_0", Mode::eval, 3, 6);  // not saved
  EXPECT_THAT(arrive(), IsEmpty());
  save("CE_output_0", at(Mode::eval, 2), 5);
  note("loss_output_0", Mode::train, 4, 1);
  const auto ended = arrive();
  ASSERT_THAT(ended, SizeIs(1));
  EXPECT_TRUE(ended[0].is_of_series);
  EXPECT_EQ(ended[0].validation.mean, 5.5);
  EXPECT_EQ(ended[0].validation.count, 2);
  EXPECT_THAT(ended[0].validation.error(), DoubleEq(0.5));  // sqrt(0.5 / 2)
  EXPECT_EQ(ended[0].training.mean, 3);
  EXPECT_EQ(ended[0].pair, "CE_output_0");
  EXPECT_EQ(ended[0].last.step.global, 3);
  EXPECT_THAT(save("CE_output_0", at(Mode::train, 4), 1), IsEmpty());
}

// The loss that is minimized has a further term.
TEST_F(EvaluationPhasesTest, DoNotCompareWithAnotherLoss) {
  for (const double term : {0.0, 0.5}) {
    phases_ = {};
    for (Step step = 0; step < 4; ++step) {
      note("loss_output_0", Mode::train, step, 4 + term);
    }
    note("CE_output_0", Mode::eval, 4, 6);
    arrive();
    save("CE_output_0", at(Mode::train, 0), 4);
    save("CE_output_0", at(Mode::train, 2), 4);
    const auto ended = phases_.finish();
    ASSERT_THAT(ended, SizeIs(1));
    EXPECT_EQ(ended[0].training.mean, 4);
    EXPECT_EQ(ended[0].training.count, term == 0 ? 4 : 2);
  }
}

TEST_F(EvaluationPhasesTest, RememberThatASeriesIsAnotherLoss) {
  save("CE_output_0", at(Mode::train, 0), 4);
  note("loss_output_0", Mode::train, 0, 2);
  note("CE_output_0", Mode::eval, 1, 6);
  note("loss_output_0", Mode::train, 2, 3);
  note("CE_output_0", Mode::eval, 3, 6);
  ASSERT_THAT(arrive(), SizeIs(1));
  const auto ended = phases_.finish();
  ASSERT_THAT(ended, SizeIs(1));
  EXPECT_EQ(ended[0].training.count, 0);
}

TEST_F(EvaluationPhasesTest, DoNotDependOnHowManySamplesArriveAtOnce) {
  for (const bool at_once : {true, false}) {
    phases_ = {};
    EvaluationPhases::Ended all;
    save("CE_output_0", at(Mode::train, 0), 1);
    for (Step step = 0; step < 12; ++step) {
      const bool is_training = step % 4 < 2;
      note(is_training ? "loss_output_0" : "CE_output_0",
           is_training ? Mode::train : Mode::eval, step,
           1 + static_cast<double>(step));
      if (at_once) continue;
      for (Evaluation& one : arrive()) all.push_back(one);
    }
    for (Evaluation& one : arrive()) all.push_back(one);
    for (Evaluation& one : phases_.finish()) all.push_back(one);
    ASSERT_THAT(all, SizeIs(3));
    EXPECT_EQ(all[1].training.mean, 5.5);
    EXPECT_EQ(all[1].validation.mean, 7.5);
    EXPECT_EQ(all[2].validation.mean, 11.5);
  }
}

// The first samples of a live run arrive at once, the others late.
TEST_F(EvaluationPhasesTest, WaitForSeriesThatMayFollow) {
  for (const bool follows : {true, false}) {
    phases_ = {};
    note("loss_output_0", Mode::train, 0, 4);
    arrive();
    save("CE_output_0", at(Mode::train, 0), 4);
    save("CE_output_0", at(Mode::eval, 1), 5);
    EXPECT_THAT(save("CE_output_0", at(Mode::train, 3), 4), IsEmpty());
    if (follows) {
      note("CE_output_0", Mode::eval, 1, 5);
      note("CE_output_0", Mode::eval, 2, 9);
    }
    note("loss_output_0", Mode::train, 3, 4);
    const auto ended = arrive();
    ASSERT_THAT(ended, SizeIs(1));
    EXPECT_EQ(ended[0].validation.mean, follows ? 7 : 5);
    EXPECT_EQ(ended[0].is_of_series, follows);
    save("CE_output_0", at(Mode::eval, 4), 6);
    EXPECT_THAT(save("CE_output_0", at(Mode::train, 5), 4),
                SizeIs(follows ? 0 : 1));
  }
}

TEST_F(EvaluationPhasesTest, EndAllThatWaitWithTheRun) {
  note("loss_output_0", Mode::train, 0, 4);
  arrive();
  save("CE_output_0", at(Mode::train, 0), 4);
  save("CE_output_0", at(Mode::eval, 1), 5);
  EXPECT_THAT(phases_.finish(), SizeIs(1));
}

TEST_F(EvaluationPhasesTest, TakeAStepWithABackwardPassForTraining) {
  note("CE_output_0", Mode::eval, 0, 3);
  for (Step step = 1; step < 3; ++step) {  // in evaluation mode
    note("CE_output_0", Mode::eval, step, 1);
    note("loss_output_0", Mode::eval, step, 1);
  }
  const auto ended = arrive();
  ASSERT_THAT(ended, SizeIs(1));
  EXPECT_EQ(ended[0].validation.mean, 3);
  EXPECT_EQ(ended[0].validation.count, 1);
  EXPECT_THAT(phases_.finish(), IsEmpty());
}

TEST_F(EvaluationPhasesTest, KnowALossModuleOfTheNameOfBackwardPasses) {
  RunFacts facts;
  facts.modules = {{"loss", "CrossEntropyLoss", false, {}}};
  phases_.add("worker_0", facts);
  note("loss_output_0", Mode::train, 0, 4);
  note("loss_output_0", Mode::eval, 1, 5);
  note("loss_output_0", Mode::eval, 2, 7);
  note("loss_output_0", Mode::train, 3, 4);
  const auto ended = arrive();
  ASSERT_THAT(ended, SizeIs(1));
  EXPECT_EQ(ended[0].validation.mean, 6);
  EXPECT_EQ(ended[0].training.mean, 4);
}

TEST_F(EvaluationPhasesTest, LeaveOutSamplesThatAreNotFiniteOrNoLosses) {
  note("CE_output_0", Mode::eval, 0, kNotFinite);
  note("CE_output_0", Mode::eval, 1, 2);
  note("CE_output_0", Mode::predict, 2, 7);
  note("accuracy", Mode::eval, 3, 7);
  arrive();
  const auto ended = phases_.finish();
  ASSERT_THAT(ended, SizeIs(1));
  EXPECT_EQ(ended[0].validation.mean, 2);
  EXPECT_EQ(ended[0].last.step.global, 1);
}

}  // namespace
}  // namespace smdebug
