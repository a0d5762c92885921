#pragma once

// Records small runs through a session, for tests that judge runs.

#include <cmath>
#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "smdebug/capture/session.h"

#include "tests/support/recording_logger_testing.h"
#include "tests/support/temporary_folder_testing.h"

namespace smdebug {

// Ten steps with a gradient of `gradient(step)` and a loss of `loss(step)`.
struct Course {
  double (*gradient)(Step) = [](Step) { return 0.5; };
  double (*loss)(Step) = [](Step step) {
    return 2.0 * std::exp(-0.5 * static_cast<double>(step));
  };
  Step steps = 10;
};

inline constexpr Course kHealthy = {};
inline constexpr Course kVanishing = {
    .gradient = [](Step step) { return step < 6 ? 0.5 : 1e-9; }};

// Calls `flushed` when all steps are on disk and the run has not ended.
inline void record_run(const std::string& out_dir, const Course& course,
                       bool ends = true,
                       const std::function<void()>& flushed = {}) {
  SaveConfigMode every_step;
  every_step.save_interval = 1;
  SessionOptions options;
  options.config.out_dir = out_dir;
  options.config.save_config = SaveConfig(every_step);
  options.config.include_collections = {"gradients", "losses"};
  options.framework = pytorch_framework();
  options.process.command = {"python", "train.py"};
  NullLogger silent;
  options.logger = &silent;
  auto session = Session::create(std::move(options));
  ASSERT_TRUE(session.ok()) << session.error().message;
  Session& recording = **session;
  const TensorSlot gradient = recording.gradient("Net", "fc.weight");
  const TensorSlot loss = recording.tensor("CrossEntropyLoss_output_0");
  recording.set_mode(Mode::train);
  for (Step step = 0; step < course.steps; ++step) {
    const auto size = static_cast<float>(course.gradient(step));
    const float gradients[] = {size, -size, size, -size, size, -size};
    const std::int64_t shape[] = {2, 3};
    const auto value = static_cast<float>(course.loss(step));
    recording.begin_step();
    gradient.put({DType::float32,
                  reinterpret_cast<const std::byte*>(gradients),
                  shape,
                  {}});
    loss.put(
        {DType::float32, reinterpret_cast<const std::byte*>(&value), {}, {}});
    recording.end_step();
  }
  if (flushed) {
    EXPECT_TRUE(recording.flush().ok());
    flushed();
  }
  const Status status = ends ? recording.close() : recording.flush();
  EXPECT_TRUE(status.ok()) << status.error().message;
}

}  // namespace smdebug
