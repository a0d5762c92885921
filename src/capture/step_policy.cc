#include "smdebug/capture/step_policy.h"

#include <algorithm>

namespace smdebug {
namespace {

// A leader that is not called between this many backward passes is no longer
// part of the training loop. A step of a GAN has two.
constexpr int kMostBackwards = 2;

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
      return leads(call) && begins_by_forward(call);
  }
  return true;
}

void StepPolicy::optimizer_acted() {
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

bool StepPolicy::leads(const ModelCall& call) {
  if (!leader_ || *leader_ == call.model || backwards_ >= kMostBackwards) {
    leader_ = call.model;
    backwards_ = 0;
    return true;
  }
  return !call.is_training;
}

}  // namespace smdebug
