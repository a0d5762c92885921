#pragma once

// The steps at which a tensor is saved, for each mode (docs/format.md has the
// JSON form).

#include <array>
#include <optional>
#include <vector>

#include "smdebug/base/result.h"
#include "smdebug/core/mode.h"

namespace [[gnu::visibility("default")]] smdebug {

// A step is due if it is in `save_steps`, or if it is in [start_step, end_step)
// and a multiple of `save_interval`. All count the steps of one mode.
struct SaveConfigMode {
  Step save_interval = 500;
  Step start_step = 0;
  std::optional<Step> end_step;  // exclusive; none: no end
  std::vector<Step> save_steps;

  /// Returns whether `mode_step` is due. Linear in `save_steps`; never fails.
  bool is_due(Step mode_step) const;

  /// Fails with `invalid_config` if `save_interval` is less than 1.
  Status check() const;

  friend bool operator==(const SaveConfigMode&,
                         const SaveConfigMode&) = default;
};

// A setting per mode. `merged_with` fills in modes without one.
class SaveConfig {
 public:
  SaveConfig() = default;
  /// Uses the same setting for every mode.
  explicit SaveConfig(const SaveConfigMode& every_mode);

  /// Returns the setting of a mode, or none.
  const std::optional<SaveConfigMode>& mode(Mode mode) const {
    return modes_[mode_index(mode)];
  }
  void set_mode(Mode mode, std::optional<SaveConfigMode> config) {
    modes_[mode_index(mode)] = std::move(config);
  }

  /// Returns a copy that takes missing modes from `fallback` and, if that lacks
  /// them as well, from `SaveConfigMode{}`.
  SaveConfig merged_with(const SaveConfig& fallback) const;

  /// Returns whether `mode_step` is due in `mode`; false for a mode without a
  /// setting.
  bool is_due(Mode mode, Step mode_step) const;

  /// Fails as `SaveConfigMode::check`, naming the mode.
  Status check() const;

  friend bool operator==(const SaveConfig&, const SaveConfig&) = default;

 private:
  std::array<std::optional<SaveConfigMode>, 4> modes_;
};

}  // namespace smdebug
