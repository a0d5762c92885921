#include "read/absence.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "base/strings.h"
#include "config/save_schedule.h"

namespace smdebug {
namespace {

// The steps that a message lists on either side of the one asked for.
constexpr std::ptrdiff_t kListed = 2;

// ", nearest: 3, 4, 10, 20" or, if that is all of `saved`, ": 3, 4".
std::string listed_text(const std::vector<Step>& saved, Step step) {
  const auto after = std::ranges::lower_bound(saved, step);
  const auto first = after - std::min(kListed, after - saved.begin());
  const auto last = after + std::min(kListed, saved.end() - after);
  return fmt::format("{}{}",
                     last - first < std::ssize(saved) ? ", nearest: " : ": ",
                     fmt::join(first, last, ", "));
}

// The modes of a run in which `has` a step.
template <typename Has>
std::string modes_text(const Has& has) {
  std::string modes;
  for (const Mode mode : {Mode::train, Mode::eval, Mode::predict}) {
    if (has(mode))
      modes += fmt::format("{}{}", modes.empty() ? "" : ", ", mode_name(mode));
  }
  return modes;
}

}  // namespace

// The schedule of the tensor's collections around the step, in its mode.
struct Absence::Schedule {
  std::optional<StepId> step;
  std::string text;  // empty: unknown
  bool is_due = false;
  std::optional<Step> before, after;
  // The next due step after the last one that the run has of the mode.
  std::optional<Step> next_of_run;
};

std::vector<Step> Absence::steps(bool with_elements) const {
  std::vector<Step> steps;
  Step last = -1;
  for (const EntryId id : table_.entries_of(tensor_)) {
    const IndexEntry& entry = table_.entry(id);
    if (with_elements && (entry.is_reduction() || !entry.has_record()))
      continue;
    const Step global = table_.step_of(id);
    if (global == last) continue;
    last = global;
    if (query_.mode == Mode::global) {
      steps.push_back(global);
      continue;
    }
    const StepId& step = table_.find_step(global)->id;
    if (query_.mode == step.mode) steps.push_back(step.mode_step);
  }
  std::ranges::sort(steps);
  return steps;
}

std::string Absence::steps_text() const {
  const std::vector<Step> saved = steps(/*with_elements=*/false);
  if (!saved.empty()) {
    return fmt::format(
        "; the tensor has {}{}",
        count_text(saved.size(),
                   query_.mode == Mode::global
                       ? "step"
                       : fmt::format("{} step", mode_name(query_.mode))),
        listed_text(saved, query_.step));
  }
  if (!table_.steps_of(query_.mode).empty()) {
    return fmt::format("; the tensor has no {} steps, its modes are {}",
                       mode_name(query_.mode), modes_of_tensor());
  }
  const std::string modes =
      modes_text([&](Mode mode) { return !table_.steps_of(mode).empty(); });
  return fmt::format("; the run has no {} steps, its modes are {}",
                     mode_name(query_.mode), modes.empty() ? "GLOBAL" : modes);
}

std::string Absence::modes_of_tensor() const {
  const std::string modes =
      modes_text([&](Mode mode) { return table_.is_seen_in(tensor_, mode); });
  return modes.empty() ? "GLOBAL" : modes;
}

std::optional<StepId> Absence::step_in_mode() const {
  const Step step = query_.step;
  if (query_.mode != Mode::global) return StepId{-1, query_.mode, step};
  if (const IndexedStep* known = table_.find_step(step)) return known->id;
  if (table_.steps().empty()) return std::nullopt;
  const auto after = table_.steps().lower_bound(step);
  const StepId& last = after == table_.steps().begin()
                           ? after->second.id
                           : std::prev(after)->second.id;
  const StepId& next = after == table_.steps().end() ? last : after->second.id;
  const bool is_one_mode =
      last.mode == next.mode &&
      last.global - last.mode_step == next.global - next.mode_step;
  // Beyond the steps of the run, another mode may have followed.
  const bool is_between = last.global < step && step < next.global;
  if (!is_one_mode || (!is_between && last.global != last.mode_step))
    return std::nullopt;
  return StepId{step, last.mode, step - (last.global - last.mode_step)};
}

Absence::Schedule Absence::schedule() const {
  Schedule found;
  found.step = step_in_mode();
  if (!found.step) return found;
  const auto [global, mode, step] = *found.step;
  const std::string& tensor = table_.tensor_name(tensor_);
  Step last_of_run = -1;
  if (mode == Mode::global) {
    if (!table_.steps().empty()) last_of_run = table_.steps().rbegin()->first;
  } else if (!table_.steps_of(mode).empty()) {
    last_of_run = table_.steps_of(mode).rbegin()->first;
  }
  const auto keep = [](std::optional<Step>& kept, std::optional<Step> offered,
                       const auto& better) {
    if (offered && (!kept || better(*offered, *kept))) kept = offered;
  };
  for (const Collection& collection : collections_) {
    const auto& names = collection.tensors.tensor_names;
    if (std::ranges::find(names, tensor) == names.end()) continue;
    if (!collection.save_config) return {found.step};
    const auto config =
        collection.save_config->mode(mode).value_or(SaveConfigMode{});
    found.is_due |= config.is_due(step);
    keep(found.before, due_before(config, step), std::greater());
    keep(found.after, due_after(config, step), std::less());
    keep(found.next_of_run, due_after(config, last_of_run), std::less());
    found.text +=
        fmt::format("{} '{}' is saved {}",
                    found.text.empty() ? "collection" : ", collection",
                    collection.name(), schedule_text(config));
  }
  return found;
}

// "; collection 'weights' is saved every 10 steps; SaveConfig(save_steps=[7])
// of a hook saves step 7", as far as the run shows it.
std::string Absence::reason(const Schedule& schedule) const {
  if (!schedule.step) {
    return "; a hook saves the steps of its SaveConfig, counted in each mode: "
           "see save_interval and save_steps";
  }
  const auto [global, mode, step] = *schedule.step;
  if (!table_.is_seen_in(tensor_, mode)) {
    return query_.mode == Mode::global
               ? fmt::format("; the step is {}, the modes of the tensor are {}",
                             step_text(step, mode), modes_of_tensor())
               : "";
  }
  if (schedule.text.empty()) return "";
  std::string text = "; " + schedule.text;
  if (schedule.next_of_run && *schedule.next_of_run <= step) {
    return text + fmt::format("; the run ended before {}, which is due next",
                              step_text(*schedule.next_of_run, mode));
  }
  if (schedule.is_due) return "";
  return text + fmt::format(
                    "; SaveConfig(save_steps=[{}]) of a hook saves {}, "
                    "SaveConfig(save_interval=1) every step",
                    step, step_text(step, mode));
}

std::string Absence::of_coming_step() const {
  const Schedule found = schedule();
  if (found.text.empty() || found.is_due)
    return "the step has not been written yet";
  std::string text = "the step is not due, and was not written: " + found.text;
  if (found.before) text += fmt::format("; previously at {}", *found.before);
  if (found.after)
    text += fmt::format("{} at {}", found.before ? ", next" : "; next",
                        *found.after);
  return text;
}

std::string Absence::of_passed_step() const {
  if (query_.step < 0) return "steps begin at 0" + steps_text();
  return "the step was not saved" + steps_text() + reason(schedule());
}

std::string Absence::of_tensor() const {
  return "the step holds other tensors, not this one" + steps_text() +
         reason(schedule());
}

std::string Absence::of_elements(std::string_view kept) const {
  std::string collection;
  const std::string& tensor = table_.tensor_name(tensor_);
  for (const Collection& one : collections_) {
    const auto& names = one.tensors.tensor_names;
    if (std::ranges::find(names, tensor) == names.end()) continue;
    collection = one.name();
    break;
  }
  const std::vector<Step> whole = steps(/*with_elements=*/true);
  return fmt::format(
      "its elements were not saved, only {}{}; a hook {} saves them", kept,
      whole.empty() ? ""
                    : fmt::format("; they were at {}{}",
                                  count_text(whole.size(), "other step"),
                                  listed_text(whole, query_.step)),
      collection.empty() ? "with a collection without reductions"
                         : fmt::format("with include_collections=['{}'] and no "
                                       "reduction_config",
                                       collection));
}

}  // namespace smdebug
