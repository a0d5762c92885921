#include "rules/measures/update_history.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "smdebug/core/tensor_names.h"

#include "rules/measures/noisy_values.h"

namespace smdebug {
namespace {

// The updates that are early.
constexpr std::size_t kEarlyUpdates = 20;
// The updates that are counted: what is judged by their number needs fewer.
constexpr std::size_t kMostUpdates = 4096;
// Statistics that wait for losses: about 25 MB. Then steps are taken without.
constexpr std::size_t kMostStepsWaiting = 65536;

}  // namespace

double median_loss(std::span<const ScalarSample> losses) {
  std::vector<double> values;
  for (const ScalarSample& loss : losses) {
    if (std::isfinite(loss.value)) values.push_back(loss.value);
  }
  return values.empty() ? std::numeric_limits<double>::infinity()
                        : median(values);
}

LossCourse course_of(std::span<const ScalarSample> losses) {
  const std::size_t count = std::min(kLossWindow, losses.size());
  return {median_loss(losses.first(count)), median_loss(losses.last(count))};
}

void UpdateHistory::add(const ScalarSeriesView& series) {
  rates_.add(series);
  losses_.add(series);
  note_updates(series);
  if (series.samples.empty()) return;
  known_ = std::max(known_, series.samples.back().step.global);
}

void UpdateHistory::note_updates(const ScalarSeriesView& series) {
  if (!series.name.starts_with(name_parts::kLearningRate)) return;
  for (const ScalarSample& sample : series.samples) {
    if (updated_.size() == kMostUpdates) return;
    updated_.insert(sample.step.global);
  }
}

Status UpdateHistory::add_parameter(const Observation& parameter) {
  return followed_.add_parameter(parameter);
}

Status UpdateHistory::add_gradient(const Observation& gradient) {
  return followed_.add_gradient(gradient);
}

void UpdateHistory::end_step(const StepId& step, Step next) {
  while (auto facts = coming_.take_before(next)) {
    ended_facts_ = std::make_shared<const RunFacts>(*std::move(facts));
  }
  ended_.push_back({step, followed_.take(), ended_facts_});
  waiting_ += ended_.back().parts.size();
}

bool UpdateHistory::take_step() {
  if (ended_.empty() ||
      (known_ <= ended_.front().step.global && waiting_ <= kMostStepsWaiting)) {
    return false;
  }
  const EndedStep ended = std::move(ended_.front());
  ended_.pop_front();
  waiting_ -= ended.parts.size();
  step_ = ended.step;
  facts_ = ended.facts;
  take_update(ended);
  return true;
}

void UpdateHistory::take_update(const EndedStep& ended) {
  const auto update =
      followed_.close(ended.step, ended.parts, ended.facts.get(), rates_);
  if (!update) return;
  last_ = update;
  const auto until = losses();
  const bool has_loss =
      !until.empty() && until.back().step.global == step_.global;
  if (update->ratio) ratios_.push_back(*update->ratio);
  if (update->fall && has_loss && until.back().value > 0) {
    falls_.push_back(*update->fall / until.back().value);
  }
  const auto distance = followed_.distance();
  const std::size_t made = updates_until(step_.global - 1);
  if (made > 0 && made <= kEarlyUpdates && distance) {
    early_.push_back({*update, *distance, made});
  }
}

std::span<const ScalarSample> UpdateHistory::losses() const {
  return losses_.until(step_.global);
}

std::string_view UpdateHistory::why_losses_may_rise() const {
  return losses_.why_may_rise(step_.global);
}

std::optional<LearningRates::Rate> UpdateHistory::rate() const {
  return rates_.at(step_.global);
}

std::size_t UpdateHistory::updates_until(Step step) const {
  return static_cast<std::size_t>(
      std::distance(updated_.begin(), updated_.upper_bound(step)));
}

}  // namespace smdebug
