#include "smdebug/read/trial.h"

#include "read/trial_testing.h"

namespace smdebug {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class OpenTrial : public TrialTest {};
class AskTrial : public TrialTest {
 protected:
  AskTrial() {
    run_.put_collections("worker_0", 1,
                         {{"weights", {"weight$"}, {}},
                          {"losses", {}, {"loss"}},
                          {"nothing", {}, {}}});
    run_.put_step({{0, Mode::train, 0}, "worker_0", {{"a.weight", {1}}}});
    run_.put_step(
        {{1, Mode::eval, 0}, "worker_0", {{"a.weight", {1}}, {"loss", {2}}}});
    run_.put_step({{2, Mode::train, 1}, "worker_0", {{"b.weight", {1}}}});
    trial_ = open();
  }

  std::vector<std::string> names(const TensorNameQuery& query) {
    auto names = trial_->tensor_names(query);
    EXPECT_TRUE(names.ok()) << names.error().message;
    return *names;
  }

  std::unique_ptr<Trial> trial_;
};

TEST_F(OpenTrial, FailsAtOnceWhereNothingIsAndNoTimeIsGiven) {
  const auto trial = Trial::open(storage_, options());
  ASSERT_FALSE(trial.ok());
  EXPECT_EQ(trial.error().code, Error::Code::not_found);
  EXPECT_THAT(trial.error().message, HasSubstr("'memory://runs/a'"));
  EXPECT_EQ(clock_.sleeps(), 0);
}

TEST_F(OpenTrial, WaitsAsLongAsItsTimeoutAndSaysSoSoonAndEachTenSeconds) {
  TrialOptions patient = options();
  patient.timeout = std::chrono::seconds(25);
  EXPECT_FALSE(Trial::open(storage_, patient).ok());
  EXPECT_EQ(clock_.monotonic(), std::chrono::seconds(25));
  EXPECT_EQ(log_.lines().size(), 3u);  // after 2, 12 and 22 s
  EXPECT_THAT(log_.lines(),
              testing::Each(HasSubstr("; Ctrl-C ends the wait, and so does")));
}

TEST_F(OpenTrial, OpensTheRunThatAppearsWhileItWaits) {
  TrialOptions patient = options();
  patient.timeout = std::nullopt;
  clock_.on_sleep = [&] {
    if (clock_.sleeps() == 5) run_.put_collections("worker_0", 1);
  };
  EXPECT_EQ(open(patient)->num_workers(), 1);
  EXPECT_EQ(clock_.sleeps(), 5);
}

TEST_F(OpenTrial, WaitsForTheCollectionsOfEveryWorker) {
  run_.put_collections("worker_0", 2);
  TrialOptions patient = options();
  patient.timeout = std::nullopt;
  clock_.on_sleep = [&] { run_.put_collections("worker_1", 2); };
  EXPECT_THAT(open(patient)->workers(), ElementsAre("worker_0", "worker_1"));
  EXPECT_EQ(clock_.sleeps(), 1);
}

TEST_F(OpenTrial, OpensARunWithoutCollectionsAtOnce) {
  put(0);
  TrialOptions patient = options();
  patient.timeout = std::nullopt;
  EXPECT_THAT(open(patient)->workers(), ElementsAre("worker_0"));
  EXPECT_EQ(clock_.sleeps(), 0);
}

TEST_F(OpenTrial, OpensWithFewerWorkersWhenTheTimeIsOver) {
  run_.put_collections("worker_0", 2);
  EXPECT_EQ(open()->num_workers(), 2);
}

TEST_F(OpenTrial, OpensARunThatEndedWithoutAStep) {
  run_.put_end_marker();
  const auto trial = open();
  EXPECT_TRUE(trial->has_ended());
  EXPECT_THAT(trial->steps(), IsEmpty());
  EXPECT_THAT(trial->tensor_names(), IsEmpty());
  EXPECT_EQ(trial->last_complete_step(), -1);
}

TEST_F(OpenTrial, RefusesARangeWithoutSteps) {
  TrialOptions empty = options();
  empty.first_step = 5;
  empty.end_step = 5;
  EXPECT_EQ(Trial::open(storage_, empty).error().code,
            Error::Code::invalid_argument);
}

TEST_F(OpenTrial, LoadsOnlyTheStepsOfItsRange) {
  run_.put_collections("worker_0", 1);
  for (Step step : {0, 1, 2, 3}) put(step);
  TrialOptions some = options();
  some.first_step = 1;
  some.end_step = 3;
  EXPECT_THAT(open(some)->steps(), ElementsAre(1, 2));
}

TEST_F(OpenTrial, DrainsTheWriterOfThisProcessFirst) {
  run_.put_collections("worker_0", 1);
  TrialOptions live = options();
  Step next = 0;
  live.before_refresh = [&] { put(next++); };
  const auto trial = open(live);
  const std::size_t before = trial->steps().size();
  EXPECT_EQ(trial->steps().size(), before + 1);
}

TEST_F(OpenTrial, TakesTheNamesOfAllWorkersIntoACollection) {
  run_.put_collections("worker_0", 2, {{"losses", {"l"}, {"b"}}});
  run_.put_collections("worker_1", 2, {{"losses", {"other"}, {"a", "b"}}});
  const auto losses = open()->find_collection("losses");
  ASSERT_TRUE(losses);
  EXPECT_THAT(losses->tensors.include_regex, ElementsAre("l"));
  EXPECT_THAT(losses->tensors.tensor_names, ElementsAre("a", "b"));
}

TEST_F(OpenTrial, SeesACollectionsFileThatHasGrown) {
  run_.put_collections("worker_0", 1, {{"losses", {}, {}}});
  const auto trial = open();
  run_.put_collections("worker_0", 1, {{"losses", {}, {"late"}}});
  EXPECT_THAT(trial->collections()[0].tensors.tensor_names,
              ElementsAre("late"));
}

TEST_F(AskTrial, NamesTensorsByStepAndMode) {
  EXPECT_THAT(trial_->tensor_names(),
              ElementsAre("a.weight", "b.weight", "loss"));
  EXPECT_THAT(names({std::nullopt, Mode::eval, {}, {}}),
              ElementsAre("a.weight", "loss"));
  EXPECT_THAT(names({1, Mode::train, {}, {}}), ElementsAre("b.weight"));
  EXPECT_THAT(names({1, Mode::global, {}, {}}),
              ElementsAre("a.weight", "loss"));
}

TEST_F(AskTrial, AnswersUnknownStepsAndModesWithNothing) {
  EXPECT_THAT(names({std::nullopt, Mode::predict, {}, {}}), IsEmpty());
  EXPECT_THAT(names({7, Mode::predict, {}, {}}), IsEmpty());
  EXPECT_THAT(names({7, Mode::global, {}, {}}), IsEmpty());
  EXPECT_THAT(names({-1, Mode::train, {}, {}}), IsEmpty());
  EXPECT_THAT(trial_->steps(Mode::predict), IsEmpty());
  EXPECT_EQ(trial_->step_id(9), std::nullopt);
  EXPECT_EQ(trial_->global_step(Mode::eval, 9), std::nullopt);
}

TEST_F(AskTrial, NamesTensorsByRegexOrCollection) {
  EXPECT_THAT(names({{}, Mode::global, {"^b", "oss"}, {}}),
              ElementsAre("b.weight", "loss"));
  EXPECT_THAT(names({{}, Mode::global, {}, "weights"}),
              ElementsAre("a.weight", "b.weight"));
  EXPECT_THAT(names({{}, Mode::global, {}, "losses"}), ElementsAre("loss"));
  EXPECT_THAT(names({{}, Mode::global, {}, "nothing"}), IsEmpty());
  EXPECT_THAT(names({{}, Mode::global, {"^b"}, {}, {"loss", "absent"}}),
              ElementsAre("b.weight", "loss"));
}

TEST_F(AskTrial, RefusesABadPatternAndAnUnknownCollection) {
  EXPECT_EQ(trial_->tensor_names({{}, Mode::global, {"("}, {}}).error().code,
            Error::Code::invalid_argument);
  EXPECT_EQ(
      trial_->tensor_names({{}, Mode::global, {"a"}, "losses"}).error().code,
      Error::Code::invalid_argument);
  const auto unknown = trial_->tensor_names({{}, Mode::global, {}, "loses"});
  EXPECT_EQ(unknown.error().code, Error::Code::not_found);
  EXPECT_THAT(unknown.error().message, HasSubstr("'losses'"));
}

TEST_F(AskTrial, OffersTheNearestNameForAnUnknownTensor) {
  const auto tensor = trial_->tensor("a.weigth");
  ASSERT_FALSE(tensor.ok());
  EXPECT_EQ(tensor.error().code, Error::Code::not_found);
  EXPECT_THAT(tensor.error().message, HasSubstr("'a.weight'"));
  EXPECT_FALSE(trial_->has_tensor("a.weigth"));
  EXPECT_TRUE(trial_->has_tensor("a.weight"));
}

TEST_F(AskTrial, MapsStepsOfAModeToGlobalOnes) {
  EXPECT_THAT(trial_->modes(), ElementsAre(Mode::train, Mode::eval));
  EXPECT_THAT(trial_->steps(Mode::train), ElementsAre(0, 1));
  EXPECT_EQ(trial_->global_step(Mode::train, 1), 2);
  EXPECT_EQ(trial_->global_step(Mode::global, 17), 17);
  EXPECT_EQ(trial_->step_id(1), (StepId{1, Mode::eval, 0}));
}

TEST_F(AskTrial, CountsTheBytesOfTheRun) {
  run_.put("more", "12345");
  const auto with = trial_->bytes();
  ASSERT_TRUE(storage_->remove("more").ok());
  const auto without = trial_->bytes();
  ASSERT_TRUE(with.ok() && without.ok());
  EXPECT_EQ(*with, *without + 5);
}

TEST_F(AskTrial, ShowsTheRunFileAsItStands) {
  EXPECT_EQ(trial_->run_file_text().error().code, Error::Code::not_found);
  run_.put("run.json", "{\"version\": 1}");
  EXPECT_EQ(*trial_->run_file_text(), "{\"version\": 1}");
}

}  // namespace
}  // namespace smdebug
