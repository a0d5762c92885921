#include "smdebug/config/save_config.h"

#include <algorithm>
#include <string>

namespace smdebug {

bool SaveConfigMode::is_due(Step mode_step) const {
  if (std::find(save_steps.begin(), save_steps.end(), mode_step) !=
      save_steps.end()) {
    return true;
  }
  return save_interval > 0 && mode_step >= start_step &&
         (!end_step || mode_step < *end_step) && mode_step % save_interval == 0;
}

Status SaveConfigMode::check() const {
  if (save_interval > 0) return {};
  return Error{
      Error::Code::invalid_config,
      "save_interval is " + std::to_string(save_interval) +
          " and should be at least 1; to save nothing, set end_step to 0"};
}

SaveConfig::SaveConfig(const SaveConfigMode& every_mode) {
  modes_.fill(every_mode);
}

SaveConfig SaveConfig::merged_with(const SaveConfig& fallback) const {
  SaveConfig merged = *this;
  for (std::size_t i = 0; i < modes_.size(); ++i) {
    if (merged.modes_[i]) continue;
    merged.modes_[i] = fallback.modes_[i].value_or(SaveConfigMode{});
  }
  return merged;
}

bool SaveConfig::is_due(Mode mode, Step mode_step) const {
  const auto& config = this->mode(mode);
  return config && config->is_due(mode_step);
}

Status SaveConfig::check() const {
  for (Mode mode : kModes) {
    const auto& config = this->mode(mode);
    if (!config) continue;
    if (Status status = config->check(); !status) {
      return std::move(status).error().within(mode_name(mode));
    }
  }
  return {};
}

}  // namespace smdebug
