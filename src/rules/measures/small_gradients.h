#pragma once

// `SmallGradients` separates gradients that vanish from those that are small
// for a while or for a harmless reason. It follows the mean absolute values of
// the gradients of a training, step by step.
//
// A gradient that vanishes does so on its way to a layer, and it stays small:
// the layer does not learn, so nothing changes that. How small a gradient is in
// numbers depends on the loss and the size of the layer, so it can also be
// compared with those of the same shape. Harmless are
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
#include <optional>
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
  // A gradient vanishes once it has been small over `patience` steps, at each
  // of them that was saved, without growing tenfold.
  struct Limits {
    double threshold = 0;           // a gradient below this is small
    double relative_threshold = 0;  // so is one below this share of the
                                    // largest of at least four of its shape
    Step patience = 0;
    // Gradients that are small at a minimum, or in a layer that learns, do not
    // vanish.
    bool in_context = false;
  };

  explicit SmallGradients(const Limits& limits) : limits_(limits) {}

  // By position of a gradient: the number below which it is small; none if it
  // is not.
  using Bounds = std::vector<std::optional<double>>;

  // Returns the bounds of the gradients of a step that vanish. The same step
  // may be given twice.
  Bounds vanishing(std::span<const JudgedTensor> gradients, Step step);

 private:
  // Consecutive saved steps with a small gradient.
  struct Streak {
    Step first_step = -1;  // -1: none yet
    double first = 0;      // the gradient at that step
  };
  using ByWorker = std::map<std::string_view, double>;

  // Returns the threshold for each worker of a step.
  ByWorker thresholds(std::span<const JudgedTensor> gradients);

  // Returns the bounds of the gradients that are small.
  Bounds small(std::span<const JudgedTensor> gradients);

  // Adds the bounds of those that are small among the gradients of their shape,
  // also to the thresholds that are used in this step.
  void add_small_of_shape(std::span<const JudgedTensor> gradients,
                          std::span<double> used, Bounds& bounds) const;

  // Returns for how many steps the gradient has been small.
  Step prolong(const JudgedTensor& gradient, Step step);

  Limits limits_;
  // By tensor and worker.
  std::map<std::pair<std::string, std::string>, Streak> streaks_;
  // The largest gradient of the first saved step, by worker.
  std::map<std::string, double, std::less<>> largest_at_first_;
};

}  // namespace smdebug
