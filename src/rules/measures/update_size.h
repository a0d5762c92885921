#pragma once

// Estimates the update of an optimizer from what a run has by default: the
// statistics of the gradient before the update, and the learning rate.
//
// `FollowedUpdates` (followed_updates.h) adds up the parameters of a model.

#include <optional>
#include <string_view>

#include "smdebug/core/statistics.h"

namespace smdebug {

struct UpdateSettings {
  std::string_view optimizer;  // its kind: "Adam"
  double rate = 0;
  double momentum = 0;
  double kept = 1;  // the share that clipping leaves of each gradient
};

struct UpdateSize {
  // The root mean square of the changes of the elements.
  double distance = 0;
  // The fall of the loss to first order: the sum of gradient times change.
  double fall = 0;
};

// Returns the size at which updates settle while the gradient does not turn,
// which is nearly the largest: with momentum, the first ones are smaller. None
// for an optimizer that is not known, and for a gradient that is not finite. If
// the gradient is multiplied by a loss scale, so is the result for SGD.
std::optional<UpdateSize> update_size(const UpdateSettings& settings,
                                      const TensorStatistics& gradient);

// Whether weight decay outweighs the gradient of a parameter whose elements
// have this root mean square when it begins. It then pulls the parameter to 0.
//
// Usual settings take at most a thousandth off a weight in each update: 0.1
// times 0.0005 with a momentum of 0.9 for SGD, 0.003 times 0.3 for AdamW. Adam
// divides the decay by its size as well, so that it counts beside the gradient
// only.
bool is_decay_excessive(const UpdateSettings& settings, double weight_decay,
                        double parameter_size,
                        const TensorStatistics& gradient);

// Returns the usual learning rate of an optimizer, for a model that begins with
// random weights; none for an optimizer that is not known.
std::optional<double> usual_rate(const UpdateSettings& settings);

}  // namespace smdebug
