#pragma once

// Follows the updates of the parameters of one worker: how large they are by
// the estimate of update_size.h, and how far the weights really went.
//
// A step is closed when a later one arrives, because its learning rates are
// known by then. Only what an optimizer updates counts; its weights are the
// parameters with two dimensions or more that do not begin as zeros.

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "smdebug/base/result.h"
#include "smdebug/core/mode.h"
#include "smdebug/core/observation.h"
#include "smdebug/core/run_facts.h"
#include "smdebug/core/statistics.h"

#include "rules/measures/learning_rates.h"

namespace smdebug {

// The update of a saved step.
struct FollowedUpdate {
  StepId step;
  // The estimates: the median over the weights of |update| / |weight|, and the
  // fall of the loss to first order. None if the optimizer of a parameter is
  // not known, or if nothing is.
  std::optional<double> ratio;
  std::optional<double> fall;
  std::size_t weights = 0;  // in the median
  // Of the optimizer and group with the most weights.
  std::string optimizer;
  double momentum = 0;
  double rate = 0;
};

class FollowedUpdates {
 public:
  // Note a parameter or its gradient at a step, the same for all until the
  // next `close`. Others than floating-point ones are ignored. Fail with `io`.
  Status add_parameter(const Observation& parameter);
  Status add_gradient(const Observation& gradient);

  // Ends the step, and returns its update; none if it had no parameter with a
  // gradient. `facts` may be null.
  std::optional<FollowedUpdate> close(const StepId& step, const RunFacts* facts,
                                      const LearningRates& rates);

  // Returns the median over the weights of how far they have gone since they
  // were first saved, relative to their size then, as far as their norms show
  // it: the distance of a random direction. None without weights.
  std::optional<double> distance() const { return distance_; }

  // Returns the share of the weights that looked untrained when they were first
  // saved; none if no weight was large enough to tell.
  std::optional<double> untrained_share() const;

 private:
  struct Part {
    bool is_matrix = false;  // two dimensions or more
    std::optional<TensorStatistics> parameter, gradient;
  };

  bool is_weight(std::string_view key, const Part& part);

  std::map<std::string, Part, std::less<>> parts_;  // of the open step, by key
  std::map<std::string, double, std::less<>> first_squares_;  // of weights
  std::optional<double> distance_;
  std::size_t untrained_ = 0, trained_ = 0;  // weights
};

}  // namespace smdebug
