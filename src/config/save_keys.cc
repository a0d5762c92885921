#include "config/save_keys.h"

#include <algorithm>

#include <fmt/format.h>

#include "smdebug/base/try.h"

#include "base/strings.h"

namespace smdebug {
namespace {

constexpr std::array<std::string_view, 4> kNames = {
    "save_interval", "start_step", "end_step", "save_steps"};

// "eval.end_step" applies to mode `eval`, "end_step" to none in particular.
struct ModeKey {
  std::optional<Mode> mode;
  std::string_view name;
};

std::optional<ModeKey> find_mode_key(std::string_view key) {
  ModeKey found;
  const auto dot = key.find('.');
  found.name = key.substr(dot == std::string_view::npos ? 0 : dot + 1);
  if (std::ranges::find(kNames, found.name) == kNames.end()) return {};
  if (dot == std::string_view::npos) return found;
  found.mode = find_mode(key.substr(0, dot));
  if (!found.mode) return {};
  return found;
}

template <typename T>
const std::optional<T>& first_of(const std::optional<T>& above,
                                 const std::optional<T>& below) {
  return above ? above : below;
}

}  // namespace

const std::vector<std::string>& SaveKeys::names() {
  static const auto& names = *[] {
    auto* all = new std::vector<std::string>(kNames.begin(), kNames.end());
    for (Mode mode : kModes) {
      for (std::string_view name : kNames) {
        all->push_back(fmt::format("{}.{}", lower_case(mode_name(mode)), name));
      }
    }
    return all;
  }();
  return names;
}

Result<SaveKeys> SaveKeys::parse(const ConfigObject& parameters) {
  SaveKeys keys;
  for (const auto& [key, value] : parameters.members()) {
    const auto found = find_mode_key(key);
    if (!found) continue;
    Keys& of_mode =
        found->mode ? keys.modes_[mode_index(*found->mode)] : keys.plain_;
    SMD_CHECK_OK(take(parameters, key, found->name, of_mode));
  }
  return keys;
}

Status SaveKeys::take(const ConfigObject& parameters, const std::string& key,
                      std::string_view name, Keys& keys) {
  if (name == "save_steps") {
    SMD_TRY(keys.save_steps, parameters.numbers(key));
    if (keys.save_steps &&
        std::ranges::any_of(*keys.save_steps, [](Step s) { return s < 0; })) {
      return parameters.expected(key, "steps of 0 or more");
    }
  } else if (name == "start_step") {
    SMD_TRY(keys.start_step, parameters.number(key));
  } else if (name == "end_step") {
    SMD_TRY(keys.end_step, parameters.number(key));
  } else {
    SMD_TRY(keys.save_interval, parameters.number(key));
    if (keys.save_interval && *keys.save_interval < 1) {
      return parameters.expected(
          key, "a number of 1 or more (to save nothing, set end_step to 0)");
    }
  }
  return {};
}

bool SaveKeys::empty() const {
  return plain_ == Keys() && std::ranges::all_of(modes_, [](const Keys& keys) {
           return keys == Keys();
         });
}

SaveKeys::Keys SaveKeys::Keys::over(const Keys& below) const {
  return {first_of(save_interval, below.save_interval),
          first_of(start_step, below.start_step),
          first_of(end_step, below.end_step),
          first_of(save_steps, below.save_steps)};
}

SaveKeys SaveKeys::over(const SaveKeys& below) const {
  SaveKeys merged;
  for (Mode mode : kModes) {
    merged.modes_[mode_index(mode)] = of_mode(mode).over(below.of_mode(mode));
  }
  return merged;
}

SaveConfig SaveKeys::config(Step default_interval) const {
  SaveConfig config;
  for (Mode mode : kModes) {
    const Keys keys = of_mode(mode);
    config.set_mode(
        mode, SaveConfigMode{keys.save_interval.value_or(default_interval),
                             keys.start_step.value_or(0), keys.end_step,
                             keys.save_steps.value_or(std::vector<Step>())});
  }
  return config;
}

}  // namespace smdebug
