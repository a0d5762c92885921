#include "base/bounded_call.h"

#include <atomic>
#include <future>
#include <thread>

#include <gtest/gtest.h>

namespace smdebug {
namespace {

using std::chrono::milliseconds;

// Counts its copies that are alive.
class Counted {
 public:
  explicit Counted(std::shared_ptr<std::atomic<int>> alive)
      : alive_(std::move(alive)) {
    ++*alive_;
  }
  Counted(const Counted& other) : alive_(other.alive_) { ++*alive_; }
  Counted& operator=(const Counted&) = delete;
  ~Counted() { --*alive_; }

 private:
  std::shared_ptr<std::atomic<int>> alive_;
};

TEST(BoundedCall, ReturnsTheResultOfACallThatEnds) {
  const auto answer = call_within<int>({}, [] { return 42; });
  EXPECT_EQ(answer.end, WaitEnd::done);
  EXPECT_EQ(answer.value, 42);
}

TEST(BoundedCall, RunsOnAnotherThread) {
  const auto thread = call_within<std::thread::id>(
      {}, [] { return std::this_thread::get_id(); });
  EXPECT_NE(*thread.value, std::this_thread::get_id());
}

TEST(BoundedCall, GivesUpACallThatDoesNotEnd) {
  auto gate = std::make_shared<std::promise<void>>();
  const auto answer = call_within<int>({milliseconds(1), nullptr}, [gate] {
    gate->get_future().wait();
    return 1;
  });
  EXPECT_EQ(answer.end, WaitEnd::timed_out);
  EXPECT_FALSE(answer.value);
  gate->set_value();
}

TEST(BoundedCall, EndsWhenTheUserInterruptsIt) {
  auto gate = std::make_shared<std::promise<void>>();
  const auto answer =
      call_within<int>({std::chrono::hours(1), [] { return true; }}, [gate] {
        gate->get_future().wait();
        return 1;
      });
  EXPECT_EQ(answer.end, WaitEnd::interrupted);
  gate->set_value();
}

TEST(BoundedCall, ReleasesWhatTheCallOwnsBeforeItReturns) {
  const auto alive = std::make_shared<std::atomic<int>>(0);
  EXPECT_EQ(run_within({}, [owned = Counted(alive)] { (void)owned; }),
            WaitEnd::done);
  EXPECT_EQ(*alive, 0);
}

TEST(BoundedCall, LetsAnAbandonedCallKeepWhatItOwns) {
  const auto alive = std::make_shared<std::atomic<int>>(0);
  auto gate = std::make_shared<std::promise<void>>();
  auto has_seen = std::make_shared<std::promise<int>>();
  auto seen = has_seen->get_future();
  (void)run_within({milliseconds(1), nullptr},
                   [gate, has_seen, alive, owned = Counted(alive)] {
                     (void)owned;
                     gate->get_future().wait();
                     has_seen->set_value(*alive);
                   });
  gate->set_value();
  EXPECT_GE(seen.get(), 1);
}

}  // namespace
}  // namespace smdebug
