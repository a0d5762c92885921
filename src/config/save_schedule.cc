#include "config/save_schedule.h"

#include <algorithm>
#include <span>

#include <fmt/format.h>

namespace smdebug {

std::string schedule_text(const SaveConfigMode& config) {
  std::string text = config.save_interval == 1
                         ? "every step"
                         : fmt::format("every {} steps", config.save_interval);
  if (config.end_step && *config.end_step <= config.start_step) {
    text = "never";
  } else {
    if (config.start_step > 0)
      text += fmt::format(" from {} on", config.start_step);
    if (config.end_step) text += fmt::format(" below {}", *config.end_step);
  }
  if (!config.save_steps.empty()) {
    constexpr std::size_t kMostListed = 8;
    const std::size_t listed = std::min(config.save_steps.size(), kMostListed);
    std::string steps = fmt::format(
        "{}", fmt::join(std::span(config.save_steps).first(listed), ", "));
    if (listed < config.save_steps.size()) {
      steps += fmt::format(" and {} more", config.save_steps.size() - listed);
    }
    text = text == "never" ? "at " + steps : text + ", and at " + steps;
  }
  return text;
}

std::optional<Step> due_before(const SaveConfigMode& config, Step step) {
  std::optional<Step> best;
  const auto offer = [&](Step candidate) {
    if (candidate >= 0 && candidate < step && config.is_due(candidate))
      best = std::max(best.value_or(candidate), candidate);
  };
  for (const Step listed : config.save_steps) offer(listed);
  if (config.save_interval <= 0) return best;
  const Step before_end = config.end_step ? *config.end_step - 1 : step - 1;
  const Step latest = std::min(step - 1, before_end);
  if (latest >= 0) offer(latest / config.save_interval * config.save_interval);
  return best;
}

std::optional<Step> due_after(const SaveConfigMode& config, Step step) {
  std::optional<Step> best;
  const auto offer = [&](Step candidate) {
    if (candidate > step && config.is_due(candidate))
      best = std::min(best.value_or(candidate), candidate);
  };
  for (const Step listed : config.save_steps) offer(listed);
  if (config.save_interval <= 0) return best;
  const Step earliest = std::max(step + 1, config.start_step);
  offer((earliest + config.save_interval - 1) / config.save_interval *
        config.save_interval);
  return best;
}

}  // namespace smdebug
