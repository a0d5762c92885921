#include "rules/measures/wiring_fault.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "rules/engine/layer_name.h"

namespace smdebug {
namespace {

// One gradient may be left over from the step in which a part was frozen.
constexpr std::size_t kEnoughGradients = 2;
// Gradients of other parameters, before a missing one is a finding.
constexpr std::size_t kEnoughSteps = 3;
// Parts without gradients that are smaller than this share of the parameters
// are often unused on purpose, such as a pooling layer that a task ignores.
constexpr double kLargeShare = 0.2;

const OptimizerGroupFacts* group_at(const RunFacts& facts,
                                    const std::optional<GroupPosition>& place) {
  if (!place || place->optimizer >= facts.optimizers.size()) return nullptr;
  const auto& groups = facts.optimizers[place->optimizer].groups;
  return place->group < groups.size() ? &groups[place->group] : nullptr;
}

std::map<std::string_view, const ParameterFacts*> by_key(
    const RunFacts& facts) {
  std::map<std::string_view, const ParameterFacts*> found;
  for (const ParameterFacts& parameter : facts.parameters) {
    found.emplace(parameter_of_weight(parameter.tensor), &parameter);
  }
  return found;
}

}  // namespace

bool is_moving_statistic(std::string_view tensor) {
  return tensor.ends_with("/moving_mean:0") ||
         tensor.ends_with("/moving_variance:0");
}

WiringJudge::WiringJudge(const ParameterMovement& movement,
                         const RunFacts* facts, Step patience)
    : facts_(facts), patience_(patience) {
  std::map<std::string_view, const ParameterFacts*> known;
  if (facts) known = by_key(*facts);
  for (const FollowedParameter& parameter : movement.parameters()) {
    Subject subject = {&parameter, nullptr, nullptr};
    const auto own = known.find(parameter.key);
    if (own != known.end()) {
      subject.facts = own->second;
      subject.group = group_at(*facts, own->second->updated_by);
      // Memory that two parameters share is updated through either.
      const auto owner =
          known.find(parameter_of_weight(own->second->shared_with));
      if (!subject.group && owner != known.end()) {
        subject.group = group_at(*facts, owner->second->updated_by);
      }
    }
    const bool is_trainable =
        subject.facts ? subject.facts->is_trainable : parameter.has_gradient();
    if (is_trainable) {
      subjects_.push_back(subject);
    } else if (!subject.facts && parameter.has_moved &&
               !is_moving_statistic(parameter.tensor)) {
      others_move_ = true;
    }
  }
  steps_with_gradients_ = movement.steps_with_gradients();
}

std::optional<WiringFinding> WiringJudge::find(bool with_minor) const {
  return nothing_moves() ? find_total() : find_partial(with_minor);
}

// Nothing moves: why?
std::optional<WiringFinding> WiringJudge::find_total() const {
  const bool has_acted = facts_ && !facts_->optimizers.empty();
  const Step patience = has_acted ? patience_ : 2 * patience_;
  auto stuck = those([&](const Subject& subject) {
    return subject.parameter->has_rested(patience);
  });
  if (stuck.empty() || stuck.size() < subjects_.size()) return std::nullopt;
  const bool has_gradients =
      std::ranges::any_of(stuck, [](const FollowedParameter* parameter) {
        return parameter->gradients >= kEnoughGradients;
      });
  WiringFinding finding = {WiringFault::update_is_zero, std::move(stuck),
                           subjects_.size()};
  if (!has_acted) {
    finding.fault = WiringFault::no_update;
  } else if (holds_only_others()) {
    finding.fault = WiringFault::other_parameters;
    return finding;
  } else if (std::ranges::none_of(subjects_, &Subject::group)) {
    finding.fault = WiringFault::no_optimizer;
  } else if (std::ranges::all_of(subjects_, [&](const Subject& subject) {
               return !subject.group || has_zero_rate(subject);
             })) {
    finding.fault = WiringFault::zero_rate;
    return finding;
  }
  if (has_gradients) return finding;
  // An optimizer that acts moves what it holds, unless that has no gradient.
  const bool is_held =
      has_acted && std::ranges::all_of(subjects_, [&](const Subject& subject) {
        return subject.group && subject.parameter->has_rested(2 * patience_);
      });
  if (!is_held) return std::nullopt;
  finding.fault = WiringFault::no_gradient;
  return finding;
}

// Some parameters move, others do not. Only the facts tell whether they should.
std::optional<WiringFinding> WiringJudge::find_partial(bool with_minor) const {
  const bool others_train =
      std::ranges::any_of(subjects_, [](const Subject& subject) {
        return subject.group && subject.parameter->has_moved;
      });
  if (!facts_ || !others_train) return std::nullopt;
  WiringFinding finding = {WiringFault::no_optimizer, {}, subjects_.size()};
  if (facts_explain_movement()) {
    finding.parameters = those([&](const Subject& subject) {
      return subject.facts && !subject.group &&
             subject.parameter->gradients >= kEnoughGradients &&
             subject.parameter->has_rested(patience_);
    });
  }
  if (!finding.parameters.empty()) return finding;
  finding.fault = WiringFault::zero_rate;
  finding.parameters = those([&](const Subject& subject) {
    return has_zero_rate(subject) && subject.parameter->has_rested(patience_);
  });
  if (!finding.parameters.empty()) return finding;
  finding.parameters = those([&](const Subject& subject) {
    return subject.group && lacks_gradient(subject) &&
           subject.parameter->has_rested(2 * patience_);
  });
  // torch computes no gradient for what is detached.
  finding.fault = std::ranges::any_of(finding.parameters,
                                      &FollowedParameter::has_zero_gradient)
                      ? WiringFault::zero_gradient
                      : WiringFault::no_gradient;
  // Gradients of 0 are what dead units and weights of 0 lead to.
  finding.is_minor = finding.fault == WiringFault::zero_gradient ||
                     is_minor(finding.parameters);
  if (finding.parameters.empty() || (finding.is_minor && !with_minor)) {
    return std::nullopt;
  }
  return finding;
}

std::vector<const FollowedParameter*> WiringJudge::unused() const {
  return those([&](const Subject& subject) {
    return subject.facts && !subject.group && lacks_gradient(subject) &&
           subject.parameter->has_rested(patience_);
  });
}

bool WiringJudge::has_zero_rate(const Subject& subject) const {
  return subject.group &&
         setting(subject.group->settings, "learning_rate") == 0.0;
}

bool WiringJudge::lacks_gradient(const Subject& subject) const {
  const FollowedParameter& parameter = *subject.parameter;
  return !parameter.has_gradient() &&
         steps_with_gradients_ >=
             parameter.steps_with_gradients_before + kEnoughSteps;
}

bool WiringJudge::nothing_moves() const {
  return !others_move_ &&
         std::ranges::none_of(subjects_, [](const Subject& subject) {
           return subject.parameter->has_moved;
         });
}

// Whether every parameter of every optimizer is of no recorded model.
bool WiringJudge::holds_only_others() const {
  bool holds_any = false;
  for (const OptimizerFacts& optimizer : facts_->optimizers) {
    for (const OptimizerGroupFacts& group : optimizer.groups) {
      if (group.foreign_parameters != group.parameters) return false;
      holds_any |= group.parameters > 0;
    }
  }
  return holds_any;
}

// Whether all that moves is in an optimizer. If not, an optimizer holds copies,
// has not acted in a saved step, or the program updates parameters itself.
bool WiringJudge::facts_explain_movement() const {
  return std::ranges::none_of(subjects_, [](const Subject& subject) {
    return subject.parameter->has_moved && !subject.group;
  });
}

// A part that comes first is cut off by all that follow it.
bool WiringJudge::is_minor(
    const std::vector<const FollowedParameter*>& parts) const {
  return !parts.empty() && parts.front() != subjects_.front().parameter &&
         static_cast<double>(parts.size()) <
             kLargeShare * static_cast<double>(subjects_.size());
}

template <typename Predicate>
std::vector<const FollowedParameter*> WiringJudge::those(
    Predicate predicate) const {
  std::vector<const FollowedParameter*> found;
  for (const Subject& subject : subjects_) {
    if (predicate(subject)) found.push_back(subject.parameter);
  }
  return found;
}

}  // namespace smdebug
