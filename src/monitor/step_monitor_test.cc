#include "smdebug/monitor/step_monitor.h"

#include <limits>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "monitor/rules_testing.h"
#include "tests/support/recorded_run_testing.h"
#include "tests/support/recording_logger_testing.h"

namespace smdebug {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A session that records one gradient, and asks its rules before each update.
class Training {
 public:
  explicit Training(const std::string& out_dir) {
    SaveConfigMode every_step;
    every_step.save_interval = 1;
    SessionOptions options;
    options.config.out_dir = out_dir;
    options.config.save_config = SaveConfig(every_step);
    options.config.include_collections = {"gradients"};
    options.framework = pytorch_framework();
    options.logger = &silent_;
    session_ = *Session::create(std::move(options));
    session_->set_mode(Mode::train);
    gradient_ = session_->gradient("Net", "fc.weight");
  }

  void step(float size) {
    const float elements[] = {size, -size};
    const std::int64_t shape[] = {2};
    session_->begin_step();
    gradient_->put({DType::float32,
                    reinterpret_cast<const std::byte*>(elements),
                    shape,
                    {}});
    session_->before_update();
    session_->end_step();
  }

  Session& session() { return *session_; }

 private:
  NullLogger silent_;
  std::unique_ptr<Session> session_;
  std::optional<TensorSlot> gradient_;
};

std::vector<Step> steps_of(const std::vector<Verdict>& findings) {
  std::vector<Step> steps;
  for (const Verdict& found : findings) steps.push_back(found.step.global);
  return steps;
}

TEST(StepMonitor, JudgesByTheNamesOfRules) {
  TemporaryFolder folder;
  Training training(folder.path("run"));
  StepMonitor monitor;
  const auto sink = monitor.add_worker({"VanishingGradient"});
  ASSERT_TRUE(sink.ok()) << sink.error().message;
  training.session().set_sink(*sink);
  for (const float size : {0.5f, 1e-9f}) training.step(size);
  EXPECT_THAT(steps_of(monitor.take_findings()), ElementsAre(1));
  training.session().set_sink(nullptr);
  const auto unknown = monitor.add_worker({"VanishingGradent"});
  ASSERT_FALSE(unknown.ok());
  EXPECT_THAT(unknown.error().message, HasSubstr("VanishingGradient"));
}

TEST(StepMonitor, ReportsEachTimeThatARuleFires) {
  TemporaryFolder folder;
  Training training(folder.path("run"));
  StepMonitor monitor;
  training.session().set_sink(
      *monitor.add_worker(rules("VanishingGradient"), {}));
  EXPECT_THAT(monitor.request().collections,
              testing::Contains(
                  testing::Field(&RequestedCollection::name, "gradients")));
  for (const float size : {0.5f, 1e-9f, 0.5f, 1e-9f}) training.step(size);
  EXPECT_THAT(steps_of(monitor.take_findings()), ElementsAre(1, 3));
  EXPECT_THAT(monitor.take_findings(), IsEmpty());
  training.session().set_sink(nullptr);
  monitor.finish();
  ASSERT_EQ(monitor.verdicts().size(), 1u);
  EXPECT_EQ(monitor.verdicts()[0].status, RuleStatus::issues_found);
  EXPECT_EQ(monitor.verdicts()[0].step.global, 1);
}

TEST(StepMonitor, JudgesTensorsOfACollectionThatOnlySaveTensorNames) {
  TemporaryFolder folder;
  Training training(folder.path("run"));
  StepMonitor monitor;
  training.session().set_sink(*monitor.add_worker(
      rules("ExplodingTensor", {{"collection_names", "mine"}}), {}));
  const float infinite = std::numeric_limits<float>::infinity();
  const std::vector<std::string> collections = {"mine"};
  training.session().begin_step();
  ASSERT_TRUE(training.session()
                  .save_tensor("cost",
                               {DType::float32,
                                reinterpret_cast<const std::byte*>(&infinite),
                                {},
                                {}},
                               collections)
                  .ok());
  training.session().end_step();
  EXPECT_THAT(steps_of(monitor.take_findings()), ElementsAre(0));
  training.session().set_sink(nullptr);
  monitor.finish();
}

TEST(StepMonitor, KeepsTheStatusBesideTheRunWhereThereIsOne) {
  TemporaryFolder folder;
  for (const bool has_place : {true, false}) {
    const std::string run = folder.path(has_place ? "a" : "b");
    Training training(run);
    StepMonitor monitor;
    training.session().set_sink(*monitor.add_worker(
        rules("VanishingGradient"), [&]() -> std::optional<StatusPlace> {
          if (!has_place) return std::nullopt;
          return StatusPlace{run, ""};
        }));
    training.step(0.5f);
    training.session().set_sink(nullptr);
    monitor.finish();
    EXPECT_EQ(std::filesystem::exists(run + "/rules/VanishingGradient.json"),
              has_place);
  }
}

TEST(StepMonitor, ComparesARunningStepWithAnotherRun) {
  TemporaryFolder folder;
  {
    Training reference(folder.path("reference"));
    for (int i = 0; i < 4; ++i) reference.step(0.5f);
    ASSERT_TRUE(reference.session().close().ok());
  }
  Training training(folder.path("run"));
  StepMonitor monitor;
  training.session().set_sink(*monitor.add_worker(
      rules("SimilarAcrossRuns", {{"other_trials", folder.path("reference")}}),
      {}));
  for (const float size : {0.5f, 0.5f, 0.25f, 0.5f}) training.step(size);
  training.session().set_sink(nullptr);
  monitor.finish();
  const Verdict verdict = monitor.verdicts()[0];
  EXPECT_EQ(verdict.status, RuleStatus::issues_found) << verdict.message;
  EXPECT_EQ(verdict.step.global, 2);
  EXPECT_EQ(verdict.observations_judged, 4u);
}

TEST(StepMonitor, RefusesARunToCompareWithThatDoesNotExist) {
  StepMonitor monitor;
  const auto sink = monitor.add_worker(
      rules("SimilarAcrossRuns", {{"other_trials", "/nowhere"}}), {});
  ASSERT_FALSE(sink.ok());
  EXPECT_THAT(sink.error().message, HasSubstr("a run to compare with"));
}

TEST(StepMonitor, RefusesARuleThatJudgesTheTimeBetweenSteps) {
  StepMonitor monitor;
  const auto sink = monitor.add_worker({"StalledTrainingRule"});
  ASSERT_FALSE(sink.ok());
  EXPECT_THAT(sink.error().message,
              HasSubstr("use 'smdebug watch RUN --rule StalledTrainingRule'"));
}

TEST(StepMonitor, ReportsAStepOnceForAllWorkersAndMergesTheirVerdicts) {
  TemporaryFolder folder;
  Training first(folder.path("a")), second(folder.path("b"));
  StepMonitor monitor;
  first.session().set_sink(*monitor.add_worker(rules("VanishingGradient"), {}));
  second.session().set_sink(
      *monitor.add_worker(rules("VanishingGradient"), {}));
  for (const float size : {0.5f, 1e-9f, 0.5f}) first.step(size);
  for (const float size : {0.5f, 1e-9f, 1e-9f}) second.step(size);
  EXPECT_THAT(steps_of(monitor.take_findings()), ElementsAre(1, 2));
  first.session().set_sink(nullptr);
  second.session().set_sink(nullptr);
  monitor.finish();
  ASSERT_EQ(monitor.verdicts().size(), 1u);
  EXPECT_EQ(monitor.verdicts()[0].step.global, 1);
  EXPECT_EQ(monitor.verdicts()[0].observations_judged, 6u);
  EXPECT_EQ(monitor.verdicts()[0].steps_judged, 3u);
}

}  // namespace
}  // namespace smdebug
