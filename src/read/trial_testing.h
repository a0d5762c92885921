#pragma once

// The fixture of the tests in this folder: a run in memory, a clock that the
// test controls, and a logger that keeps its messages.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "smdebug/read/trial.h"

#include "index/written_run_testing.h"
#include "store/backends.h"
#include "tests/support/fake_clock_testing.h"
#include "tests/support/recording_logger_testing.h"

namespace smdebug {

class TrialTest : public testing::Test {
 protected:
  TrialOptions options() {
    TrialOptions options;
    options.timeout = std::chrono::nanoseconds(0);
    options.clock = &clock_;
    options.logger = &log_;
    return options;
  }

  std::unique_ptr<Trial> open() { return open(options()); }
  std::unique_ptr<Trial> open(TrialOptions options) {
    auto trial = Trial::open(storage_, std::move(options));
    EXPECT_TRUE(trial.ok()) << trial.error().message;
    return trial.ok() ? *std::move(trial) : nullptr;
  }

  // Writes a step with one tensor `w` of two elements, {step, worker's number}.
  void put(Step step, Mode mode, Step mode_step, int worker = 0) {
    run_.put_step(
        {{step, mode, mode_step},
         "worker_" + std::to_string(worker),
         {{"w", {static_cast<float>(step), static_cast<float>(worker)}}}});
  }
  void put(Step step, int worker = 0) { put(step, Mode::train, step, worker); }

  FakeClock clock_;
  RecordingLogger log_;
  std::shared_ptr<Storage> storage_ = make_memory_storage("memory://runs/a");
  WrittenRun run_{storage_};
};

// The float32 elements of a value.
inline std::vector<float> floats(const TensorValue& value) {
  std::vector<float> out(value.bytes().size() / sizeof(float));
  std::memcpy(out.data(), value.bytes().data(), value.bytes().size());
  return out;
}

}  // namespace smdebug
