// Tests that a long recording takes no more and more memory: a session saves
// 1,000 tensors per step, as fast as the disk takes them in. Prints how long
// the steps took. Takes 6,000 steps, or SMDEBUG_SOAK_SECONDS (`make long`: an
// hour). SMDEBUG_SOAK_DURABILITY=step syncs each step.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "smdebug/capture/session.h"

#include "tests/support/recording_logger_testing.h"
#include "tests/support/temporary_folder_testing.h"

namespace smdebug {
namespace {

namespace fs = std::filesystem;
using std::chrono::duration;
using std::chrono::steady_clock;

constexpr int kTensors = 1000;
constexpr std::size_t kElements = 64;
constexpr std::size_t kSteps = 3000;  // with a limit, and without
constexpr std::size_t kWindows = 30;  // of these, the first third is warm-up
constexpr std::size_t kThird = kWindows / 3;

// The most that memory may grow from the second third to the last: 2 bytes per
// tensor and step in the short test, and about 20 per step in an hour. Less
// than that is the allocator's.
constexpr double kMiB = 1 << 20;
constexpr double kTolerance = 2 * kMiB;

double seconds_given() {
  const char* given = std::getenv("SMDEBUG_SOAK_SECONDS");
  return given ? std::atof(given) : 0;
}

bool is_synced() {
  const char* given = std::getenv("SMDEBUG_SOAK_DURABILITY");
  return given && std::string_view(given) == "step";
}

std::size_t resident_bytes() {
  std::size_t size = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> size >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

double quantile(std::vector<double>& values, double share) {
  const auto at = static_cast<std::ptrdiff_t>(
      share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[static_cast<std::size_t>(at)];
}

struct Window {
  std::size_t steps = 0;
  // After any of the steps. The contents of many index files are kept until
  // they are written as one file, so that memory rises and falls: what leaks
  // raises the lowest.
  std::size_t lowest = SIZE_MAX, highest = 0;
  double median_seconds = 0, slow_seconds = 0;  // of a step; one in a hundred
};

using Third = std::span<const Window>;

Third third_of(const std::vector<Window>& windows, std::size_t third) {
  return Third(windows).subspan(third * kThird, kThird);
}

double lowest(Third windows) {
  return static_cast<double>(
      std::ranges::min(windows, {}, &Window::lowest).lowest);
}

double highest(Third windows) {
  return static_cast<double>(
      std::ranges::max(windows, {}, &Window::highest).highest);
}

double median(Third windows, double Window::*figure) {
  std::vector<double> values;
  for (const Window& window : windows) values.push_back(window.*figure);
  return quantile(values, 0.5);
}

class SoakTest : public testing::TestWithParam<std::uint64_t> {
 protected:
  SoakTest() {
    for (int i = 0; i < kTensors; ++i)
      slots_.push_back(session_->tensor("layer" + std::to_string(i)));
    durations_.reserve(1 << 20);
  }

  std::unique_ptr<Session> open() {
    SaveConfigMode every_step;
    every_step.save_interval = 1;
    SessionOptions options;
    options.config.out_dir = run_;
    options.config.save_all = true;
    options.config.save_config = SaveConfig(every_step);
    // So small that the training keeps pace with the writer.
    options.config.buffer_bytes = std::size_t{8} << 20;
    if (GetParam() > 0) options.config.max_run_bytes = GetParam();
    if (is_synced()) options.config.durability = Durability::step;
    options.framework = pytorch_framework();
    options.logger = &log_;
    auto session = Session::create(std::move(options));
    EXPECT_TRUE(session.ok()) << session.error().message;
    return *std::move(session);
  }

  void step() {
    const std::int64_t shape[] = {kElements};
    values_[0] += 1;
    session_->begin_step();
    for (const TensorSlot& slot : slots_) {
      slot.put({DType::float32,
                reinterpret_cast<const std::byte*>(values_.data()),
                shape,
                {}});
    }
    loss_.note(values_[0]);
    session_->end_step();
  }

  Window window() {
    const double most_seconds = seconds_given() / 2 / kWindows;
    Window window;
    durations_.clear();
    const auto begun = steady_clock::now();
    for (auto now = begun;;) {  // the begin of a step
      step();
      const auto ended = steady_clock::now();
      if (durations_.size() < durations_.capacity())
        durations_.push_back(duration<double>(ended - now).count());
      ++window.steps;
      const std::size_t resident = resident_bytes();
      window.lowest = std::min(window.lowest, resident);
      window.highest = std::max(window.highest, resident);
      const bool is_over = most_seconds > 0
                               ? ended - begun > duration<double>(most_seconds)
                               : window.steps == kSteps / kWindows;
      if (is_over) break;
      now = steady_clock::now();
    }
    EXPECT_TRUE(session_->flush().ok());
    window.median_seconds = quantile(durations_, 0.5);
    window.slow_seconds = quantile(durations_, 0.99);
    // An hour of steps does not fit on the disk.
    if (GetParam() == 0) {
      for (const char* folder : {"events", "index/000000000", "statistics"})
        remove_contents(run_ + "/" + folder);
    }
    return window;
  }

  static void remove_contents(const fs::path& folder) {
    std::error_code missing;
    for (const auto& entry : fs::directory_iterator(folder, missing))
      fs::remove_all(entry, missing);
  }

  NullLogger log_;
  TemporaryFolder folder_;
  const std::string run_ = folder_.path("run");
  std::vector<float> values_ = std::vector<float>(kElements, 0.5f);
  std::vector<double> durations_;
  const std::unique_ptr<Session> session_ = open();
  std::vector<TensorSlot> slots_;
  const ScalarSlot loss_ = session_->scalar("loss");
};

TEST_P(SoakTest, TakesNoMoreAndMoreMemory) {
  std::vector<Window> windows;
  std::size_t steps = 0;
  const auto begun = steady_clock::now();
  for (std::size_t i = 0; i < kWindows; ++i) {
    windows.push_back(window());
    steps += windows.back().steps;
    ASSERT_EQ(session_->status().error, std::nullopt);
  }
  const double seconds = duration<double>(steady_clock::now() - begun).count();
  EXPECT_EQ(session_->status().steps_published, steps);
  EXPECT_EQ(session_->status().removed_steps > 0, GetParam() > 0);
  EXPECT_TRUE(session_->close().ok());

  std::printf("%s: %zu steps in %.1f s, %.0f/s\n",
              GetParam() > 0 ? "with max_run_bytes" : "without a limit", steps,
              seconds, static_cast<double>(steps) / seconds);
  for (std::size_t i = 0; i < 3; ++i) {
    const Third third = third_of(windows, i);
    std::printf(
        "third %zu: %.2f to %.2f MiB resident; a step %.3f ms, one in 100 "
        "%.3f ms\n",
        i + 1, lowest(third) / kMiB, highest(third) / kMiB,
        1e3 * median(third, &Window::median_seconds),
        1e3 * median(third, &Window::slow_seconds));
  }
  const Third earlier = third_of(windows, 1), later = third_of(windows, 2);
  std::printf("a step of the last third took %.2f times as long\n",
              median(later, &Window::median_seconds) /
                  median(earlier, &Window::median_seconds));
  EXPECT_LT(lowest(later), lowest(earlier) + kTolerance);
}

INSTANTIATE_TEST_SUITE_P(Limits, SoakTest, testing::Values(0, 50'000'000));

}  // namespace
}  // namespace smdebug
