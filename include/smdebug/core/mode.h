#pragma once

// The phase of a program, and the numbers of its steps.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace [[gnu::visibility("default")]] smdebug {

// The phase that a step belongs to; `global` stands for none or for all of
// them. The numbers are written into every tensor record: never renumber.
enum class Mode : std::uint8_t { train = 1, eval = 2, predict = 3, global = 4 };

inline constexpr std::array<Mode, 4> kModes = {Mode::train, Mode::eval,
                                               Mode::predict, Mode::global};

/// Returns the index of a mode in `kModes`, for tables by mode.
constexpr std::size_t mode_index(Mode mode) {
  return static_cast<std::size_t>(mode) - 1;
}

/// Returns "TRAIN", "EVAL", "PREDICT" or "GLOBAL", as in index files.
std::string_view mode_name(Mode mode);

/// Returns the mode of that name, in upper or lower case, or none.
std::optional<Mode> find_mode(std::string_view name);

// Steps count from 0; -1 means that there was none yet.
using Step = std::int64_t;

// One step in both counts: `global` counts the steps of all modes, `mode_step`
// only those of `mode`. In mode `global` the two are equal.
struct StepId {
  Step global = -1;
  Mode mode = Mode::global;
  Step mode_step = -1;

  friend bool operator==(const StepId&, const StepId&) = default;
};

/// Returns "step 40 (TRAIN step 12)", or "step 40" if the run has no modes. If
/// only one of the two numbers is known, returns "step 40" or "TRAIN step 12".
std::string step_text(const StepId& step);

/// Returns "TRAIN step 12", or "step 12" for mode `global`.
std::string step_text(Step step, Mode mode);

/// Returns "40 (TRAIN 12)", or "40" if the run has no modes. For table cells.
std::string step_number_text(const StepId& step);

}  // namespace smdebug
