// Tests the errors about a step without a value: the steps that the tensor has,
// and the setting that saves the one asked for.

#include "read/trial_testing.h"

namespace smdebug {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

class AbsenceTest : public TrialTest {
 protected:
  // `w` is in collection `weights`, which is saved every `interval` steps.
  void put_collection(Step interval) {
    StoredCollection weights;
    weights.tensors = {.name = "weights", .tensor_names = {"w"}};
    weights.schedule.emplace();
    weights.schedule->fill(ModeSchedule{.save_interval = interval});
    CollectionsFile file;
    file.num_workers = 1;
    file.collections = {weights};
    run_.put(collections_file_key("worker_0"), write_collections_file(file));
  }

  void put_other(Step step, Mode mode, Step mode_step) {
    run_.put_step({{step, mode, mode_step}, "worker_0", {{"other", {1}}}});
  }

  // The error about `w` in a run that has ended.
  std::string error_of(const StepQuery& query) {
    run_.put_end_marker();
    const auto trial = open();
    return trial->tensor("w")->value(query).error().message;
  }
};

TEST_F(AbsenceTest, NamesTheNearestStepsAndTheSettingThatSavesTheOneAskedFor) {
  put_collection(10);
  for (Step step = 0; step < 60; step += 10) put(step);
  EXPECT_EQ(error_of({27}),
            "tensor 'w' at step 27: the step was not saved; the tensor has 6 "
            "steps, nearest: 10, 20, 30, 40; collection 'weights' is saved "
            "every 10 steps; SaveConfig(save_steps=[27]) of a hook saves TRAIN "
            "step 27, SaveConfig(save_interval=1) every step");
}

TEST_F(AbsenceTest, ListsAllStepsWhereTheyAreFew) {
  put_collection(500);
  put(0);
  EXPECT_THAT(
      error_of({10, Mode::train}),
      HasSubstr("the tensor has 1 TRAIN step: 0; collection 'weights' "
                "is saved every 500 steps; SaveConfig(save_steps=[10]"));
}

TEST_F(AbsenceTest, PromisesNoStepThatTheTrainingDidNotReach) {
  put_collection(10);
  put(0);
  put(10);
  for (const Step step : {20, 25, 700}) {
    const std::string error = error_of({step});
    EXPECT_THAT(error, EndsWith("the run ended before TRAIN step 20, which is "
                                "due next"));
  }
  EXPECT_THAT(error_of({15}), HasSubstr("save_steps=[15]"));
}

TEST_F(AbsenceTest, CountsTheStepOfASettingInTheModeOfTheStep) {
  put_collection(10);
  put_other(0, Mode::eval, 0);
  put(5, Mode::train, 0);
  put(15, Mode::train, 10);
  put_other(16, Mode::eval, 1);
  EXPECT_THAT(error_of({8}), HasSubstr("save_steps=[3]) of a hook saves TRAIN "
                                       "step 3"));
  // Another mode may have begun before step 3.
  EXPECT_THAT(error_of({3}), HasSubstr("counted in each mode"));
}

TEST_F(AbsenceTest, SaysOfAStepWithoutTheTensorWhetherItIsDue) {
  put_collection(10);
  put(0);
  put_other(3, Mode::train, 3);
  put_other(4, Mode::eval, 0);
  put(10);
  EXPECT_THAT(
      error_of({3}),
      HasSubstr("the step holds other tensors, not this one; the tensor "
                "has 2 steps: 0, 10; collection 'weights' is saved "
                "every 10 steps; SaveConfig(save_steps=[3])"));
  EXPECT_THAT(error_of({4}), EndsWith("the step is EVAL step 0, the modes of "
                                      "the tensor are TRAIN"));
  EXPECT_THAT(error_of({0, Mode::eval}),
              EndsWith("not this one; the tensor has no EVAL steps, its modes "
                       "are TRAIN"));
}

TEST_F(AbsenceTest, NamesNoSettingForAStepThatWasDue) {
  put_collection(10);
  put_other(0, Mode::train, 0);
  put(10);
  EXPECT_THAT(error_of({0}), EndsWith("the tensor has 1 step: 10"));
}

TEST_F(AbsenceTest, NamesTheCollectionThatSavesTheElements) {
  put_collection(10);
  run_.put_step({{0, Mode::train, 0}, "worker_0", {{"w", {}, false, true}}});
  const std::string error = error_of({0});
  EXPECT_THAT(error, HasSubstr("its elements were not saved, only its shape"));
  EXPECT_THAT(error, HasSubstr("a hook with include_collections=['weights'] "
                               "and no reduction_config saves them"));
  EXPECT_THAT(error, Not(HasSubstr("they were at")));
  put(3);
  EXPECT_THAT(error_of({0}), HasSubstr("they were at 1 other step: 3; a hook"));
}

}  // namespace
}  // namespace smdebug
