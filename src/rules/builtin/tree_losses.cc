#include "rules/builtin/tree_losses.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace smdebug {
namespace {

using Kind = LossTrend::Kind;

// The kind of a loss that the adapter gives to a function of the user.
constexpr std::string_view kOwnObjective = "custom objective";
// Usual learning rates are higher. A lower one needs hundreds of rounds.
constexpr double kLowEta = 0.03;
// Rounds that correct less than this share of the errors are too few.
constexpr double kMostCorrected = 0.5;
// A loss that rose by this factor is certain to have the wrong sign: a metric
// that does not belong to the objective rises less.
constexpr double kTimesAsHigh = 10;

// The losses that XGBoost computes itself. Of an objective of the user, it does
// so with predictions that may be of another kind: for rmse, scores and not
// probabilities.
constexpr std::string_view kBuiltIn[] = {
    "rmse",          "rmsle",          "mae",         "mape",
    "mphe",          "logloss",        "mlogloss",    "poisson-nloglik",
    "gamma-nloglik", "gamma-deviance", "cox-nloglik", "aft-nloglik",
    "quantile",      "expectile"};

bool is_built_in(std::string_view metric) {
  return metric.starts_with("tweedie-nloglik") ||
         std::ranges::find(kBuiltIn, metric) != std::end(kBuiltIn);
}

// The share of the errors that full steps would correct and these do. Trees
// that do not fit all errors correct less.
double corrected_share(double eta, Step rounds) {
  return 1 - std::pow(1 - eta, static_cast<double>(rounds));
}

std::optional<LossFault> fault_of_rise(const LossTrend::Answer& answer,
                                       const Boosting& boosting,
                                       std::string_view metric) {
  const bool diverges = answer.now > kTimesAsHigh * answer.before;
  if (boosting.has_own_objective && (diverges || !is_built_in(metric))) {
    return LossFault::trees_of_wrong_sign;
  }
  // The first trees overcorrect if eta is far too high.
  if (answer.kind == Kind::leapt) return std::nullopt;
  if (boosting.eta.value_or(0) > 1) return std::nullopt;
  return LossFault::trees_rise;
}

}  // namespace

Boosting boosting_of(const RunFacts& facts) {
  Boosting boosting;
  if (facts.optimizers.size() != 1 || facts.losses.size() != 1) return boosting;
  const OptimizerFacts& booster = facts.optimizers.front();
  boosting.is_linear = booster.kind == "gblinear";
  boosting.is_other =
      !boosting.is_linear && booster.kind != "gbtree" && booster.kind != "dart";
  boosting.has_own_objective = facts.losses.front().kind == kOwnObjective;
  if (booster.groups.size() != 1) return boosting;
  const Settings& settings = booster.groups.front().settings;
  boosting.eta = setting(settings, "learning_rate");
  boosting.continues = setting(settings, "earlier_rounds").value_or(0) > 0;
  return boosting;
}

bool has_low_eta(const Boosting& boosting, Step rounds) {
  const auto& eta = boosting.eta;
  return eta && *eta > 0 && *eta < kLowEta && !boosting.continues &&
         corrected_share(*eta, rounds) < kMostCorrected;
}

std::string low_eta_text(const Boosting& boosting, Step rounds) {
  const double eta = boosting.eta.value_or(0);
  return fmt::format(
      "; {} rounds with a learning rate of {:.4g} correct at most {:.2g} % of "
      "the errors",
      rounds, eta, 100 * corrected_share(eta, rounds));
}

std::optional<LossFault> fault_of_boosting(const LossTrend::Answer& answer,
                                           const Boosting& boosting,
                                           std::string_view metric,
                                           Step rounds) {
  if (boosting.is_other) return std::nullopt;
  switch (answer.kind) {
    case Kind::constant:
      return boosting.has_own_objective ? LossFault::trees_of_wrong_curvature
                                        : LossFault::trees_without_splits;
    case Kind::crawls:
      return LossFault::trees_at_low_rate;
    case Kind::leapt:
    case Kind::rises:
      return fault_of_rise(answer, boosting, metric);
    case Kind::still:
    case Kind::guesses:
      if (has_low_eta(boosting, rounds)) return LossFault::trees_at_low_rate;
      if (boosting.is_linear) return std::nullopt;
      return answer.is_at_rest ? LossFault::trees_at_rest
                               : LossFault::trees_still;
    default:
      return std::nullopt;
  }
}

bool may_be_other_metric(LossFault fault, const Boosting& boosting,
                         std::string_view metric) {
  return fault == LossFault::trees_rise && boosting.has_own_objective &&
         is_built_in(metric);
}

}  // namespace smdebug
