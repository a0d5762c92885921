#pragma once

// Decides why parameters that should train do not. That they do not move is the
// proof; the facts of the training only name the cause, because an optimizer
// that holds flat or master copies seems to hold none of the parameters.

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "smdebug/core/run_facts.h"

#include "rules/measures/parameter_movement.h"

namespace smdebug {

// Returns whether that is a statistic of a normalization, which Keras lists
// among the weights.
bool is_moving_statistic(std::string_view tensor);

enum class WiringFault {
  no_update,         // nothing moves, and no optimizer was seen to act
  update_is_zero,    // nothing moves although an optimizer acts
  other_parameters,  // the optimizer holds parameters that no model uses
  no_optimizer,      // no optimizer holds some of the parameters
  zero_rate,         // the group's learning rate is 0
  no_gradient,       // a part of the model is detached from the loss
  zero_gradient,     // a part gets gradients, and they are always 0
};

struct WiringFinding {
  WiringFault fault;
  // In forward order, at least one. Valid until a step is added.
  std::vector<const FollowedParameter*> parameters;
  std::size_t trainable = 0;  // of the worker
  bool is_minor = false;      // a part that is often unused on purpose
};

class WiringJudge {
 public:
  // `movement` and `facts`, which may be null, are those of one worker, and the
  // facts are from before the last saved step. A
  // parameter is stuck if it never moved in `patience` steps, or in twice as
  // many where gradient accumulation or a rarely used layer looks the same.
  WiringJudge(const ParameterMovement& movement, const RunFacts* facts,
              Step patience);

  // Returns the worst fault, or none. Minor ones may still disappear: they are
  // for the end of the training.
  std::optional<WiringFinding> find(bool with_minor) const;

  // Returns trainable parameters that no optimizer holds and that never had a
  // gradient while others had one: they seem to be unused on purpose.
  std::vector<const FollowedParameter*> unused() const;

 private:
  struct Subject {
    const FollowedParameter* parameter;
    const ParameterFacts* facts;       // null: unknown
    const OptimizerGroupFacts* group;  // null: in none, or unknown
  };

  bool has_zero_rate(const Subject& subject) const;
  bool lacks_gradient(const Subject& subject) const;
  bool nothing_moves() const;
  bool holds_only_others() const;
  bool facts_explain_movement() const;
  bool is_minor(const std::vector<const FollowedParameter*>& parts) const;
  std::optional<WiringFinding> find_total() const;
  std::optional<WiringFinding> find_partial(bool with_minor) const;

  template <typename Predicate>
  std::vector<const FollowedParameter*> those(Predicate predicate) const;

  const RunFacts* facts_;
  Step patience_;
  std::vector<Subject> subjects_;  // trainable parameters, in forward order
  std::size_t steps_with_gradients_ = 0;
  bool others_move_ = false;  // parameters that get no gradient
};

}  // namespace smdebug
