#pragma once

// Follows the parameters of one worker over the saved steps of a training: have
// they moved since they were first saved, and did they receive gradients?

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "smdebug/base/result.h"
#include "smdebug/core/mode.h"
#include "smdebug/core/observation.h"
#include "smdebug/core/statistics.h"

namespace smdebug {

struct FollowedParameter {
  std::string tensor;  // "Net_fc1.weight"
  std::string key;     // the name that it shares with its gradient
  std::vector<std::int64_t> shape;
  TensorStatistics statistics;  // at the last saved step
  StepId first, last;           // the saved steps that are compared
  Step first_counted = 0, last_counted = 0;
  bool has_moved = false;
  std::size_t gradients = 0;       // steps with a gradient that is not all zero
  bool has_zero_gradient = false;  // at some step
  bool has_unknown_gradient = false;  // saved in a form that does not show it
  // Saved steps before `first` in which some parameter had a gradient.
  std::size_t steps_with_gradients_before = 0;

  bool has_gradient() const { return gradients > 0 || has_unknown_gradient; }

  // Whether it never moved, in at least that many training steps.
  bool has_rested(Step steps) const {
    return !has_moved && first.global >= 0 &&
           last_counted - first_counted >= steps;
  }
};

class ParameterMovement {
 public:
  // Notes the value of a parameter at a saved step. It has moved if a statistic
  // differs, however little: an update may be tiny. A parameter of another
  // shape replaces the one before it. Returns the parameter, or null if the
  // value was not usable. Fails with `io`.
  Result<const FollowedParameter*> add_parameter(const Observation& parameter,
                                                 const StepId& step,
                                                 Step counted);

  // Notes the gradient of a parameter. Fails with `io`.
  Status add_gradient(const Observation& gradient, Step counted);

  // Forgets the past of a parameter, such as one that has just been unfrozen.
  void restart(std::string_view key);

  // In the order in which a step lists them.
  const std::vector<FollowedParameter>& parameters() const {
    return parameters_;
  }

  // Returns the number of saved steps in which some parameter had a gradient.
  std::size_t steps_with_gradients() const { return steps_with_gradients_; }

 private:
  struct Gradients {
    Step last = -1;  // the last step with one that is not all zero
    std::size_t steps = 0;
    bool is_zero = false;
    bool is_unknown = false;
  };

  void take_gradients(FollowedParameter& parameter) const;

  std::vector<FollowedParameter> parameters_;
  std::map<std::string, std::size_t, std::less<>> positions_;  // by key
  std::map<std::string, Gradients, std::less<>> gradients_;    // by key
  Step last_step_with_gradients_ = -1;
  std::size_t steps_with_gradients_ = 0;
};

}  // namespace smdebug
