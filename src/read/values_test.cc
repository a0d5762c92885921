// Tests reading values of many steps at once, and values without a file.

#include <stdlib.h>

#include "smdebug/store/open_storage.h"

#include "read/trial_testing.h"
#include "tests/support/temporary_folder_testing.h"

namespace smdebug {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using enum Error::Code;

class ValuesTest : public TrialTest {
 protected:
  ValuesTest() { run_.put_collections("worker_0", 1); }

  static std::vector<Step> steps_of(const std::vector<StepValue>& values) {
    std::vector<Step> steps;
    for (const StepValue& value : values) steps.push_back(value.step);
    return steps;
  }
};

TEST_F(ValuesTest, ReadsTheStepsOfAModeInOneCall) {
  put(0, Mode::train, 0);
  put(1, Mode::eval, 0);
  put(2, Mode::train, 1);
  const auto trial = open();
  const auto all = trial->tensor("w")->values();
  ASSERT_TRUE(all.ok()) << all.error().message;
  EXPECT_THAT(steps_of(*all), ElementsAre(0, 1, 2));
  const auto trained = trial->tensor("w")->values(Mode::train);
  ASSERT_TRUE(trained.ok()) << trained.error().message;
  EXPECT_THAT(steps_of(*trained), ElementsAre(0, 1));
  EXPECT_THAT(floats((*trained)[1].value), ElementsAre(2, 0));
}

TEST_F(ValuesTest, ReadsTheStepsAskedForInTheirOrder) {
  for (Step step : {0, 1, 2, 3}) {
    put(step, 0);
    put(step, 1);
  }
  const Step steps[] = {3, 0, 3};
  const auto values =
      open()->tensor("w")->values(steps, Mode::global, "worker_1");
  ASSERT_TRUE(values.ok()) << values.error().message;
  EXPECT_THAT(steps_of(*values), ElementsAre(3, 0, 3));
  EXPECT_THAT(floats((*values)[0].value), ElementsAre(3, 1));
  EXPECT_THAT(floats((*values)[1].value), ElementsAre(0, 1));
}

TEST_F(ValuesTest, ReadsManyFilesOfADisk) {
  TemporaryFolder folder;
  WrittenRun run(*open_storage(folder.path() + "/a__b"));
  run.put_collections("worker_0", 1);
  constexpr Step kSteps = 500;
  for (Step step = 0; step < kSteps; ++step) {
    const std::vector<float> elements(step % 50 == 0 ? 30'000 : 3,
                                      static_cast<float>(step));
    run.put_step({{step, Mode::train, step}, "worker_0", {{"w", elements}}});
  }
  const auto trial = *Trial::open(run.storage(), options());
  EXPECT_THAT(trial->workers(), ElementsAre("worker_0"));
  const auto values = trial->tensor("w")->values();
  ASSERT_TRUE(values.ok()) << values.error().message;
  ASSERT_EQ(values->size(), static_cast<std::size_t>(kSteps));
  for (Step step = 0; step < kSteps; ++step) {
    const TensorValue& value = (*values)[static_cast<std::size_t>(step)].value;
    ASSERT_EQ(floats(value), std::vector<float>(step % 50 == 0 ? 30'000 : 3,
                                                static_cast<float>(step)));
    EXPECT_TRUE(value.bytes().is_writable());
  }
}

TEST_F(ValuesTest, FailsForTheFirstStepThatCannotBeRead) {
  for (Step step : {0, 1, 2, 3}) put(step);
  const auto trial = open();
  const auto events = *get_object(*storage_, event_file_key(2, "worker_0"));
  run_.put(event_file_key(2, "worker_0"), events.text().substr(0, 30));
  const auto values = trial->tensor("w")->values();
  EXPECT_EQ(values.error().code, corrupt);
  EXPECT_THAT(values.error().message, HasSubstr("at step 2"));
  const Step unknown[] = {0, 17};
  EXPECT_EQ(trial->tensor("w")->values(unknown, Mode::global).error().code,
            not_yet);
  EXPECT_TRUE(trial->tensor("w")->values({}, Mode::global)->empty());
}

TEST_F(ValuesTest, KeepsAllOfThemInMemoryIfAsked) {
  for (Step step : {0, 1}) put(step);
  TrialOptions keeping = options();
  keeping.keep_values = true;
  const auto trial = open(keeping);
  ASSERT_TRUE(trial->tensor("w")->values().ok());
  for (Step step : {0, 1}) {
    ASSERT_TRUE(storage_->remove(event_file_key(step, "worker_0")).ok());
  }
  const auto values = trial->tensor("w")->values();
  ASSERT_TRUE(values.ok()) << values.error().message;
  EXPECT_THAT(floats((*values)[1].value), ElementsAre(1, 0));
  EXPECT_FALSE((*values)[1].value.bytes().is_writable());
}

class MissingEventFile : public ValuesTest {
 protected:
  MissingEventFile() {
    put(0);
    put(1);
    const std::string key = event_file_key(1, "worker_0");
    events_ = std::string(get_object(*storage_, key)->text());
    EXPECT_TRUE(storage_->remove(key).ok());
  }

