#include "rules/builtin/followed_losses.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "smdebug/core/tensor_names.h"

#include "rules/builtin/loss_course.h"
#include "rules/engine/counted_step.h"
#include "rules/measures/training_losses.h"

namespace smdebug {
namespace {

// Losses of triplets before they are judged.
constexpr std::size_t kFewestOfTriplets = 200;
// Targets of this size, or this standard deviation, are not scaled.
constexpr double kLargeTargets = 10;
// Steps whose calls and losses are counted, to know the kind of the training.
constexpr std::size_t kMostCounted = 4096;

// Whether the only loss has targets in a unit of their own. Small targets may
// grow during a training, as those of values in reinforcement learning do.
bool has_large_targets(const RunFacts& facts) {
  if (facts.losses.size() != 1 || !facts.losses.front().input) return false;
  const auto& targets = facts.losses.front().input->targets;
  return targets && std::max(std::abs(targets->mean.value_or(0)),
                             targets->deviation.value_or(0)) > kLargeTargets;
}

double highest_dropout(const RunFacts& facts) {
  double highest = 0;
  for (const ModuleFacts& module : facts.modules) {
    if (module.kind.find("Dropout") == std::string::npos) continue;
    highest = std::max(highest, setting(module.settings, "p").value_or(0));
  }
  return highest;
}

Step count_until(const std::set<Step>& steps, Step end) {
  return std::distance(steps.begin(), steps.upper_bound(end));
}

}  // namespace

bool is_loss_series(std::string_view name) {
  return names_loss(name) || role_in_xgboost(name);
}

void FollowedLoss::note(const StepId& step, double value) {
  if (!first) first = value;
  highest = std::max(highest, value);
  lowest = std::min(lowest, value);
  if (!leap && value > kLossLeap * std::abs(*first)) leap = {step, value};
}

void LossWorker::set_facts(const RunFacts& facts) {
  guess = guess_of(facts);
  of_constant = loss_of_constant(facts);
  of_equal_outputs = loss_of_equal_outputs(facts);
  dropout = highest_dropout(facts);
  has_large_targets = smdebug::has_large_targets(facts);
  roles.add(facts);
  boosting = boosting_of(facts);
}

void LossWorker::count_steps(const ScalarSeriesView& one,
                             std::optional<Mode> mode) {
  std::set<Step>* steps = nullptr;
  if (one.name == name_parts::kRepeatedCalls) {
    steps = &repeated_calls;
  } else if (is_loss_series(one.name)) {
    steps = &loss_steps[std::string(one.name)];
  }
  if (!steps) return;
  for (const ScalarSample& sample : one.samples) {
    if (steps->size() == kMostCounted) return;
    if (const auto counted = counted_step(sample.step, mode)) {
      steps->insert(*counted);
    }
  }
}

bool LossWorker::has_series_until_waiting() const {
  const Step step = waiting->evidence.step.global;
  return std::ranges::any_of(series, [step](const auto& loss) {
    return loss.second.newest.global >= step;
  });
}

bool LossWorker::can_judge(std::string_view tensor) const {
  const auto role = roles.in_xgboost(tensor);
  if (!role) return true;
  if (is_error_rate(role->pair)) return false;
  return role->part == LossRole::Part::training || losses().size() == 1;
}

// Whether another loss is minimized as well, in the same steps or in turn.
bool LossWorker::has_rivals(std::string_view tensor,
                            const FollowedLoss& loss) const {
  if (series.empty()) {
    return std::ranges::any_of(tensors, [&](const auto& one) {
      return one.first != tensor && !role_in_xgboost(one.first);
    });
  }
  if (turns.alternate(loss.newest.global)) return true;
  const Step end = loss.counted.value_or(0);
  const Step steps = std::min<Step>(loss.trend.steps(), kMostCounted);
  return std::ranges::any_of(loss_steps, [&](const auto& one) {
    return one.first != tensor && !role_in_xgboost(one.first) &&
           4 * count_until(one.second, end) > steps;
  });
}

LossTrend::Setting LossWorker::setting_of(std::string_view tensor,
                                          const FollowedLoss& loss) const {
  const Step end = loss.counted.value_or(0);
  const Step steps = std::min<Step>(loss.trend.steps(), kMostCounted);
  LossTrend::Setting setting;
  // A model is called for each sample of a triplet. Such a loss may begin at
  // its margin.
  const bool is_of_triplets =
      of_equal_outputs && loss.trend.losses() >= kFewestOfTriplets;
  setting.has_repeated_calls =
      !is_of_triplets && 2 * count_until(repeated_calls, end) > steps;
  setting.has_rivals = has_rivals(tensor, loss);
  setting.guess = guess ? guess->loss : of_equal_outputs;
  return setting;
}

}  // namespace smdebug
