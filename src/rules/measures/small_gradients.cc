#include "rules/measures/small_gradients.h"

#include <algorithm>
#include <cmath>

#include "rules/engine/layer_name.h"

namespace smdebug {
namespace {

// Batches of one training differ by a factor of about five.
constexpr double kGrowth = 10;
// Far more than the weight and the bias of a layer differ, and far less than
// rounding errors differ from gradients.
constexpr double kAlive = 100;

using WorkerAndLayer = std::pair<std::string_view, std::string_view>;

WorkerAndLayer layer_key(const Observation& gradient) {
  return {gradient.worker, layer_of(gradient.name)};
}

// Whether a gradient consists of the rounding errors of terms that cancel each
// other, given the largest gradient of its layer. One of exactly 0 has none.
bool is_canceled(double value, double largest_of_layer, double threshold) {
  return value > 0 && largest_of_layer >= threshold &&
         largest_of_layer >= kAlive * value;
}

}  // namespace

std::vector<bool> SmallGradients::vanishing(
    std::span<const JudgedTensor> gradients, Step step) {
  std::vector<bool> vanish = small(gradients);
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (vanish[i]) {
      vanish[i] = prolong(gradients[i], step) >= patience_;
    } else if (!streaks_.empty()) {
      const Observation& gradient = *gradients[i].tensor;
      streaks_.erase(
          {std::string(gradient.name), std::string(gradient.worker)});
    }
  }
  return vanish;
}

std::vector<bool> SmallGradients::small(
    std::span<const JudgedTensor> gradients) {
  std::vector<bool> is_small;
  is_small.reserve(gradients.size());
  for (const JudgedTensor& one : gradients) {
    is_small.push_back(one.value < threshold_);
  }
  if (!in_context_) return is_small;
  const ByWorker thresholds_of = thresholds(gradients);
  if (std::ranges::find(is_small, true) == is_small.end()) return is_small;
  std::map<WorkerAndLayer, double> largest_of;
  for (const auto& [gradient, value] : gradients) {
    double& largest = largest_of[layer_key(*gradient)];
    largest = std::max(largest, value);
  }
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const auto& [gradient, value] = gradients[i];
    const double threshold = thresholds_of.at(gradient->worker);
    is_small[i] =
        value < threshold &&
        !is_canceled(value, largest_of[layer_key(*gradient)], threshold);
  }
  return is_small;
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
    value = threshold_;
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
