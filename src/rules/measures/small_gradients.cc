#include "rules/measures/small_gradients.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "rules/engine/layer_name.h"

namespace smdebug {
namespace {

// Batches of one training differ by a factor of about five.
constexpr double kGrowth = 10;
// Far more than the weight and the bias of a layer differ, and far less than
// rounding errors differ from gradients.
constexpr double kAlive = 100;
// Fewer gradients of one shape may have different roles.
constexpr std::size_t kComparable = 4;

using WorkerAndLayer = std::pair<std::string_view, std::string_view>;

WorkerAndLayer layer_key(const Observation& gradient) {
  return {gradient.worker, layer_of(gradient.name)};
}

struct WorkerAndShape {
  std::string_view worker;
  std::span<const std::int64_t> shape;

  friend bool operator<(const WorkerAndShape& a, const WorkerAndShape& b) {
    if (a.worker != b.worker) return a.worker < b.worker;
    return std::ranges::lexicographical_compare(a.shape, b.shape);
  }
};

struct GradientsOfShape {
  std::size_t count = 0;
  double largest = 0;
};

// Removes the bounds of gradients that consist of the rounding errors of terms
// that cancel each other: of those far below the largest gradient of their
// layer, which is not small. One of exactly 0 has no rounding errors.
void remove_canceled(std::span<const JudgedTensor> gradients,
                     std::span<const double> thresholds,
                     SmallGradients::Bounds& bounds) {
  std::map<WorkerAndLayer, double> largest_of;
  for (const auto& [gradient, value] : gradients) {
    double& largest = largest_of[layer_key(*gradient)];
    largest = std::max(largest, value);
  }
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (!bounds[i]) continue;
    const auto& [gradient, value] = gradients[i];
    const double largest = largest_of[layer_key(*gradient)];
    if (value > 0 && largest >= thresholds[i] && largest >= kAlive * value) {
      bounds[i].reset();
    }
  }
}

}  // namespace

SmallGradients::Bounds SmallGradients::vanishing(
    std::span<const JudgedTensor> gradients, Step step) {
  Bounds bounds = small(gradients);
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (bounds[i]) {
      if (prolong(gradients[i], step) < limits_.patience) bounds[i].reset();
    } else if (!streaks_.empty()) {
      const Observation& gradient = *gradients[i].tensor;
      streaks_.erase(
          {std::string(gradient.name), std::string(gradient.worker)});
    }
  }
  return bounds;
}

SmallGradients::Bounds SmallGradients::small(
    std::span<const JudgedTensor> gradients) {
  Bounds bounds(gradients.size());
  const ByWorker thresholds_of = thresholds(gradients);
  std::vector<double> used(gradients.size());  // thresholds in this step
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    used[i] = thresholds_of.at(gradients[i].tensor->worker);
    if (gradients[i].value < used[i]) bounds[i] = limits_.threshold;
  }
  if (limits_.relative_threshold > 0) {
    add_small_of_shape(gradients, used, bounds);
  }
  const bool any = std::ranges::any_of(
      bounds, [](const auto& bound) { return bound.has_value(); });
  if (limits_.in_context && any) remove_canceled(gradients, used, bounds);
  return bounds;
}

void SmallGradients::add_small_of_shape(std::span<const JudgedTensor> gradients,
                                        std::span<double> used,
                                        Bounds& bounds) const {
  std::map<WorkerAndShape, GradientsOfShape> of_shape;
  for (const auto& [gradient, value] : gradients) {
    GradientsOfShape& same = of_shape[{gradient->worker, gradient->shape}];
    ++same.count;
    if (std::isfinite(value)) same.largest = std::max(same.largest, value);
  }
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const auto& [gradient, value] = gradients[i];
    const auto& same = of_shape[{gradient->worker, gradient->shape}];
    const double bound = limits_.relative_threshold * same.largest;
    if (!bounds[i] && same.count >= kComparable && value < bound) {
      bounds[i] = used[i] = bound;
    }
  }
}

SmallGradients::ByWorker SmallGradients::thresholds(
    std::span<const JudgedTensor> gradients) {
  ByWorker largest;
  for (const auto& [gradient, value] : gradients) {
    double& of_worker = largest[gradient->worker];
    if (std::isfinite(value)) of_worker = std::max(of_worker, value);
  }
  for (auto& [worker, value] : largest) {
    const double now = value;
    value = limits_.threshold;
    if (!limits_.in_context) continue;
    if (now == 0) continue;  // all are 0: there is nothing to compare with
    const auto first =
        largest_at_first_.try_emplace(std::string(worker), now).first;
    value *= std::min(1.0, now / first->second);
  }
  return largest;
}

Step SmallGradients::prolong(const JudgedTensor& gradient, Step step) {
  Streak& streak = streaks_[{std::string(gradient.tensor->name),
                             std::string(gradient.tensor->worker)}];
  if (streak.first_step < 0 || gradient.value > kGrowth * streak.first) {
    streak = {.first_step = step, .first = gradient.value};
  }
  return step - streak.first_step;
}

}  // namespace smdebug
