// A training that is started again in the folder of its run. docs/format.md
// "Attempts" describes what the writer does.

#include "format/run_file.h"
#include "read/trial_testing.h"

namespace smdebug {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class AttemptsTest : public TrialTest {
 protected:
  AttemptsTest() {
    begin_attempt(0);
    for (Step step = 0; step < 5; ++step) put_value(step, "w", 1);
    put_value(4, "old", 1, "worker_1");
  }

  // Does what the writer does before the first file of an attempt.
  void begin_attempt(Step first_step) {
    const std::size_t earlier = file_.attempts.size();
    for (const std::string_view prefix : {kIndexPrefix, kEventsPrefix}) {
      const auto files = storage_->list(prefix);
      for (const ObjectEntry& object : *files) {
        if (parse_step_file_key(object.key)->step < first_step) continue;
        EXPECT_TRUE(storage_->move(object.key,
                                   attempt_folder(earlier) + "/" + object.key));
      }
    }
    if (earlier > 0) {
      run_.put(attempt_folder(earlier) + "/" + std::string(kEndMarkerKey), "");
    }
    run_.put_collections("worker_0", 1);
    RunAttempt& attempt = file_.attempts.emplace_back();
    attempt.started_seconds = 1000.0 * static_cast<double>(earlier + 1);
    attempt.first_step = first_step;
    attempt.status = "running";
    run_.put(std::string(kRunFileKey), write_run_file(file_));
  }

  void put_value(Step step, const std::string& name, float value,
                 const std::string& worker = "worker_0") {
    run_.put_step({{step, Mode::train, step}, worker, {{name, {value}}}});
  }

  static float value_at(Trial& trial, Step step) {
    const auto value = trial.tensor("w")->value({step, Mode::global, {}});
    EXPECT_TRUE(value) << value.error().message;
    return value ? floats(*value)[0] : -1;
  }

  RunFile file_;
};

TEST_F(AttemptsTest, ATrialShowsTheNewestAttempt) {
  begin_attempt(0);
  put_value(0, "w", 2);
  put_value(1, "w", 2);
  const auto trial = open();
  EXPECT_EQ(trial->attempt(), 2u);
  EXPECT_THAT(trial->steps(), ElementsAre(0, 1));
  EXPECT_THAT(trial->tensor_names(), ElementsAre("w"));
  EXPECT_EQ(value_at(*trial, 0), 2);
}

TEST_F(AttemptsTest, AnOpenTrialFollowsTheNewestAttempt) {
  const auto trial = open();
  auto old = trial->tensor("old");
  ASSERT_TRUE(old);
  EXPECT_THAT(trial->steps(), SizeIs(5));
  EXPECT_EQ(value_at(*trial, 0), 1);
  begin_attempt(0);
  put_value(0, "w", 2);

  EXPECT_THAT(trial->steps(), ElementsAre(0));
  EXPECT_EQ(trial->attempt(), 2u);
  EXPECT_THAT(trial->tensor_names(), ElementsAre("w"));
  EXPECT_THAT(trial->tensor_names(TensorNameQuery{.mode = Mode::train})->size(),
              1u);
  EXPECT_EQ(value_at(*trial, 0), 2);
  EXPECT_FALSE(trial->has_tensor("old"));
  EXPECT_THAT(trial->workers(), ElementsAre("worker_0"));
  EXPECT_THAT(log_.text(), HasSubstr("attempt 2 has begun"));
}

TEST_F(AttemptsTest, ATensorThatTheNewAttemptLacksHasNoSteps) {
  const auto trial = open();
  auto old = trial->tensor("old");
  ASSERT_TRUE(old);
  begin_attempt(0);
  put_value(0, "w", 2);
  EXPECT_EQ(old->name(), "old");
  EXPECT_THAT(old->steps(), IsEmpty());
  EXPECT_FALSE(old->value({4, Mode::global, {}}));
  put_value(1, "old", 7);
  EXPECT_THAT(old->steps(), ElementsAre(1));
}

TEST_F(AttemptsTest, AnAttemptThatContinuesKeepsTheStepsBeforeIt) {
  const auto trial = open();
  begin_attempt(3);
  put_value(3, "w", 2);
  EXPECT_THAT(trial->steps(), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(value_at(*trial, 2), 1);
  EXPECT_EQ(value_at(*trial, 3), 2);
}

TEST_F(AttemptsTest, KeptValuesAreThoseOfTheNewestAttempt) {
  TrialOptions keeping = options();
  keeping.keep_values = true;
  const auto trial = open(keeping);
  EXPECT_EQ(value_at(*trial, 0), 1);
  begin_attempt(0);
  put_value(0, "w", 2);
  EXPECT_THAT(trial->steps(), ElementsAre(0));
  EXPECT_EQ(value_at(*trial, 0), 2);
}

TEST_F(AttemptsTest, AreListedWithThePlaceOfTheirReplacedSteps) {
  begin_attempt(0);
  begin_attempt(0);
  const auto attempts = open()->attempts();
  ASSERT_TRUE(attempts);
  ASSERT_THAT(*attempts, SizeIs(3));
  EXPECT_EQ((*attempts)[0].number, 1u);
  EXPECT_EQ((*attempts)[0].location, "memory://runs/a/attempts/1");
  EXPECT_EQ((*attempts)[1].started_seconds, 2000);
  EXPECT_EQ((*attempts)[2].number, 3u);
  EXPECT_EQ((*attempts)[2].location, "");
  EXPECT_EQ((*attempts)[2].first_step, 0);
}

TEST_F(AttemptsTest, AValueThatIsWaitedForEndsWithItsAttempt) {
  const auto trial = open();
  ASSERT_TRUE(storage_->remove(event_file_key(4, "worker_0")));
  clock_.on_sleep = [&] {
    if (clock_.sleeps() == 1) begin_attempt(0);
  };
  auto w = trial->tensor("w");
  const auto value = w->value({4, Mode::global, "worker_0"});
  ASSERT_FALSE(value);
  EXPECT_LT(clock_.monotonic(), std::chrono::seconds(10));
}

}  // namespace
}  // namespace smdebug
