#include "rules/measures/followed_updates.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "smdebug/base/try.h"

#include "rules/engine/layer_name.h"
#include "rules/measures/noisy_values.h"
#include "rules/measures/quantity.h"
#include "rules/measures/untrained_weights.h"
#include "rules/measures/update_size.h"

namespace smdebug {

// The groups of the optimizers of a worker, by the keys of their parameters.
class FollowedGroups {
 public:
  struct Group {
    std::string kind;
    double momentum = 0;
    double weight_decay = 0;
    double rate = 0;
    std::size_t weights = 0;
  };

  FollowedGroups(const RunFacts* facts, const LearningRates& rates, Step step)
      : rates_(rates), step_(step) {
    if (!facts) return;
    for (std::size_t i = 0; i < facts->optimizers.size(); ++i) {
      add(*facts, i);
    }
    for (const ParameterFacts& each : facts->parameters) {
      if (!each.updated_by) continue;
      const auto at =
          positions_.find({each.updated_by->optimizer, each.updated_by->group});
      if (at == positions_.end()) continue;
      by_key_.emplace(parameter_of_weight(each.tensor), at->second);
    }
  }

  // Null for what is frozen, or whose optimizer has not acted.
  Group* find(std::string_view key) {
    const auto known = by_key_.find(key);
    if (known != by_key_.end()) return &groups_[known->second];
    return nullptr;
  }

  std::vector<Group>& all() { return groups_; }

 private:
  void add(const RunFacts& facts, std::size_t optimizer) {
    const OptimizerFacts& of = facts.optimizers[optimizer];
    // Two optimizers of a kind have series of other names.
    const bool is_only = std::ranges::count(facts.optimizers, of.kind,
                                            &OptimizerFacts::kind) == 1;
    for (std::size_t i = 0; i < of.groups.size(); ++i) {
      const Settings& settings = of.groups[i].settings;
      // MXNet divides the gradients by the size of the batch in the update.
      if (setting(settings, "rescale_grad").value_or(1) != 1) continue;
      std::optional<double> rate;
      if (is_only) rate = rates_.of_group(of.kind, i, step_);
      if (!rate) rate = setting(settings, "learning_rate");
      if (!rate) continue;
      positions_.emplace(std::pair(optimizer, i), groups_.size());
      groups_.push_back({of.kind, setting(settings, "momentum").value_or(0),
                         setting(settings, "weight_decay").value_or(0), *rate});
    }
  }

