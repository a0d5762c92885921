#pragma once

// A sink that lists the scalars and the steps that it receives, in order.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "smdebug/core/observation.h"

namespace smdebug {

// " 0:1 1:2": the steps and values.
inline std::string text_of(std::span<const ScalarSample> samples) {
  std::string text;
  for (const ScalarSample& one : samples) {
    text += " " + std::to_string(one.step.global) + ":" +
            std::to_string(static_cast<int>(one.value));
  }
  return text;
}

// "worker_0 loss 0:1 1:2" for the samples (step:value), "step 1" for a step.
class SeenScalars : public ObservationSink {
 public:
  // Expects scalars of this run alone.
  explicit SeenScalars(std::size_t run = 0) : run_(run) {}

  void on_collections(std::size_t, std::span<const TensorGroup>) override {}
  void on_scalars(std::size_t run, std::string_view worker,
                  std::span<const ScalarSeriesView> series) override {
    EXPECT_EQ(run, run_);
    for (const ScalarSeriesView& one : series) {
      lines.push_back(std::string(worker) + " " + std::string(one.name) +
                      text_of(one.samples));
    }
  }
  void on_step(const StepView& step) override {
    lines.push_back("step " + std::to_string(step.step.global));
  }
  void on_tick(double) override {}
  void on_run_end(std::size_t) override {}

  std::vector<std::string> lines;

 private:
  std::size_t run_;
};

}  // namespace smdebug
