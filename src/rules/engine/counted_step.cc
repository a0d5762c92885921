#include "rules/engine/counted_step.h"

namespace smdebug {

std::optional<Step> counted_step(const StepId& step, std::optional<Mode> mode) {
  if (mode == Mode::global) return step.global;
  const Mode counted = mode.value_or(Mode::train);
  const bool has_no_modes = step.mode == Mode::global && counted == Mode::train;
  if (step.mode == counted || has_no_modes) return step.mode_step;
  return std::nullopt;
}

}  // namespace smdebug
