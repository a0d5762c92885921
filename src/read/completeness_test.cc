#include "read/completeness.h"

#include <gtest/gtest.h>

namespace smdebug {
namespace {

constexpr const char* kLastWorker = "worker_2";

IndexFile train_file(Step mode_step) {
  IndexFile file;
  file.mode = Mode::train;
  file.mode_step = mode_step;
  return file;
}

void add(RunTable& table, Step step, std::initializer_list<int> workers) {
  for (int worker : workers) {
    table.add_file({step, "worker_" + std::to_string(worker)}, train_file(step),
                   true);
  }
}

// The example of the format notes, "last_index_token": 20 steps seen by one of
// three workers, window 10.
TEST(Completeness, GivesUpStepsInHalfWindows) {
  RunTable table;
  for (Step step = 0; step < 20; ++step) add(table, step, {0});
  Completeness completeness(10);
  for (Step expected : {4, 9, 9}) {
    completeness.update(table, 3, kLastWorker);
    EXPECT_EQ(completeness.last_complete_step(), expected);
  }
  EXPECT_EQ(completeness.last_index_token(),
            "index/000000000/000000000009_worker_2.json");
}

TEST(Completeness, NamesTheLastCompleteStepAsItsToken) {
  RunTable table;
  Completeness completeness(1000);
  completeness.update(table, 2, kLastWorker);
  EXPECT_EQ(completeness.last_index_token(), "");
  add(table, 6, {0, 1});
  add(table, 8, {0});
  completeness.update(table, 2, "worker_1");
  EXPECT_EQ(completeness.last_complete_step(), 6);
  EXPECT_EQ(completeness.last_index_token(),
            "index/000000000/000000000006_worker_1.json");
  completeness.end(table);
  EXPECT_EQ(completeness.last_complete_step(), 8);
  EXPECT_EQ(completeness.last_index_token(),
            "index/000000000/000000000006_worker_1.json");
}

TEST(Completeness, ListsFromTheOldestStepThatMissesAWorker) {
  RunTable table;
  Completeness completeness(3);
  EXPECT_EQ(completeness.listing_start(), "index/000000000/000000000000_");
  add(table, 0, {0, 1});
  add(table, 2, {0});
  add(table, 999, {0, 1});
  completeness.update(table, 2, "worker_1");
  EXPECT_EQ(completeness.listing_start(), "index/000000000/000000000001_");
  add(table, 2, {1});
  completeness.update(table, 2, "worker_1");
  EXPECT_EQ(completeness.listing_start(), "index/000000001/000000001000_");
}

TEST(Completeness, StopsListingFromAStepThatIsLongGone) {
  RunTable table;
  Completeness completeness(3);
  add(table, 0, {0});
  for (Step step : {1, 2, 3}) add(table, step, {0, 1});
  completeness.update(table, 2, "worker_1");
  EXPECT_EQ(completeness.listing_start(), "index/000000000/000000000004_");
}

struct StateCase {
  Step step;
  StepState while_running;
  StepState after_the_end;
};

TEST(Completeness, SaysWhatHasPassed) {
  RunTable table;
  add(table, 0, {0, 1});
  add(table, 2, {0});
  add(table, 4, {0, 1});
  add(table, 8, {0});
  Completeness completeness(1000);
  completeness.update(table, 2, "worker_1");
  using enum StepState;
  const StateCase cases[] = {
      {-1, unavailable, unavailable},    {0, available, available},
      {1, unavailable, unavailable},     {2, available, available},
      {4, available, available},         {5, not_yet_available, unavailable},
      {8, not_yet_available, available}, {9, not_yet_available, unavailable},
  };
  for (Mode mode : {Mode::global, Mode::train}) {
    for (const StateCase& c : cases) {
      EXPECT_EQ(completeness.state(table, c.step, mode), c.while_running)
          << c.step;
    }
  }
  EXPECT_EQ(completeness.state(table, 0, Mode::eval), not_yet_available);
  completeness.end(table);
  for (Mode mode : {Mode::global, Mode::train}) {
    for (const StateCase& c : cases) {
      EXPECT_EQ(completeness.state(table, c.step, mode), c.after_the_end)
          << c.step;
    }
  }
  EXPECT_EQ(completeness.state(table, 0, Mode::eval), unavailable);
}

}  // namespace
}  // namespace smdebug
