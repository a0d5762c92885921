// Tests the facts of a run on disk, and the order in which rules receive them.

#include "format/facts_file.h"
#include "format/file_names.h"
#include "read/trial_testing.h"

namespace smdebug {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class OrderOfFacts : public ObservationSink {
 public:
  void on_collections(std::size_t, std::span<const TensorGroup>) override {}
  void on_facts(std::size_t run, std::string_view worker,
                const RunFacts& facts) override {
    EXPECT_EQ(run, 3u);
    lines.push_back(std::string(worker) + " trains " +
                    facts.parameters[0].tensor);
  }
  void on_step(const StepView& step) override {
    lines.push_back("step " + std::to_string(step.step.global));
  }
  void on_tick(double) override {}
  void on_run_end(std::size_t) override {}

  std::vector<std::string> lines;
};

class FactsTest : public TrialTest {
 protected:
  FactsTest() { run_.put_collections("worker_0", 1, {{"losses", {"l"}, {}}}); }

  void put_facts(Step step, const std::string& tensor,
                 const std::string& worker = "worker_0") {
    RunFacts facts;
    facts.step = step;
    facts.parameters.emplace_back().tensor = tensor;
    run_.put(facts_file_key(step, worker), write_facts_file(facts));
  }

  std::vector<std::string> fed(Trial& trial, Step first) {
    OrderOfFacts sink;
    EXPECT_TRUE(trial.feed(sink, 3, first));
    return sink.lines;
  }
};

TEST_F(FactsTest, AreThoseOfEveryWorkerInTheOrderOfTheirSteps) {
  put_facts(10, "c", "worker_1");
  put_facts(0, "b", "worker_1");
  put_facts(0, "a");
  put(0);
  auto trial = open();
  std::vector<std::string> seen;
  for (const WorkerFacts& one : trial->facts())
    seen.push_back(one.worker + one.facts.parameters[0].tensor);
  EXPECT_THAT(seen, ElementsAre("worker_0a", "worker_1b", "worker_1c"));
}

TEST_F(FactsTest, ReachARuleBeforeTheStepToWhichTheyApply) {
  put_facts(0, "a");
  put_facts(15, "b");
  for (const Step step : {0, 10, 20}) put(step);
  auto trial = open();
  EXPECT_THAT(fed(*trial, 0),
              ElementsAre("worker_0 trains a", "step 0", "step 10",
                          "worker_0 trains b", "step 20"));
  // A rule that begins later needs what held before.
  EXPECT_THAT(fed(*trial, 20),
              ElementsAre("worker_0 trains a", "worker_0 trains b", "step 20"));
}

TEST_F(FactsTest, ReachARuleOnceWhileTheRunGrows) {
  put_facts(0, "a");
  put(0);
  auto trial = open();
  OrderOfFacts sink;
  const auto next = trial->feed(sink, 3, 0);
  ASSERT_TRUE(next);
  put_facts(1, "b");
  put(1);
  ASSERT_TRUE(trial->refresh());
  ASSERT_TRUE(trial->feed(sink, 3, *next));
  EXPECT_THAT(sink.lines, ElementsAre("worker_0 trains a", "step 0",
                                      "worker_0 trains b", "step 1"));
}

TEST_F(FactsTest, ThatCannotBeReadAreDamage) {
  put_facts(0, "a");
  RunFacts other;
  other.step = 9;
  run_.put(facts_file_key(1, "worker_0"), write_facts_file(other));
  run_.put(facts_file_key(2, "worker_0"), "{");
  run_.put("facts/notes.txt", "of the user");
  put(0);
  auto trial = open();
  EXPECT_EQ(trial->facts().size(), 1u);
  std::vector<std::string> damage;
  for (const Damage& part : trial->damage())
    damage.push_back(part.key + ": " + part.what);
  EXPECT_THAT(damage,
              ElementsAre("facts/worker_0-000000000001.json: it contains the "
                          "facts of step 9",
                          HasSubstr("facts/worker_0-000000000002.json: ")));
}

TEST_F(FactsTest, AreNotNeeded) {
  put(0);
  auto trial = open();
  EXPECT_THAT(trial->facts(), IsEmpty());
  EXPECT_THAT(fed(*trial, 0), ElementsAre("step 0"));
}

}  // namespace
}  // namespace smdebug
