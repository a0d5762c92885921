// Tests that a long recording takes no more and more memory: a session saves
// 1,000 tensors per step, as fast as the disk takes them in. Prints how long
// the steps took. Takes 6,000 steps, or SMDEBUG_SOAK_SECONDS (`make long`: an
// hour). SMDEBUG_SOAK_DURABILITY=step syncs each step.

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
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

// The most that memory may grow from the second third to the last: 4 bytes per
// tensor and step in the short test, and about 10 per step in an hour. Less
// than that is the allocator's.
constexpr double kTolerance = 4 << 20;

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
  // The most after any of the steps: the contents of many index files are kept
  // until they are written as one file, so that memory rises and falls.
  std::size_t resident = 0;
  double median_seconds = 0, slow_seconds = 0;  // of a step; one in a hundred
};

// The median of one figure over a third of the windows: 0, 1 or 2.
template <typename Figure>
double over_third(const std::vector<Window>& windows, std::size_t third,
                  Figure figure) {
  std::vector<double> values;
  for (std::size_t i = 0; i < kThird; ++i) {
    values.push_back(static_cast<double>(windows[third * kThird + i].*figure));
  }
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
      window.resident = std::max(window.resident, resident_bytes());
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

  const double before = over_third(windows, 1, &Window::resident);
  const double after = over_third(windows, 2, &Window::resident);
  std::printf("%s: %zu steps in %.1f s, %.0f/s\n",
              GetParam() > 0 ? "with max_run_bytes" : "without a limit", steps,
              seconds, static_cast<double>(steps) / seconds);
  std::printf("resident, by thirds: %.2f, %.2f, %.2f MiB\n",
              over_third(windows, 0, &Window::resident) / (1 << 20),
              before / (1 << 20), after / (1 << 20));
  for (const auto& [name, figure] :
       {std::pair("median", &Window::median_seconds),
        std::pair("one in 100", &Window::slow_seconds)}) {
    const double earlier = over_third(windows, 1, figure);
    const double later = over_third(windows, 2, figure);
    std::printf("a step, %s: %.3f ms, then %.3f ms: %.2f times as long\n", name,
                1e3 * earlier, 1e3 * later, later / earlier);
  }
  EXPECT_LT(after, before + kTolerance);
}

INSTANTIATE_TEST_SUITE_P(Limits, SoakTest, testing::Values(0, 50'000'000));

}  // namespace
}  // namespace smdebug
