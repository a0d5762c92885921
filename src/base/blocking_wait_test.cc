#include "smdebug/base/blocking_wait.h"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "smdebug/base/clock.h"
#include "smdebug/base/parallel.h"
#include "smdebug/base/wait_limit.h"

#include "base/bounded_call.h"

namespace smdebug {
namespace {

thread_local int begun = 0;
thread_local int ended = 0;
thread_local bool takes_part = false;

constexpr WaitCalls kCalls = {
    [] {
      begun += takes_part;
      return takes_part;
    },
    [] { ++ended; },
};

class BlockingWaitTest : public testing::Test {
 protected:
  BlockingWaitTest() {
    set_wait_calls(kCalls);
    takes_part = true;
    begun = ended = 0;
  }
  ~BlockingWaitTest() override { takes_part = false; }
};

TEST_F(BlockingWaitTest, EndsWhatItHasBegun) {
  {
    const BlockingWait wait;
    EXPECT_EQ(begun, 1);
    EXPECT_EQ(ended, 0);
  }
  EXPECT_EQ(ended, 1);
}

TEST_F(BlockingWaitTest, EndsNothingThatWasNotBegun) {
  takes_part = false;
  { const BlockingWait wait; }
  EXPECT_EQ(ended, 0);
}

TEST_F(BlockingWaitTest, HappensInSleepsAndForOtherThreads) {
  system_clock().sleep_for(std::chrono::nanoseconds(1));
  EXPECT_EQ(ended, 1);
  concurrent_for(3, 3, [](std::size_t) {});
  EXPECT_EQ(ended, 2);
  EXPECT_EQ(run_within(WaitLimit(), [] {}), WaitEnd::done);
  EXPECT_EQ(ended, 3);
  EXPECT_EQ(begun, 3);
}

TEST_F(BlockingWaitTest, HappensForAMutexOnlyIfAnotherThreadOwnsIt) {
  std::mutex mutex;
  { const auto lock = lock_of_waiters(mutex); }
  EXPECT_EQ(begun, 0);
  std::unique_lock lock(mutex);
  static std::atomic<bool> is_waiting = false;
  is_waiting = false;
  static constexpr WaitCalls kTellsOwner = {
      [] {
        is_waiting = true;
        is_waiting.notify_all();
        return false;
      },
      [] {},
  };
  set_wait_calls(kTellsOwner);
  std::jthread other([&] { const auto its_lock = lock_of_waiters(mutex); });
  is_waiting.wait(false);
  lock.unlock();
}

}  // namespace
}  // namespace smdebug
