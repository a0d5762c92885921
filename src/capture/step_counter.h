#pragma once

// Counts steps: all of them, and those of each mode.

#include <array>

#include "smdebug/core/mode.h"

namespace smdebug {

// How far a training is: all steps, and those of each mode; -1 where there was
// none.
struct StepCounts {
  Step global = -1;
  std::array<Step, kModes.size()> of_mode = {-1, -1, -1, -1};

  friend bool operator==(const StepCounts&, const StepCounts&) = default;
};

class StepCounter {
 public:
  const StepCounts& counts() const { return counts_; }
  // Goes on behind `counts`, before the first step.
  void resume(const StepCounts& counts) {
    counts_ = counts;
    current_ = {counts.global, Mode::global, counts.global};
  }

  void set_mode(Mode mode) { mode_ = mode; }
  Mode mode() const { return mode_; }

  // Begins the next step of the present mode.
  const StepId& next() {
    Step& mode_step = counts_.of_mode[mode_index(mode_)];
    ++mode_step;
    ++counts_.global;
    if (mode_ == Mode::global) mode_step = counts_.global;
    current_ = {counts_.global, mode_, mode_step};
    return current_;
  }

  // The step that was begun last; global -1 before the first.
  const StepId& current() const { return current_; }

 private:
  Mode mode_ = Mode::global;
  StepCounts counts_;
  StepId current_;
};

}  // namespace smdebug
