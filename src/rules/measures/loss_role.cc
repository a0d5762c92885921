#include "rules/measures/loss_role.h"

namespace smdebug {
namespace {

constexpr std::string_view kKerasPrefix = "val_";

}  // namespace

std::optional<LossRole> role_in_xgboost(std::string_view name) {
  const std::size_t dash = name.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const std::string_view set = name.substr(0, dash);
  std::string metric(name.substr(dash + 1));
  if (set == "train") return LossRole{LossRole::Part::training, metric};
  // The estimators of xgboost.sklearn name their sets validation_0, ...
  if (set == "validation" || set == "eval" || set == "test" ||
      set.starts_with("validation_")) {
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

}  // namespace smdebug