  const LearningRates& rates_;
  Step step_;
  std::vector<Group> groups_;
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> positions_;
  std::map<std::string_view, std::size_t> by_key_;
};

namespace {

// The share of the weights whose decay must be excessive.
constexpr double kMostDecay = 0.7;

double size_of(const TensorStatistics& statistics) {
  return std::sqrt(statistics.sum_squares /
                   static_cast<double>(statistics.count));
}

// The norm of all gradients together, before they are clipped.
double gradient_norm(const FollowedParts& parts) {
  double squares = 0;
  for (const auto& [key, part] : parts) {
    if (part.gradient) squares += part.gradient->sum_squares;
  }
  return std::sqrt(squares);
}

// The share of a gradient that clipping leaves. Elements beyond the limit are
// cut off, so that the root mean square is at most the limit.
double kept_share(const RunFacts* facts, double norm,
                  const TensorStatistics& gradient) {
  if (!facts || gradient.count == 0) return 1;
  const auto share = [](std::optional<double> limit, double size) {
    return limit && size > *limit ? *limit / size : 1.0;
  };
  return share(facts->loop.gradient_norm_limit, norm) *
         share(facts->loop.gradient_value_limit, size_of(gradient));
}

}  // namespace

Status FollowedUpdates::add_parameter(const Observation& parameter) {
  if (!is_floating(parameter.dtype)) return {};
  SMD_TRY(const auto statistics, full_statistics(parameter));
  if (!statistics || statistics->count == 0) return {};
  FollowedPart& part = parts_[std::string(parameter_of_weight(parameter.name))];
  part.parameter = *statistics;
  part.is_matrix = parameter.shape.size() >= 2;
  return {};
}

Status FollowedUpdates::add_gradient(const Observation& gradient) {
  if (!is_floating(gradient.dtype)) return {};
  SMD_TRY(const auto statistics, full_statistics(gradient));
  if (!statistics) return {};
  parts_[std::string(parameter_of_gradient(gradient.name))].gradient =
      *statistics;
  return {};
}

std::optional<FollowedUpdate> FollowedUpdates::close(
    const StepId& step, const FollowedParts& parts, const RunFacts* facts,
    const LearningRates& rates) {
  FollowedGroups groups(facts, rates, step.global);
  FollowedUpdate update;
  update.step = step;
  decay_ = find_decay(parts, groups);
  std::vector<double> ratios, distances;
  double fall = 0;
  bool is_known = false, has_unknown = false;
  update.gradient_norm = gradient_norm(parts);
  std::vector<double> kept;
  for (const auto& [key, part] : parts) {
    if (!part.parameter || !part.gradient) continue;
    FollowedGroups::Group* group = groups.find(key);
    if (!group) continue;
    kept.push_back(kept_share(facts, update.gradient_norm, *part.gradient));
    const auto size =
        update_size({group->kind, group->rate, group->momentum, kept.back()},
                    *part.gradient);
    has_unknown |= !size;
    if (!size) continue;
    is_known = true;
    fall += size->fall;
    if (!is_weight(key, part)) continue;
    ++group->weights;
    ratios.push_back(size->distance / size_of(*part.parameter));
    distances.push_back(std::sqrt(std::max(
        0.0, part.parameter->sum_squares / first_squares_.at(key) - 1)));
  }
  if (!distances.empty()) distance_ = median(distances);
  if (!is_known || has_unknown) return std::nullopt;
  update.fall = fall;
  update.kept = median(kept);
  update.weights = ratios.size();
  if (!ratios.empty()) update.ratio = median(ratios);
  const auto most = std::ranges::max_element(groups.all(), {},
                                             &FollowedGroups::Group::weights);
  update.optimizer = most->kind;
  update.momentum = most->momentum;
  update.rate = most->rate;
  return update;
}

bool FollowedUpdates::is_weight(std::string_view key,
                                const FollowedPart& part) {
  if (!part.is_matrix || part.parameter->has_non_finite()) return false;
  const auto [first, is_new] =
      first_squares_.try_emplace(std::string(key), part.parameter->sum_squares);
  if (is_new) {
    if (const auto untrained = look_untrained(*part.parameter)) {
      ++(*untrained ? untrained_ : trained_);
    }
  }
  return first->second > 0 && part.parameter->sum_squares > 0;
}

std::optional<FollowedDecay> FollowedUpdates::find_decay(
    const FollowedParts& parts, FollowedGroups& groups) {
  FollowedDecay decay;
  std::vector<double> left;
  std::size_t excessive = 0;
  for (const auto& [key, part] : parts) {
    if (!part.parameter || !part.gradient || !part.is_matrix ||
        part.parameter->has_non_finite()) {
      continue;
    }
    const FollowedGroups::Group* group = groups.find(key);
    const double first =
        first_sizes_.try_emplace(key, size_of(*part.parameter)).first->second;
    if (!group || first == 0) continue;
    left.push_back(size_of(*part.parameter) / first);
    if (!is_decay_excessive({group->kind, group->rate, group->momentum},
                            group->weight_decay, first, *part.gradient)) {
      continue;
    }
    ++excessive;
    if (group->weight_decay <= decay.weight_decay) continue;
    decay.optimizer = group->kind;
    decay.weight_decay = group->weight_decay;
    decay.rate = group->rate;
  }
  if (left.empty() || static_cast<double>(excessive) <
                          kMostDecay * static_cast<double>(left.size())) {
    return std::nullopt;
  }
  decay.weights = left.size();
  decay.left = median(left);
  return decay;
}

std::optional<double> FollowedUpdates::untrained_share() const {
  const std::size_t all = untrained_ + trained_;
  if (all == 0) return std::nullopt;
  return static_cast<double>(untrained_) / static_cast<double>(all);
}

}  // namespace smdebug
