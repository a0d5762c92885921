#pragma once

// The part of LossNotDecreasing that judges the course of each loss
// (`trend=true`, the tuned preset), with its noise.

#include <memory>
#include <optional>

#include "smdebug/core/mode.h"
#include "smdebug/rules/rule.h"

namespace smdebug {

struct LossSelection {
  TensorSelector tensors;
  // The series of losses that a training recorded for every step. A worker that
  // has one is judged only by its series: the losses of single layers may
  // rise.
  bool use_series = true;
  bool use_mean = true;      // of a loss with several elements
  std::optional<Mode> mode;  // none: training steps
};

std::unique_ptr<Rule> make_loss_trend_rule(LossSelection selection);

}  // namespace smdebug
