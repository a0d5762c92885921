#include "smdebug/core/mode.h"

#include <algorithm>

#include <fmt/format.h>

namespace smdebug {
namespace {

// In the order of `kModes`.
constexpr std::array<std::string_view, kModes.size()> kNames = {
    "TRAIN", "EVAL", "PREDICT", "GLOBAL"};

bool equal_without_case(std::string_view upper, std::string_view text) {
  return std::equal(upper.begin(), upper.end(), text.begin(), text.end(),
                    [](char a, char b) {
                      return a == (b >= 'a' && b <= 'z' ? b - 'a' + 'A' : b);
                    });
}

}  // namespace

std::string_view mode_name(Mode mode) { return kNames[mode_index(mode)]; }

std::optional<Mode> find_mode(std::string_view name) {
  for (Mode mode : kModes) {
    if (equal_without_case(mode_name(mode), name)) return mode;
  }
  return {};
}

std::string step_text(const StepId& step) {
  std::string of_mode =
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
