#pragma once

// The losses of a worker, and what is known of its training, as
// LossNotDecreasing judges them: which losses must fall, and what each course
// is compared with.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "smdebug/core/mode.h"
#include "smdebug/core/run_facts.h"
#include "smdebug/core/scalar_series.h"
#include "smdebug/rules/verdict.h"

#include "rules/builtin/tree_losses.h"
#include "rules/measures/learning_rates.h"
#include "rules/measures/loss_of_guess.h"
#include "rules/measures/loss_role.h"
#include "rules/measures/loss_trend.h"
#include "rules/measures/optimizer_turns.h"

namespace smdebug {

struct FollowedLoss {
  LossTrend trend;
  StepId newest;
  std::optional<Step> counted;  // the newest step, in its mode
  std::optional<double> first;
  double highest = 0, lowest = 0;
  std::optional<ScalarSample> leap;  // the first loss far above `first`

  void note(const StepId& step, double value);
};

using FollowedLosses = std::map<std::string, FollowedLoss, std::less<>>;

struct LossWorker {
  // A saved loss that is not finite.
  struct SavedLoss {
    Evidence evidence;
    double value = 0;
  };

  FollowedLosses series, tensors;
  LossRoles roles;
  // The series of a live run arrive after the tensors of its saved steps, and
  // have the losses before this one. It waits for them, so that the verdict
  // does not depend on when they arrive.
  std::optional<SavedLoss> waiting;
  // Steps that call a model more than once, and the steps of each loss.
  std::set<Step> repeated_calls;
  std::map<std::string, std::set<Step>, std::less<>> loss_steps;
  std::optional<Guess> guess;
  std::optional<double> of_constant;       // the loss of a constant prediction
  std::optional<double> of_equal_outputs;  // of the same output for all
  double dropout = 0;                      // the highest rate
  bool has_large_targets = false;
  LearningRates rates;
  OptimizerTurns turns;
  Boosting boosting;

  void set_facts(const RunFacts& facts);

  // Counts the steps of a series in `mode`; none: training steps.
  void count_steps(const ScalarSeriesView& one, std::optional<Mode> mode);

  // The series; of a worker without series, the saved tensors.
  const FollowedLosses& losses() const {
    return series.empty() ? tensors : series;
  }
  FollowedLosses& losses() { return series.empty() ? tensors : series; }

  // Whether a series has reached the step of the loss that waits.
  bool has_series_until_waiting() const;

  // Of XGBoost's metrics, only a loss of the training must fall. That of a
  // validation set, which may rise, is judged if there is no other.
  bool can_judge(std::string_view tensor) const;

  LossTrend::Setting setting_of(std::string_view tensor,
                                const FollowedLoss& loss) const;

 private:
  bool has_rivals(std::string_view tensor, const FollowedLoss& loss) const;
};

// Whether a series is a loss, or a metric of XGBoost.
bool is_loss_series(std::string_view name);

}  // namespace smdebug
