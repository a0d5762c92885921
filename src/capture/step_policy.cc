#include "smdebug/capture/step_policy.h"

#include <algorithm>

namespace smdebug {
namespace {

// A leader that is not called between this many backward passes is no longer
// part of the training loop. A step of a GAN has two.
constexpr int kMostBackwards = 2;

// More calls of the leader without gradients in one step are an evaluation.
constexpr int kMostCallsWithoutGradients = 4;

}  // namespace

std::optional<StepOn> find_step_on(std::string_view name) {
  if (name == "forward") return StepOn::forward;
  if (name == "optimizer") return StepOn::optimizer;
  if (name == "leading_model") return StepOn::leading_model;
  return {};
}

bool StepPolicy::begins_step(const ModelCall& call) {
  switch (step_on_) {
    case StepOn::forward:
      return begins_by_forward(call);
    case StepOn::optimizer:
      return begins_by_update(call);
    case StepOn::leading_model:
      return begins_by_leader(call) && begins_by_forward(call);
  }
  return true;
}

void StepPolicy::backward_began() {
  ++backwards_;
  note_learning();
}

void StepPolicy::optimizer_acted() {
  note_learning();
  is_over_ = true;
  model_.reset();
}

bool StepPolicy::begins_by_forward(const ModelCall& call) {
  const bool is_split =
      model_ == call.model &&
      std::ranges::find(devices_, call.device) == devices_.end();
  if (!is_split) {
    model_ = call.model;
    devices_.clear();
  }
  devices_.emplace_back(call.device);
  return !is_split;
}

bool StepPolicy::begins_by_update(const ModelCall& call) {
  const bool is_training = call.mode == Mode::train ||
                           (call.mode == Mode::global && call.is_training);
  const bool begins = is_over_ || !is_training || mode_ != call.mode;
  is_over_ = !is_training;
  mode_ = call.mode;
  return begins;
}

bool StepPolicy::begins_by_leader(const ModelCall& call) {
  const bool is_leader = !leader_ || *leader_ == call.model;
  if (!is_leader && backwards_ < kMostBackwards) {
    if (!call.is_training) awaits_backward_ = false;
    return !call.is_training;
  }
  if (is_leader && continues_step(call)) return false;
  leader_ = call.model;
  backwards_ = 0;
  awaits_backward_ = call.is_training && call.can_learn;
  calls_without_gradients_ = 0;
  return true;
}

bool StepPolicy::continues_step(const ModelCall& call) {
  if (!has_learned_ || !awaits_backward_ || !call.is_training) return false;
  if (call.can_learn) return true;
  return ++calls_without_gradients_ <= kMostCallsWithoutGradients;
}

void StepPolicy::note_learning() {
  has_learned_ = true;
  awaits_backward_ = false;
}

}  // namespace smdebug
