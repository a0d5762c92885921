#include "base/background_tasks.h"

#include <atomic>
#include <latch>

#include <gtest/gtest.h>

namespace smdebug {
namespace {

TEST(BackgroundTasks, GoOnWhileAnotherHangs) {
  std::latch released(1), second_ran(1);
  std::atomic<int> ended = 0;
  BackgroundTasks tasks;
  tasks.start([&] {
    released.wait();
    ++ended;
  });
  tasks.start([&] {
    ++ended;
    second_ran.count_down();
  });
  second_ran.wait();  // the first one has not ended
  EXPECT_EQ(ended, 1);
  released.count_down();
  tasks.wait();
  EXPECT_EQ(ended, 2);
}

TEST(BackgroundTasks, AreWaitedForInTheEnd) {
  std::atomic<int> ended = 0;
  {
    BackgroundTasks tasks;
    for (int i = 0; i < 8; ++i) tasks.start([&] { ++ended; });
  }
  EXPECT_EQ(ended, 8);
}

}  // namespace
}  // namespace smdebug
