#pragma once

// A scalar series: one number for each step of a training, such as a loss or a
// learning rate. Tensors are recorded at the saved steps only, scalars at every
// step. A session records them (`Session::scalar`), capture and `read` pass
// them to rules in the same form, and a run stores them in `series/`
// (docs/format.md).
//
// A series has the name of the tensor that it belongs to:
// "CrossEntropyLoss_output_0", "learning_rate/Adam/0".

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "smdebug/core/mode.h"

namespace [[gnu::visibility("default")]] smdebug {

struct ScalarSample {
  StepId step;
  double value = 0;

  friend bool operator==(const ScalarSample&, const ScalarSample&) = default;
};

// Samples in ascending order of their global steps, at most one per step.
struct ScalarSeries {
  std::string name;
  std::vector<ScalarSample> samples;

  friend bool operator==(const ScalarSeries&, const ScalarSeries&) = default;
};

// The same without ownership.
struct ScalarSeriesView {
  std::string_view name;
  std::span<const ScalarSample> samples;
};

// One series as a worker of the run recorded it.
struct WorkerSeries {
  std::string worker;
  std::vector<ScalarSample> samples;

  friend bool operator==(const WorkerSeries&, const WorkerSeries&) = default;
};

/// Sorts samples by their steps. Of several for one step, keeps the last.
void sort_samples(std::vector<ScalarSample>& samples);

}  // namespace smdebug
