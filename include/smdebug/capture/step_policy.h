#pragma once

// A `StepPolicy` decides which calls of a model begin a step, so that every
// adapter and every C++ training loop counts steps alike. It depends on no
// framework: the caller reports model calls, backward passes and updates, and
// calls `Session::begin_step` when the policy requires it.
//
//     StepPolicy policy(StepOn::optimizer);
//     if (policy.begins_step({.model = 0, .mode = Mode::train}))
//       session.begin_step();
//     ...
//     policy.optimizer_acted();
//
// Not thread-safe: use it from the thread that begins the steps.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "smdebug/core/mode.h"

namespace [[gnu::visibility("default")]] smdebug {

enum class StepOn {
  // Each model call is a step. A batch that is split over several devices is
  // one step: a call of the same model on a device that the open step has not
  // used yet belongs to it.
  forward,
  // A step lasts until an optimizer has acted, over all calls of all models:
  // batches whose gradients are accumulated, the two halves of a GAN, the
  // closures of LBFGS. Optimizers that act one after the other act in the same
  // step. A call that does not train is a step of its own.
  optimizer,
  // Models that are called together share a step, for scripts that do not
  // report when a step begins. The model that was called first leads: a step
  // begins with its first call after a backward pass or an update. Several
  // calls before one backward pass, such as the two views of a contrastive
  // loss or the steps of an episode, are one step. Until the first backward
  // pass or update is reported, each of its calls begins a step, as for
  // `forward`. After two backward passes without the leader, the next model to
  // be called becomes the leader. A call that does not train begins a step,
  // whichever model it is.
  leading_model,
};

/// Returns the policy of that name, "forward" for example, or none.
std::optional<StepOn> find_step_on(std::string_view name);

// One call of a model.
struct ModelCall {
  // Any number that differs between the models of a training.
  std::uint64_t model = 0;
  Mode mode = Mode::global;
  // Whether the framework is training. `StepOn::optimizer` needs it only if
  // `mode` is global: the other modes imply it.
  bool is_training = true;
  // Whether a backward pass can follow. `StepOn::leading_model`: a few calls of
  // the leader without one, for a target value, belong to a step that waits for
  // its backward pass.
  bool can_learn = true;
  // The device that holds this call's part of the batch; empty if unknown.
  std::string_view device = {};
};

class StepPolicy {
 public:
  explicit StepPolicy(StepOn step_on) : step_on_(step_on) {}

  /// Returns whether this call begins a step; if not, it belongs to the open
  /// step. Report each call once, in order.
  bool begins_step(const ModelCall& call);

  /// Whether every call begins a step as long as no call names its device. If
  /// so, a caller that does not know devices need not call `begins_step`.
  bool each_call_is_a_step() const { return step_on_ == StepOn::forward; }

  /// Reports that a backward pass begins.
  void backward_began();

  /// Reports that an optimizer has updated parameters of the models.
  void optimizer_acted();

 private:
  bool begins_by_forward(const ModelCall& call);
  bool begins_by_update(const ModelCall& call);
  bool begins_by_leader(const ModelCall& call);
  bool continues_step(const ModelCall& call);
  void note_learning();

  StepOn step_on_;

  // forward, leading_model: the model that began the open step, and the devices
  // that it was called on since.
  std::optional<std::uint64_t> model_;
  std::vector<std::string> devices_;

  // optimizer
  bool is_over_ = true;
  std::optional<Mode> mode_;

  // leading_model
  std::optional<std::uint64_t> leader_;
  int backwards_ = 0;                // since the leader was called
  bool has_learned_ = false;         // there was a backward pass or an update
  bool awaits_backward_ = false;     // the open step, since the leader's call
  int calls_without_gradients_ = 0;  // of the leader in the open step
};

}  // namespace smdebug
