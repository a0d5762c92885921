#pragma once

// The part of LossNotDecreasing about XGBoost: what the facts of a training
// tell about the course of its loss. Trees that do not split, an objective of
// the user and a low eta have no counterpart in other trainings.

#include <optional>
#include <string>
#include <string_view>

#include "smdebug/core/mode.h"
#include "smdebug/core/run_facts.h"

#include "rules/builtin/loss_findings.h"
#include "rules/measures/loss_trend.h"

namespace smdebug {

struct Boosting {
  bool is_other = false;           // the training is none of XGBoost
  bool is_linear = false;          // booster=gblinear: it has no trees
  std::optional<double> eta = {};  // the learning rate
  bool has_own_objective = false;  // a function of the user
  bool continues = false;          // a model that was trained before
};

Boosting boosting_of(const RunFacts& facts);

// Whether so many rounds are too few for the learning rate, whatever the trees
// are. False if the learning rate is unknown.
bool has_low_eta(const Boosting& boosting, Step rounds);

// "; 100 rounds with a learning rate of 0.001 correct at most 9.5 % of the
// errors". The learning rate must be known.
std::string low_eta_text(const Boosting& boosting, Step rounds);

// Returns the fault of a loss that does not fall over so many rounds, of which
// XGBoost's metric has this name: "rmse". None if it is that of any training.
std::optional<LossFault> fault_of_boosting(const LossTrend::Answer& answer,
                                           const Boosting& boosting,
                                           std::string_view metric,
                                           Step rounds);

// Whether that fault is only advice: the metric may be none of the objective.
bool may_be_other_metric(LossFault fault, const Boosting& boosting,
                         std::string_view metric);

}  // namespace smdebug
