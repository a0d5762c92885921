#pragma once

// The keys that say when something is saved, as a JSON configuration has
// them: "save_interval", and "eval.save_interval" for one mode.

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "smdebug/base/result.h"
#include "smdebug/config/save_config.h"

#include "config/config_document.h"

namespace smdebug {

class SaveKeys {
 public:
  // Fails with `invalid_config`, naming the key.
  static Result<SaveKeys> parse(const ConfigObject& parameters);

  // "save_interval", ..., "global.end_step".
  static const std::vector<std::string>& names();

  // True if no key is given.
  bool empty() const;

  // These keys, with those that are missing taken from `below`, mode by mode.
  // A plain key of ours stands above a mode's key of `below`.
  SaveKeys over(const SaveKeys& below) const;

  // What is still missing is the default, the interval `default_interval`.
  SaveConfig config(Step default_interval) const;

 private:
  struct Keys {
    std::optional<Step> save_interval;
    std::optional<Step> start_step;
    std::optional<Step> end_step;
    std::optional<std::vector<Step>> save_steps;

    Keys over(const Keys& below) const;
    friend bool operator==(const Keys&, const Keys&) = default;
  };

  // Sets what `key`, without its mode, says.
  static Status take(const ConfigObject& parameters, const std::string& key,
                     std::string_view name, Keys& keys);

  Keys of_mode(Mode mode) const {
    return modes_[mode_index(mode)].over(plain_);
  }

  Keys plain_;
  std::array<Keys, kModes.size()> modes_;
};

}  // namespace smdebug
