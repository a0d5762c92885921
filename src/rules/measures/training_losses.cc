#include "rules/measures/training_losses.h"

#include <algorithm>

#include "smdebug/core/tensor_names.h"

#include "rules/engine/counted_step.h"

namespace smdebug {
namespace {

// Of a series: what matters is the beginning of a training.
constexpr std::size_t kMostSamplesKept = 4096;

std::span<const ScalarSample> part_until(
    const std::vector<ScalarSample>& samples, Step step) {
  const auto end = std::ranges::upper_bound(
      samples, step, {},
      [](const ScalarSample& one) { return one.step.global; });
  return {samples.begin(), end};
}

}  // namespace

bool names_loss(std::string_view series) {
  return series.find("loss") != series.npos ||
         series.find("Loss") != series.npos;
}

void TrainingLosses::add(const ScalarSeriesView& series) {
  turns_.add(series);
  const bool are_repeats = series.name == name_parts::kRepeatedCalls;
  if (!are_repeats && !names_loss(series.name)) return;
  for (const ScalarSample& sample : series.samples) {
    if (!counted_step(sample.step, std::nullopt)) continue;
    // Not before: a series of validation losses has no such step.
    auto& kept =
        are_repeats ? repeated_calls_ : losses_[std::string(series.name)];
    if (kept.size() == kMostSamplesKept) return;
    kept.push_back(sample);
  }
}

std::span<const ScalarSample> TrainingLosses::until(Step step) const {
  if (losses_.empty()) return {};
  return part_until(losses_.begin()->second, step);
}

std::string_view TrainingLosses::name() const {
  return losses_.empty() ? std::string_view() : losses_.begin()->first;
}

std::string_view TrainingLosses::why_may_rise(Step step) const {
  const auto losses = until(step);
  if (2 * part_until(repeated_calls_, step).size() > losses.size())
    return "the model is called more than once per step";
  if (std::ranges::any_of(
          losses, [](const ScalarSample& loss) { return loss.value < 0; }))
    return "a loss is negative";
  if (turns_.alternate(step)) return "optimizers act in turn";
  const bool has_rivals = std::ranges::any_of(losses_, [&](const auto& one) {
    return one.first != name() &&
           4 * part_until(one.second, step).size() > losses.size();
  });
  return has_rivals ? "the training has several losses" : "";
}

}  // namespace smdebug
