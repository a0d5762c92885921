#include <gmock/gmock.h>

#include "capture/session_fixture_testing.h"
#include "format/facts_file.h"

namespace smdebug {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

RunFacts facts_of(const std::string& tensor) {
  RunFacts facts;
  facts.parameters.emplace_back().tensor = tensor;
  return facts;
}

// Lists the facts and steps that it receives.
class SeenFacts : public ObservationSink {
 public:
  void on_collections(std::size_t, std::span<const TensorGroup>) override {}
  void on_facts(std::size_t run, std::string_view worker,
                const RunFacts& facts) override {
    EXPECT_EQ(run, 0u);
    lines.push_back(std::string(worker) + ": " + facts.parameters[0].tensor +
                    " from step " + std::to_string(facts.step));
  }
  void on_step(const StepView& step) override {
    lines.push_back("step " + std::to_string(step.step.global));
  }
  void on_tick(double) override {}
  void on_run_end(std::size_t) override {}

  std::vector<std::string> lines;
};

class FactsReportTest : public SessionFixture {
 protected:
  RunFacts facts_at(Step step) const {
    auto facts = parse_facts_file(text(facts_file_key(step, "worker_0")));
    EXPECT_TRUE(facts) << facts.error().message;
    return facts ? *std::move(facts) : RunFacts();
  }

  std::vector<std::string> files() const {
    std::vector<std::string> keys;
    const auto listed = *storage_->list(kFactsPrefix);
    for (const ObjectEntry& entry : listed) keys.push_back(entry.key);
    return keys;
  }
};

TEST_F(FactsReportTest, WritesTheFactsOfAStepBesideIt) {
  auto session = open();
  session->begin_step();
  session->begin_step();
  session->set_facts(facts_of("w"));
  put(*session, "w", {1});
  ASSERT_TRUE(session->close());
  EXPECT_THAT(files(), ElementsAre("facts/worker_0-000000000001.json"));
  EXPECT_EQ(facts_at(1).step, 1);
  EXPECT_EQ(facts_at(1).parameters, facts_of("w").parameters);
}

TEST_F(FactsReportTest, KeepsWhatIsReportedBeforeTheFirstStep) {
  auto session = open();
  session->set_facts(facts_of("v"));
  session->set_facts(facts_of("w"));
  EXPECT_THAT(files(), IsEmpty());
  session->begin_step();
  put(*session, "w", {1});
  ASSERT_TRUE(session->close());
  EXPECT_THAT(files(), ElementsAre("facts/worker_0-000000000000.json"));
  EXPECT_EQ(facts_at(0).parameters, facts_of("w").parameters);
}

TEST_F(FactsReportTest, WritesOnlyFactsThatDiffer) {
  auto session = open();
  for (const char* tensor : {"v", "v", "w", "w", "v"}) {
    session->begin_step();
    put(*session, "w", {1});
    session->set_facts(facts_of(tensor));
  }
  ASSERT_TRUE(session->close());
  EXPECT_THAT(files(), ElementsAre("facts/worker_0-000000000000.json",
                                   "facts/worker_0-000000000002.json",
                                   "facts/worker_0-000000000004.json"));
}

TEST_F(FactsReportTest, WritesNothingForASessionThatSavesNothing) {
  config_.dry_run = true;
  auto session = open();
  session->begin_step();
  session->set_facts(facts_of("w"));
  ASSERT_TRUE(session->close());
  session->set_facts(facts_of("v"));
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(FactsReportTest, ShowsThemToTheObserverBeforeTheStepEnds) {
  SeenFacts seen, later;
  auto session = open();
  session->set_sink(&seen);
  session->set_facts(facts_of("v"));
  session->begin_step();
  put(*session, "w", {1});
  session->begin_step();
  session->set_facts(facts_of("w"));
  session->end_step();
  EXPECT_THAT(seen.lines, ElementsAre("worker_0: v from step 0", "step 0",
                                      "worker_0: w from step 1", "step 1"));
  session->set_sink(&later);
  EXPECT_THAT(later.lines, ElementsAre("worker_0: w from step 1"));
}

}  // namespace
}  // namespace smdebug
