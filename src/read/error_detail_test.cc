// Tests the detail and the subject of each error of a reader.

#include "smdebug/core/error_subject.h"

#include "read/trial_testing.h"

namespace smdebug {
namespace {

using enum Error::Detail;

class ErrorDetailTest : public TrialTest {
 protected:
  ErrorDetailTest() {
    run_.put_collections("worker_0", 2);
    run_.put_collections("worker_1", 2);
    for (Step step : {0, 4}) {
      put(step, 0);
      put(step, 1);
    }
    for (const char* worker : {"worker_0", "worker_1"}) {
      WrittenStep step{{6, Mode::train, 6}, worker, {}};
      step.tensors.push_back({"reduced", {}});
      step.tensors.back().reductions = {{{Reduction::max, false}, 1.0f}};
      step.tensors.push_back({"shaped", {}, false, true});
      run_.put_step(step);
    }
    put(8, 0);
    trial_ = open();
  }

  Error error_of(std::string_view name, const StepQuery& query) {
    auto value = trial_->tensor(name)->value(query);
    EXPECT_FALSE(value.ok());
    return std::move(value).error();
  }

  Error wait_for(Step step) {
    const Step steps[] = {step};
    return trial_->wait_for_steps(steps, Mode::train, std::chrono::seconds(0))
        .error();
  }

  std::unique_ptr<Trial> trial_;
};

TEST_F(ErrorDetailTest, NamesAnUnknownTensor) {
  const auto tensor = trial_->tensor("v");
  EXPECT_EQ(tensor.error().detail, tensor_unknown);
  EXPECT_EQ(tensor.error().subject->tensor, "v");
}

TEST_F(ErrorDetailTest, TellsWhyAStepHasNoValue) {
  EXPECT_EQ(error_of("w", {2}).detail, step_passed);
  EXPECT_EQ(error_of("w", {9}).detail, step_not_yet);
  EXPECT_EQ(error_of("w", {6}).detail, tensor_not_at_step);
  EXPECT_EQ(error_of("reduced", {6}).detail, only_reductions);
  EXPECT_EQ(error_of("shaped", {6}).detail, elements_unavailable);
  EXPECT_EQ(trial_->tensor("reduced")->shape({6}).error().detail,
            shape_unavailable);
}

TEST_F(ErrorDetailTest, NamesTheTensorTheStepAndTheWorker) {
  const Error error = error_of("w", {4, Mode::train, "worker_7"});
  EXPECT_EQ(error.detail, worker_unknown);
  ASSERT_TRUE(error.subject);
  EXPECT_EQ(error.subject->tensor, "w");
  EXPECT_EQ(error.subject->worker, "worker_7");
  EXPECT_EQ(error.subject->step, 4);
  EXPECT_EQ(error.subject->mode, Mode::train);
}

TEST_F(ErrorDetailTest, LooksForTheStepBeforeTheWorker) {
  EXPECT_EQ(error_of("w", {2, Mode::train, "worker_7"}).detail, step_passed);
  EXPECT_EQ(error_of("w", {8, Mode::train, "worker_1"}).detail, worker_unknown);
}

TEST_F(ErrorDetailTest, AsksForWorkersOnlyWhereTheTensorIs) {
  for (Step step : {2, 6, 9}) {
    const auto workers = trial_->tensor("w")->workers(step, Mode::train);
    EXPECT_EQ(workers.error().detail, tensor_not_at_step);
  }
}

TEST_F(ErrorDetailTest, BlamesAMissingEventFileOnTheStep) {
  ASSERT_TRUE(storage_->remove(event_file_key(0, "worker_0")).ok());
  EXPECT_EQ(error_of("w", {0}).detail, elements_unavailable);
  const auto values = trial_->tensor("w")->values(Mode::train);
  EXPECT_EQ(values.error().detail, elements_unavailable);
  EXPECT_EQ(values.error().subject->step, 0);
}

TEST_F(ErrorDetailTest, TellsAStepThatWasPassedFromTheEndOfTheRun) {
  EXPECT_EQ(wait_for(2).detail, step_passed);
  EXPECT_EQ(wait_for(9).detail, step_not_yet);
  run_.put_end_marker();
  EXPECT_EQ(wait_for(2).detail, step_passed);
  const Error end = wait_for(9);
  EXPECT_EQ(end.detail, no_more_data);
  EXPECT_EQ(end.subject->step, 9);
  EXPECT_EQ(end.subject->last_step, 8);
}

TEST_F(ErrorDetailTest, TellsARunThatLacksCollectionsFromAPath) {
  ASSERT_TRUE(storage_->remove(collections_file_key("worker_1")).ok());
  TrialOptions strict = options();
  strict.require_all_workers = true;
  EXPECT_TRUE(Trial::open(storage_, strict).ok()) << "it has not ended yet";
  ASSERT_EQ(log_.lines().size(), 1u);
  EXPECT_THAT(log_.lines()[0], testing::HasSubstr("1 of 2 workers"));
  run_.put_end_marker();
  EXPECT_EQ(Trial::open(storage_, strict).error().detail, collections_missing);
  EXPECT_TRUE(Trial::open(storage_, options()).ok());
  const auto nothing = Trial::open(make_memory_storage("memory://b"), strict);
  EXPECT_EQ(nothing.error().detail, none);
}

}  // namespace
}  // namespace smdebug
