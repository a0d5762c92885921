#pragma once

// Counts steps: all of them, and those of each mode.

#include <array>

#include "smdebug/core/mode.h"

namespace smdebug {

class StepCounter {
 public:
  void set_mode(Mode mode) { mode_ = mode; }
  Mode mode() const { return mode_; }

  // Begins the next step of the present mode.
  const StepId& next() {
    Step& mode_step = mode_steps_[mode_index(mode_)];
    ++mode_step;
    ++global_;
    if (mode_ == Mode::global) mode_step = global_;
    current_ = {global_, mode_, mode_step};
    return current_;
  }

  // The step that was begun last; global -1 before the first.
  const StepId& current() const { return current_; }

 private:
  Mode mode_ = Mode::global;
  Step global_ = -1;
  std::array<Step, kModes.size()> mode_steps_ = {-1, -1, -1, -1};
  StepId current_;
};

}  // namespace smdebug
