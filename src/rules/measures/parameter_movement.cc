#include "rules/measures/parameter_movement.h"

#include <algorithm>

#include "smdebug/base/try.h"

#include "rules/engine/layer_name.h"
#include "rules/measures/quantity.h"

namespace smdebug {
namespace {

void begin_at(FollowedParameter& parameter, const StepId& step, Step counted) {
  parameter.first = parameter.last = step;
  parameter.first_counted = parameter.last_counted = counted;
  parameter.has_moved = false;
}

}  // namespace

Result<const FollowedParameter*> ParameterMovement::add_parameter(
    const Observation& observed, const StepId& step, Step counted) {
  constexpr const FollowedParameter* kNone = nullptr;
  if (!is_floating(observed.dtype)) return kNone;
  SMD_TRY(const auto statistics, full_statistics(observed));
  if (!statistics || statistics->finite() == 0) return kNone;
  const std::string_view key = parameter_of_weight(observed.name);
  auto known = positions_.find(key);
  if (known == positions_.end()) {
    known = positions_.emplace(key, parameters_.size()).first;
    FollowedParameter& added = parameters_.emplace_back();
    added.tensor = observed.name;
    added.key = key;
    take_gradients(added);
  }
  FollowedParameter& parameter = parameters_[known->second];
  const bool is_new = parameter.first.global < 0 ||
                      !std::ranges::equal(parameter.shape, observed.shape);
  if (is_new) {
    parameter.shape.assign(observed.shape.begin(), observed.shape.end());
    begin_at(parameter, step, counted);
    parameter.steps_with_gradients_before =
        steps_with_gradients_ - (last_step_with_gradients_ == counted);
  } else if (counted > parameter.last_counted) {
    parameter.has_moved |= *statistics != parameter.statistics;
    parameter.last = step;
    parameter.last_counted = counted;
  }
  parameter.statistics = *statistics;
  return static_cast<const FollowedParameter*>(&parameter);
}

Status ParameterMovement::add_gradient(const Observation& observed,
                                       Step counted) {
  SMD_TRY(const auto largest,
          quantity(observed, {Reduction::max, /*abs=*/true}));
  const std::string_view key = parameter_of_gradient(observed.name);
  auto known = gradients_.find(key);
  if (known == gradients_.end()) {
    known = gradients_.emplace(key, Gradients()).first;
  }
  Gradients& gradients = known->second;
  gradients.is_unknown |= !largest;
  gradients.is_zero |= largest == 0.0;
  // NaN is not zero either.
  if (largest && *largest != 0 && gradients.last != counted) {
    gradients.last = counted;
    ++gradients.steps;
    if (last_step_with_gradients_ != counted) ++steps_with_gradients_;
    last_step_with_gradients_ = counted;
  }
  const auto parameter = positions_.find(key);
  if (parameter != positions_.end()) {
    take_gradients(parameters_[parameter->second]);
  }
  return {};
}

void ParameterMovement::restart(std::string_view key) {
  gradients_.erase(std::string(key));
  const auto known = positions_.find(key);
  if (known == positions_.end()) return;
  FollowedParameter& parameter = parameters_[known->second];
  parameter.first = {};  // begins with the next saved step
  parameter.gradients = 0;
  parameter.has_zero_gradient = parameter.has_unknown_gradient = false;
}

void ParameterMovement::take_gradients(FollowedParameter& parameter) const {
  const auto known = gradients_.find(parameter.key);
  if (known == gradients_.end()) return;
  parameter.gradients = known->second.steps;
  parameter.has_zero_gradient = known->second.is_zero;
  parameter.has_unknown_gradient = known->second.is_unknown;
}

}  // namespace smdebug
