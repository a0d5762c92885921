#pragma once

// The keys of a JSON configuration that decide when tensors are saved:
// "save_interval", and "eval.save_interval" for one mode.

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
  // Reads all save keys of an object. Fails with `invalid_config`, naming the
  // key.
  static Result<SaveKeys> parse(const ConfigObject& parameters);

  // Lists the keys: "save_interval", ..., "global.end_step".
  static const std::vector<std::string>& names();

  // Returns true if no key is set.
  bool empty() const;

  // Returns these keys, with missing ones taken from `below`, mode by mode. A
  // plain key here overrides a mode's key of `below`.
  SaveKeys over(const SaveKeys& below) const;

  // Returns the settings. Missing keys get their defaults, and the interval
  // `default_interval`.
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

  // Reads `key`; `name` is the key without its mode.
  static Status take(const ConfigObject& parameters, const std::string& key,
                     std::string_view name, Keys& keys);

  Keys of_mode(Mode mode) const {
    return modes_[mode_index(mode)].over(plain_);
  }

  Keys plain_;
  std::array<Keys, kModes.size()> modes_;
};

}  // namespace smdebug
