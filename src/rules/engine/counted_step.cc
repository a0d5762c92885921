#include "rules/engine/counted_step.h"

namespace smdebug {

std::optional<Step> counted_step(const StepId& step, std::optional<Mode> mode) {
  if (mode == Mode::global) return step.global;
  if (mode ? step.mode == *mode
           : step.mode == Mode::train || step.mode == Mode::global) {
    return step.mode_step;
  }
  return std::nullopt;
}

}  // namespace smdebug
