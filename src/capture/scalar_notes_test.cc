#include <algorithm>
#include <thread>

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture/session_fixture_testing.h"
#include "format/series_file.h"
#include "store/forwarding_storage.h"
#include "tests/support/fake_clock_testing.h"
#include "tests/support/fork_testing.h"
#include "tests/support/seen_scalars_testing.h"

namespace smdebug {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ScalarNotesTest : public SessionFixture {
 protected:
  static std::string key(Step first, Step last, std::uint64_t number) {
    return series_file_key({"worker_0", first, last, number});
  }

  std::vector<std::string> files() const {
    std::vector<std::string> keys;
    const auto listed = *storage_->list(kSeriesPrefix);
    for (const ObjectEntry& entry : listed) keys.push_back(entry.key);
    return keys;
  }

  // Opens a session whose scalars and steps `seen_` lists.
  std::unique_ptr<Session> open_seen() {
    auto session = open();
    session->set_sink(&seen_);
    return session;
  }

  std::string read(const std::string& key) const {
    const auto file = parse_series_file(text(key));
    if (!file) return file.error().message;
    std::string text = file->worker;
    for (const ScalarSeries& one : file->series)
      text += " " + one.name + text_of(one.samples);
    return text;
  }

  SeenScalars seen_;
};

TEST_F(ScalarNotesTest, ReachTheObserverBeforeTheSavedStepThatFollows) {
  every_step(2);
  auto session = open_seen();
  const ScalarSlot loss = session->scalar("loss"), rate = session->scalar("lr");
  for (int step = 0; step < 4; ++step) {
    session->begin_step();
    put(*session, "w", {1});
    loss.note(10 - step);
    if (step > 1) rate.note(step);
  }
  ASSERT_TRUE(session->close());
  EXPECT_THAT(seen_.lines,
              ElementsAre("worker_0 loss 0:10", "step 0",
                          "worker_0 loss 1:9 2:8", "worker_0 lr 2:2", "step 2",
                          "worker_0 loss 3:7", "worker_0 lr 3:3"));
}

TEST_F(ScalarNotesTest, BelongToTheStepBegunLastAlsoAfterItsEnd) {
  auto session = open_seen();
  const ScalarSlot loss = session->scalar("loss");
  loss.note(1);  // no step has begun
  session->begin_step();
  session->end_step();
  loss.note(2);
  ASSERT_TRUE(session->close());
  EXPECT_THAT(seen_.lines, ElementsAre("step 0", "worker_0 loss 0:2"));
}

TEST_F(ScalarNotesTest, KnownLateBelongToTheirStep) {
  auto session = open_seen();
  const ScalarSlot loss = session->scalar("loss");
  session->begin_step();
  const StepId first = session->step();
  session->begin_step();
  loss.note(session->step(), 5);
  loss.note(first, 4);
  loss.note({7, Mode::global, 7}, 9);
  loss.note({-1, Mode::global, -1}, 9);
  session->end_step();
  EXPECT_THAT(seen_.lines,
              ElementsAre("step 0", "worker_0 loss 0:4 1:5", "step 1"));
  EXPECT_EQ(session->status().dropped_scalars, 2u);
}

TEST_F(ScalarNotesTest, NotedTwiceInAStepAreTheLastOne) {
  auto session = open_seen();
  const ScalarSlot loss = session->scalar("loss");
  session->begin_step();
  for (const double value : {3, 1, 2}) loss.note(value);
  session->end_step();
  EXPECT_THAT(seen_.lines, ElementsAre("worker_0 loss 0:2", "step 0"));
}

TEST_F(ScalarNotesTest, AreNotRecordedWhilePausedOrAfterTheEnd) {
  auto session = open_seen();
  const ScalarSlot loss = session->scalar("loss");
  session->pause();
  session->begin_step();
  loss.note(1);
  session->resume();
  session->begin_step();
  loss.note(2);
  ASSERT_TRUE(session->close());
  loss.note(3);
  EXPECT_THAT(seen_.lines, ElementsAre("worker_0 loss 1:2", "step 1"));
}

TEST_F(ScalarNotesTest, OfAnotherThreadAreDroppedAndCounted) {
  auto session = open_seen();
  const ScalarSlot loss = session->scalar("loss");
  session->begin_step();
  std::thread([&] { loss.note(1); }).join();
  ASSERT_TRUE(session->close());
  EXPECT_THAT(seen_.lines, ElementsAre("step 0"));
  EXPECT_EQ(session->status().dropped_scalars, 1u);
}

TEST_F(ScalarNotesTest, UnderANameThatCannotBeWrittenAreLoggedAndIgnored) {
  auto session = open_seen();
  const ScalarSlot slot = session->scalar("\xff");
  session->begin_step();
  put(*session, "w", {1});
  slot.note(1);
  ASSERT_TRUE(session->close());
  EXPECT_THAT(seen_.lines, ElementsAre("step 0"));
  EXPECT_THAT(log_.lines(), ElementsAre(HasSubstr("the scalar '\\xff'")));
}

TEST_F(ScalarNotesTest, OfManyIdleStepsAllReachTheObserver) {
  every_step(100000);
  struct : SeenScalars {
    std::vector<double> values;
    void on_scalars(std::size_t, std::string_view,
                    std::span<const ScalarSeriesView> series) override {
      for (const ScalarSample& one : series[0].samples)
        values.push_back(one.value);
    }
  } seen;
  auto session = open();
  session->set_sink(&seen);
  const ScalarSlot loss = session->scalar("loss");
  std::vector<double> expected;
  for (int step = 0; step < 20000; ++step) {
    session->begin_step();
    loss.note(step);
    expected.push_back(step);
  }
  ASSERT_TRUE(session->close());
  EXPECT_EQ(seen.values, expected);
}

TEST_F(ScalarNotesTest, AreWrittenAfterTheFirstStepByFlushAndAtTheEnd) {
  every_step(1000);
  auto session = open();
  const ScalarSlot loss = session->scalar("loss");
  for (int step = 0; step < 5; ++step) {
    session->begin_step();
    loss.note(step);
    if (step == 2) {
      ASSERT_TRUE(session->flush());
      EXPECT_THAT(files(), ElementsAre(key(0, 0, 0), key(1, 2, 1)));
    }
  }
  ASSERT_TRUE(session->close());
  EXPECT_THAT(files(), ElementsAre(key(0, 0, 0), key(1, 2, 1), key(3, 4, 2)));
  EXPECT_EQ(read(key(3, 4, 2)), "worker_0 loss 3:3 4:4");
}

TEST_F(ScalarNotesTest, AreWrittenAfterASecondAlsoInStepsThatSaveNothing) {
  every_step(1000);
  FakeClock clock;
  auto session = open(clock);
  const ScalarSlot loss = session->scalar("loss");
  const auto run = [&](int steps, std::chrono::milliseconds each) {
    for (; steps > 0; --steps) {
      session->begin_step();
      loss.note(1);
      clock.advance(each);
    }
    session->end_step();
    EXPECT_TRUE(session->status().state == SessionStatus::State::active);
  };
  run(4, std::chrono::milliseconds(300));
  run(1, std::chrono::milliseconds(300));
  // After an hour, only every 30 seconds.
  clock.advance(std::chrono::hours(1));
  run(1, std::chrono::milliseconds(1));
  run(29, std::chrono::seconds(1));
  run(2, std::chrono::seconds(1));
  ASSERT_TRUE(session->close());
  EXPECT_THAT(files(), ElementsAre(key(0, 0, 0), key(1, 4, 1), key(5, 5, 2),
                                   key(6, 35, 3), key(36, 36, 4)));
}

TEST_F(ScalarNotesTest, OfASavedStepAreWrittenBeforeItsIndexFile) {
  class Order final : public StorageHook {
   public:
    Status enter(StorageCall call, std::string_view key) override {
      if (call == StorageCall::commit) keys.emplace_back(key);
      return {};
    }
    std::vector<std::string> keys;  // the write thread's until a flush
  };
  const auto order = std::make_shared<Order>();
  storage_ = std::make_shared<ForwardingStorage>(storage_, order);
  FakeClock clock;
  auto session = open(clock);
  const ScalarSlot loss = session->scalar("loss");
  session->begin_step();
  ASSERT_TRUE(session->flush());
  order->keys.clear();
  put(*session, "w", {1});
  loss.note(1);
  clock.advance(std::chrono::seconds(2));
  session->end_step();
  ASSERT_TRUE(session->flush());
  const auto series = std::ranges::find(order->keys, key(0, 0, 0));
  EXPECT_LT(series,
            std::ranges::find(order->keys, index_file_key(0, "worker_0")));
}

TEST_F(ScalarNotesTest, ThatFillTheBufferAreWrittenWithinAStep) {
  auto session = open();
  const ScalarSlot loss = session->scalar("loss"), rate = session->scalar("lr");
  session->begin_step();
  loss.note(1);
  session->begin_step();
  for (int i = 0; i < 4096; ++i) rate.note(i);
  loss.note(2);
  ASSERT_TRUE(session->close());
  EXPECT_THAT(files(), ElementsAre(key(0, 0, 0), key(1, 1, 1), key(1, 1, 2)));
  EXPECT_EQ(read(key(1, 1, 1)), "worker_0 lr 1:4095");
  EXPECT_EQ(read(key(1, 1, 2)), "worker_0 loss 1:2");
}

TEST_F(ScalarNotesTest, AreNotWrittenForASessionThatSavesNothing) {
  config_.dry_run = true;
  auto session = open_seen();
  const ScalarSlot loss = session->scalar("loss");
  session->begin_step();
  loss.note(1);
  ASSERT_TRUE(session->close());
  EXPECT_THAT(files(), IsEmpty());
  EXPECT_THAT(seen_.lines, ElementsAre("worker_0 loss 0:1", "step 0"));
}

TEST_F(ScalarNotesTest, AreNotRecordedInTheChildOfAFork) {
  auto session = open_seen();
  const ScalarSlot loss = session->scalar("loss");
  session->begin_step();
  loss.note(1);
  const pid_t child = fork_when_others_sleep();
  if (child == 0) {
    session->after_fork_in_child();
    for (int i = 0; i < 10000; ++i) loss.note(2);
    session->begin_step();
    loss.note(3);
    (void)session->close();
    _exit(seen_.lines.empty() ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  ASSERT_TRUE(session->close());
  EXPECT_THAT(seen_.lines, ElementsAre("worker_0 loss 0:1", "step 0"));
}

TEST_F(ScalarNotesTest, BeforeAnObserverCameAreNotShown) {
  auto session = open();
  const ScalarSlot loss = session->scalar("loss");
  session->begin_step();
  loss.note(1);
  session->set_sink(&seen_);
  session->begin_step();
  loss.note(2);
  session->set_sink(&seen_);  // again, for the data that it needs
  session->end_step();
  EXPECT_THAT(seen_.lines,
              ElementsAre("step 0", "worker_0 loss 1:2", "step 1"));
}

}  // namespace
}  // namespace smdebug
