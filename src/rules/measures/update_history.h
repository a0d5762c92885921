#pragma once

// `UpdateHistory` follows the training of one worker from saved step to saved
// step: the sizes of the updates, the losses and the learning rates until then,
// and the facts.
//
// During a training, the series of a step arrive later than its tensors. So a
// step that has ended waits until a series has a later sample.

#include <cstddef>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "smdebug/base/result.h"
#include "smdebug/core/observation.h"
#include "smdebug/core/run_facts.h"
#include "smdebug/core/scalar_series.h"

#include "rules/engine/coming_facts.h"
#include "rules/measures/followed_updates.h"
#include "rules/measures/learning_rates.h"
#include "rules/measures/training_losses.h"

namespace smdebug {

// The losses whose median is a typical one.
inline constexpr std::size_t kLossWindow = 20;

// The typical losses in the beginning and now; infinite without finite ones.
struct LossCourse {
  double first = 0, now = 0;
};

LossCourse course_of(std::span<const ScalarSample> losses);

// Returns the median of the finite ones; infinity without any.
double median_loss(std::span<const ScalarSample> losses);

// One of the first updates of a training.
struct EarlyUpdate {
  FollowedUpdate update;
  double distance = 0;      // as of FollowedUpdates::distance
  std::size_t updates = 0;  // until then
};

class UpdateHistory {
 public:
  explicit UpdateHistory(std::string_view worker) : worker_(worker) {}

  void add(const RunFacts& facts) { coming_.add(facts); }
  void add(const ScalarSeriesView& series);
  // Note tensors of the open step. Fail with `io`.
  Status add_parameter(const Observation& parameter);
  Status add_gradient(const Observation& gradient);

  // Ends the open step `step`, which `next` follows. The facts that it takes
  // for that step do not depend on where the observations come from.
  void end_step(const StepId& step, Step next);

  // No series will have a further sample.
  void end_series() { known_ = std::numeric_limits<Step>::max(); }

  // Takes the next step that has ended and whose series are known. Returns
  // whether there is one. All that follows is about the last step taken.
  bool take_step();

  const std::string& worker() const { return worker_; }
  const StepId& step() const { return step_; }
  // Null before the first facts.
  const RunFacts* facts() const { return facts_.get(); }
  const LearningRates& rates() const { return rates_; }
  const FollowedUpdates& followed() const { return followed_; }

  // The losses of the training steps so far, the name of their series, and why
  // they may rise; see TrainingLosses.
  std::span<const ScalarSample> losses() const;
  std::string_view loss_name() const { return losses_.name(); }
  std::string_view why_losses_may_rise() const;
  bool losses_should_fall() const { return why_losses_may_rise().empty(); }

  // The learning rate of the step.
  std::optional<LearningRates::Rate> rate() const;

  // The steps up to one, included, in which an optimizer acted.
  std::size_t updates_until(Step step) const;
  std::size_t updates() const { return updates_until(step_.global); }

  // The last update of a saved step; none before the first.
  const std::optional<FollowedUpdate>& last_update() const { return last_; }

  // Of the saved steps: |update| / |weight|, and the fall of the loss to first
  // order as a share of it.
  const std::vector<double>& ratios() const { return ratios_; }
  const std::vector<double>& falls() const { return falls_; }

  const std::vector<EarlyUpdate>& early_updates() const { return early_; }

 private:
  struct EndedStep {
    StepId step;
    FollowedParts parts;
    std::shared_ptr<const RunFacts> facts;
  };

  void note_updates(const ScalarSeriesView& series);
  void take_update(const EndedStep& ended);

  std::string worker_;
  ComingFacts coming_;
  std::shared_ptr<const RunFacts> ended_facts_;  // of the last ended step
  std::deque<EndedStep> ended_;
  std::size_t waiting_ = 0;  // parts in `ended_`
  Step known_ = -1;          // the last step of a scalar

  StepId step_;
  std::shared_ptr<const RunFacts> facts_;
  LearningRates rates_;
  TrainingLosses losses_;
  FollowedUpdates followed_;
  std::set<Step> updated_;  // the steps in which an optimizer acted
  std::optional<FollowedUpdate> last_;
  std::vector<double> ratios_, falls_;
  std::vector<EarlyUpdate> early_;
};

}  // namespace smdebug
