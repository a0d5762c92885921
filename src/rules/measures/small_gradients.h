#pragma once

// `SmallGradients` separates gradients that vanish from those that are small
// for a while or for a harmless reason. It follows the mean absolute values of
// the gradients of a training, step by step.
//
// A gradient that vanishes does so on its way to a layer, and it stays small:
// the layer does not learn, so nothing changes that. Harmless are
//
// - a factor that starts at zero, such as the second matrix of LoRA or the last
//   layer of a residual branch: the gradients before it are 0 or tiny until the
//   factor has moved, and then grow;
// - an expert, a task or a margin that contributes nothing to some batches;
// - a parameter whose effect a normalization cancels, such as the bias before
//   it, in a layer that learns;
// - a minimum: every gradient gets small there, the largest as well.

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "smdebug/core/mode.h"

#include "rules/measures/adjacent_layers.h"

namespace smdebug {

class SmallGradients {
 public:
  // A gradient is small below `threshold`. It vanishes once it has been so over
  // `patience` steps, at each of them that was saved, without growing tenfold.
  // `in_context`: gradients that are small at a minimum, or in a layer that
  // learns, do not vanish.
  SmallGradients(double threshold, Step patience, bool in_context)
      : threshold_(threshold), patience_(patience), in_context_(in_context) {}

  // Returns which gradients of a step vanish, by position. The same step may be
  // given twice.
  std::vector<bool> vanishing(std::span<const JudgedTensor> gradients,
                              Step step);

 private:
  // Consecutive saved steps with a small gradient.
  struct Streak {
    Step first_step = -1;  // -1: none yet
    double first = 0;      // the gradient at that step
  };
  using ByWorker = std::map<std::string_view, double>;

  // Returns the threshold for each worker of a step.
  ByWorker thresholds(std::span<const JudgedTensor> gradients);

  // Returns whether each gradient is small, and for no harmless reason.
  std::vector<bool> small(std::span<const JudgedTensor> gradients);

  // Returns for how many steps the gradient has been small.
  Step prolong(const JudgedTensor& gradient, Step step);

  double threshold_;
  Step patience_;
  bool in_context_;
  // By tensor and worker.
  std::map<std::pair<std::string, std::string>, Streak> streaks_;
  // The largest gradient of the first saved step, by worker.
  std::map<std::string, double, std::less<>> largest_at_first_;
};

}  // namespace smdebug
