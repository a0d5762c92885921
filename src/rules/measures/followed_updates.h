#pragma once

// Follows the updates of the parameters of one worker: how large they are by
// the estimate of update_size.h, and how far the weights really went.
//
// A step is taken when a later one arrives, and closed when its learning rates
// are known. Only what an optimizer updates counts; its weights are the
// parameters with two dimensions or more that do not begin as zeros.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

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
  // The share of the gradients that clipping leaves, and their norm before it.
  double kept = 1;
  double gradient_norm = 0;
  // Of the optimizer and group with the most weights.
  std::string optimizer;
  double momentum = 0;
  double rate = 0;
};

// Weights that an excessive weight decay pulls to 0.
struct FollowedDecay {
  std::string optimizer;
  double weight_decay = 0;
  double rate = 0;
  std::size_t weights = 0;  // that an optimizer updates
  // The median of their sizes, relative to those when they were first saved.
  double left = 0;
};

// A parameter of a step, and its gradient.
struct FollowedPart {
  bool is_matrix = false;  // two dimensions or more
  std::optional<TensorStatistics> parameter, gradient;
};

// By the key of the parameter.
using FollowedParts = std::map<std::string, FollowedPart, std::less<>>;

class FollowedGroups;

class FollowedUpdates {
 public:
  // Note a parameter or its gradient at a step, the same for all until the
  // next `take`. Others than floating-point ones are ignored. Fail with `io`.
  Status add_parameter(const Observation& parameter);
  Status add_gradient(const Observation& gradient);

  // Ends the step, and returns what was noted.
  FollowedParts take() { return std::exchange(parts_, {}); }

  // Returns the update of a step; none if it had no parameter with a gradient.
  // Call it for the steps in their order. `facts` may be null.
  std::optional<FollowedUpdate> close(const StepId& step,
                                      const FollowedParts& parts,
                                      const RunFacts* facts,
                                      const LearningRates& rates);

  // Returns the median over the weights of how far they have gone since they
  // were first saved, relative to their size then, as far as their norms show
  // it: the distance of a random direction. None without weights.
  std::optional<double> distance() const { return distance_; }

  // Returns how far the weights of the last closed step have shrunk, if the
  // decay of most of them is excessive.
  const std::optional<FollowedDecay>& decay() const { return decay_; }

  // Returns the share of the weights that looked untrained when they were first
  // saved; none if no weight was large enough to tell.
  std::optional<double> untrained_share() const;

 private:
  bool is_weight(std::string_view key, const FollowedPart& part);
  std::optional<FollowedDecay> find_decay(const FollowedParts& parts,
                                          FollowedGroups& groups);

  FollowedParts parts_;  // of the open step
  std::map<std::string, double, std::less<>> first_squares_;  // of weights
  // The root mean squares with which the weights were first saved.
  std::map<std::string, double, std::less<>> first_sizes_;
  std::optional<double> distance_;
  std::optional<FollowedDecay> decay_;
  std::size_t untrained_ = 0, trained_ = 0;  // weights
};

}  // namespace smdebug
