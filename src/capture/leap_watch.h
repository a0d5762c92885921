#pragma once

// `LeapWatch` decides which steps are saved because a number leapt: a loss,
// which is noted every step, or the norm of a gradient, from one saved step to
// the next. A training that goes wrong between two saved steps is seen from
// the step after the leap on. The owner's thread.

#include <cstdint>

#include "smdebug/core/mode.h"
#include "smdebug/core/statistics.h"

namespace smdebug {

// The recent values of one number.
class RecentValues {
 public:
  // Returns whether `value` is above the mean of the values before by more than
  // `share` of it and six times their mean deviation, or the first one that is
  // not finite after finite ones.
  bool leaps_to(double value, double share);

 private:
  std::uint32_t count_ = 0;
  bool is_finite_ = true;
  double mean_ = 0;
  double deviation_ = 0;
};

class LeapWatch {
 public:
  // Saves so many steps after a leap; 0: none.
  void set_steps(std::uint32_t steps) { steps_ = steps; }

  void note_loss(RecentValues& recent, Mode mode, double loss);
  void note_gradient(RecentValues& recent, const TensorStatistics& gradient);

  // Whether the step that begins now is saved after a leap.
  bool begin_step(Mode mode);
  // Whether a step of that mode would be.
  bool saves_next(Mode mode) const { return left_ > 0 && can_learn(mode); }

 private:
  static bool can_learn(Mode mode) {
    return mode == Mode::train || mode == Mode::global;
  }
  void note(bool is_leap);

  std::uint32_t steps_ = 0;
  std::uint32_t left_ = 0;   // to save
  std::uint32_t pause_ = 0;  // steps in which a leap is ignored
};

}  // namespace smdebug
