#include "core/step_text.h"

#include <fmt/format.h>

namespace smdebug {

std::string step_text(const StepId& step) {
  const std::string of_mode =
      fmt::format("{} step {}", mode_name(step.mode), step.mode_step);
  if (step.global < 0 && step.mode_step >= 0) return of_mode;
  if (step.mode == Mode::global || step.mode_step < 0) {
    return fmt::format("step {}", step.global);
  }
  return fmt::format("step {} ({})", step.global, of_mode);
}

std::string step_text(Step step, Mode mode) {
  return mode == Mode::global ? step_text(StepId{step, mode, step})
                              : step_text(StepId{-1, mode, step});
}

std::string step_number_text(const StepId& step) {
  if (step.mode == Mode::global) return fmt::format("{}", step.global);
  return fmt::format("{} ({} {})", step.global, mode_name(step.mode),
                     step.mode_step);
}

}  // namespace smdebug
