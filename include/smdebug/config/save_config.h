#pragma once

// At which steps a tensor is saved, for each mode (docs/format.md names the
// JSON form).

#include <array>
#include <optional>
#include <vector>

#include "smdebug/base/result.h"
#include "smdebug/core/mode.h"

namespace smdebug {

// A step is due if it is listed in `save_steps`, or if it lies in
// [start_step, end_step) and is a multiple of `save_interval`.
struct SaveConfigMode {
  Step save_interval = 500;
  Step start_step = 0;
  std::optional<Step> end_step;  // none: open
  std::vector<Step> save_steps;

  bool is_due(Step mode_step) const;

  /// Fails with `invalid_config` if `save_interval` is not positive.
  Status check() const;

  friend bool operator==(const SaveConfigMode&,
                         const SaveConfigMode&) = default;
};

// A mode without an entry takes that of the configuration it is merged with,
// and at last the default.
class SaveConfig {
 public:
  SaveConfig() = default;
  /// The same for every mode.
  explicit SaveConfig(const SaveConfigMode& every_mode);

  const std::optional<SaveConfigMode>& mode(Mode mode) const {
    return modes_[mode_index(mode)];
  }
  void set_mode(Mode mode, std::optional<SaveConfigMode> config) {
    modes_[mode_index(mode)] = std::move(config);
  }

  /// Returns this, with the modes it lacks taken from `fallback` and, where
  /// that lacks them too, from `SaveConfigMode{}`.
  SaveConfig merged_with(const SaveConfig& fallback) const;

  /// True if `mode_step` is due in `mode`; a mode without entry never is.
  bool is_due(Mode mode, Step mode_step) const;

  Status check() const;

  friend bool operator==(const SaveConfig&, const SaveConfig&) = default;

 private:
  std::array<std::optional<SaveConfigMode>, 4> modes_;
};

}  // namespace smdebug
