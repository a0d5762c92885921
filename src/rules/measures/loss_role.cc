#include "rules/measures/loss_role.h"

#include <algorithm>

namespace smdebug {
namespace {

constexpr std::string_view kKerasPrefix = "val_";

// The names that users give to the sets beside the training set, also with a
// number behind it ("validation_0" of xgboost.sklearn) or a "d" before it
// ("dtest").
constexpr std::string_view kValidationSets[] = {"validation", "valid", "val",
                                                "dev",        "eval",  "test"};

bool is_validation_set(std::string_view set) {
  return std::ranges::any_of(kValidationSets, [&](std::string_view name) {
    return set == name || set.starts_with(std::string(name) + "_") ||
           set == "d" + std::string(name);
  });
}

}  // namespace

std::optional<LossRole> role_in_xgboost(std::string_view name) {
  const std::size_t dash = name.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const std::string_view set = name.substr(0, dash);
  std::string metric(name.substr(dash + 1));
  if (set == "train") return LossRole{LossRole::Part::training, metric};
  if (is_validation_set(set)) {
    return LossRole{LossRole::Part::validation, metric};
  }
  return std::nullopt;
}

bool is_error_rate(std::string_view metric) {
  metric = metric.substr(0, metric.find('@'));
  return metric == "error" || metric == "merror";
}

std::optional<LossRole> role_of_loss(std::string_view name, Mode mode) {
  if (mode == Mode::predict) return std::nullopt;
  if (mode == Mode::global) {
    if (auto role = role_in_xgboost(name)) return role;
  }
  if (name.starts_with(kKerasPrefix)) {
    return LossRole{LossRole::Part::validation,
                    std::string(name.substr(kKerasPrefix.size()))};
  }
  return LossRole{mode == Mode::eval ? LossRole::Part::validation
                                     : LossRole::Part::training,
                  std::string(name)};
}

void LossRoles::add(const RunFacts& facts) {
  training_sets_.insert(facts.training_sets.begin(), facts.training_sets.end());
}

std::optional<LossRole> LossRoles::of(std::string_view name, Mode mode) const {
  if (mode == Mode::global) {
    if (auto role = in_xgboost(name)) return role;
  }
  return role_of_loss(name, mode);
}

std::optional<LossRole> LossRoles::in_xgboost(std::string_view name) const {
  const std::size_t dash = name.find('-');
  if (dash != name.npos && training_sets_.contains(name.substr(0, dash))) {
    return LossRole{LossRole::Part::training,
                    std::string(name.substr(dash + 1))};
  }
  return role_in_xgboost(name);
}

}  // namespace smdebug