  Result<TensorValue> value_of(Trial& trial, Step step) {
    return trial.tensor("w")->value({step});
  }

  std::string events_;  // of step 1
};

TEST_F(MissingEventFile, IsWaitedForEveryTwoSeconds) {
  clock_.on_sleep = [&] {
    if (clock_.sleeps() == 3) run_.put(event_file_key(1, "worker_0"), events_);
  };
  const auto value = value_of(*open(), 1);
  ASSERT_TRUE(value.ok()) << value.error().message;
  EXPECT_THAT(floats(*value), ElementsAre(1, 0));
  EXPECT_EQ(clock_.monotonic(), std::chrono::seconds(6));
  ASSERT_EQ(log_.lines().size(), 1u);
  EXPECT_THAT(log_.lines()[0], HasSubstr("event file 'events/000000000001/"));
}

TEST_F(MissingEventFile, IsGivenUpAfterItsRetries) {
  TrialOptions impatient = options();
  impatient.missing_event_file_retries = 4;
  const auto trial = open(impatient);
  EXPECT_EQ(value_of(*trial, 1).error().code, unavailable);
  EXPECT_EQ(clock_.monotonic(), std::chrono::seconds(8));
  EXPECT_EQ(trial->tensor("w")->values().error().code, unavailable);
}

TEST_F(MissingEventFile, IsNotWaitedForOnceItsWorkerHasWrittenALaterOne) {
  run_.put_collections("worker_0", 2);
  put(2, 1);
  const auto trial = open();
  clock_.on_sleep = [&] { put(2); };
  EXPECT_EQ(value_of(*trial, 1).error().code, io);
  EXPECT_EQ(clock_.sleeps(), 1) << "another worker's file says nothing";
}

TEST_F(MissingEventFile, IsNotWaitedForOnceTheRunHasEnded) {
  const auto trial = open();
  clock_.on_sleep = [&] { run_.put_end_marker(); };
  EXPECT_EQ(value_of(*trial, 1).error().code, io);
  EXPECT_EQ(clock_.sleeps(), 1);
  EXPECT_EQ(value_of(*trial, 1).error().code, io);
  EXPECT_EQ(clock_.sleeps(), 1);
}

// Sets a variable for one test.
class Variable {
 public:
  Variable(const char* name, const char* text) : name_(name) {
    setenv(name, text, 1);
  }
  ~Variable() { unsetenv(name_); }

 private:
  const char* name_;
};

TEST_F(MissingEventFile, TakesItsLimitFromTheEnvironment) {
  const Variable limit("SMDEBUG_MISSING_EVENT_FILE_RETRY_LIMIT", "7");
  EXPECT_EQ(value_of(*open(), 1).error().code, unavailable);
  EXPECT_EQ(clock_.monotonic(), std::chrono::seconds(14));
}

TEST_F(ValuesTest, TakesTheWindowAndTheEndDelayFromTheEnvironment) {
  const Variable window("SMDEBUG_INCOMPLETE_STEP_WAIT_WINDOW", "10");
  const Variable delay("SMDEBUG_TRAINING_END_DELAY_REFRESH", "3");
  run_.put_collections("worker_0", 3);
  for (Step step = 0; step < 20; ++step) put(step);
  const auto trial = open();
  EXPECT_EQ(trial->last_complete_step(), 4);
  ASSERT_TRUE(trial->refresh().ok());
  EXPECT_EQ(trial->last_complete_step(), 9);
  run_.put_end_marker();
  EXPECT_TRUE(trial->has_ended());
  EXPECT_EQ(clock_.monotonic(), std::chrono::seconds(3));
}

TEST_F(ValuesTest, KeepsTheDefaultWhereAVariableMakesNoSense) {
  const Variable window("SMDEBUG_INCOMPLETE_STEP_WAIT_WINDOW", "-5 steps");
  run_.put_collections("worker_0", 3);
  for (Step step = 0; step < 20; ++step) put(step);
  EXPECT_EQ(open()->last_complete_step(), -1);
  ASSERT_EQ(log_.lines().size(), 1u);
  EXPECT_THAT(log_.lines()[0], HasSubstr("'-5 steps'; using 1000"));
}

}  // namespace
}  // namespace smdebug
