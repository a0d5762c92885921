#include "capture/run_files.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "smdebug/base/version.h"
#include "smdebug/core/tensor_names.h"

#include "base/environment.h"
#include "base/masked_arguments.h"
#include "base/suggestions.h"
#include "format/collections_file.h"
#include "format/file_names.h"
#include "format/file_sizes.h"

namespace smdebug {
namespace {

std::array<std::optional<ModeSchedule>, 4> stored_schedule(
    const SaveConfig& config) {
  std::array<std::optional<ModeSchedule>, 4> schedule;
  for (Mode mode : kModes) {
    const std::optional<SaveConfigMode>& of_mode = config.mode(mode);
    if (!of_mode) continue;
    schedule[mode_index(mode)] =
        ModeSchedule{of_mode->save_interval, of_mode->save_steps,
                     of_mode->start_step, of_mode->end_step};
  }
  return schedule;
}

StoredCollection stored(const Collection& collection) {
  StoredCollection file;
  file.tensors = collection.tensors;
  file.save_histogram = collection.save_histogram;
  if (collection.reduction_config) {
    const ReductionConfig& config = *collection.reduction_config;
    file.reductions = StoredReductions{config.save_raw_tensor,
                                       config.ops_text(), config.save_shape};
  }
  if (collection.save_config)
    file.schedule = stored_schedule(*collection.save_config);
  return file;
}

constexpr const char* kNothing = "nothing";

std::string sought(const TensorGroup& tensors) {
  std::vector<std::string> all = tensors.include_regex;
  all.insert(all.end(), tensors.tensor_names.begin(),
             tensors.tensor_names.end());
  return all.empty() ? kNothing : quoted_list(all);
}

bool is_saved(const Plan& plan, std::string_view name) {
  for (std::size_t i = 0; i < plan.collections().size(); ++i)
    if (plan.collections()[i].name() == name) return plan.is_saved(i);
  return false;
}

// The members that the user has put into a collection: of a built-in one,
// without its own patterns, which the plan may have replaced by exclusive ones.
// Adapters put patterns into the opt-in collections, so that nothing there is
// the user's.
TensorGroup own_members(const Framework& framework,
                        const Collection& collection) {
  TensorGroup own = collection.tensors;
  const Collection* const built_in = framework.find(collection.name());
  if (built_in == nullptr) return own;
  if (framework.is_opt_in(collection.name())) return {own.name, {}, {}};
  for (const std::string& pattern : built_in->tensors.include_regex) {
    std::erase(own.include_regex, pattern);
    for (const auto& [plain, exclusive] : framework.exclusive_patterns) {
      if (plain == pattern) std::erase(own.include_regex, exclusive);
    }
  }
  return own;
}

bool is_saved_by_default(const Framework& framework, std::string_view name) {
  return std::ranges::find(framework.default_saved, name) !=
         framework.default_saved.end();
}

constexpr std::size_t kMostNamed = 8;

// "12 of 25 tensors (weights 3, biases 3)".
std::string counts_text(std::size_t saved, std::size_t seen,
                        const std::vector<std::string>& counts) {
  std::string text =
      std::to_string(saved) + " of " + std::to_string(seen) + " tensors";
  if (counts.empty()) return text;
  text += " (";
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (i == kMostNamed) {
      text += ", " + std::to_string(counts.size() - i) + " more collections";
      break;
    }
    text += (i == 0 ? "" : ", ") + counts[i];
  }
  return text + ")";
}

// Functions compute the loss of most trainings, and no hook sees them.
constexpr const char* kLossAdvice =
    ": pass a loss module to hook.register_loss(loss_fn) and call it, or save "
    "the loss of a function with hook.record_tensor_value(\"loss\", loss)";

// The end of a message about patterns that matched none of `names`.
std::string names_instead(const std::string& wanted,
                          const std::vector<std::string>& names) {
  const auto similar = similar_names(wanted, names, 3);
  return similar.empty() ? "; names that were seen are, for example, " +
                               quoted_list(std::span(names).first(
                                   std::min<std::size_t>(3, names.size())))
                         : "; the nearest names are " + quoted_list(similar);
}

// `own`: what the user has put into the collection. Patterns of the framework,
// or of a rule under `smdebug run`, are not shown: a user does not know them.
std::string nothing_found(const Collection& collection, const TensorGroup& own,
                          const std::vector<std::string>& names,
                          bool is_losses_of_torch, bool at_end) {
  const std::string place = at_end ? "the run" : "the first saved step";
  const std::string_view rule = rule_of_collection(collection.name());
  const std::string head =
      rule.empty() ? fmt::format("collection '{}' should be saved, but ",
                                 collection.name())
                   : fmt::format("rule '{}' has nothing to judge: ", rule);
  const bool has_own = sought(own) != kNothing;
  std::string text =
      head + (has_own ? sought(own) + " matched no tensor of " + place
                      : "no tensor of " + place + " belongs to it");
  if (names.empty()) return text + "; no tensor was seen at all";
  if (is_losses_of_torch) {
    return (has_own ? text + ", and no loss was seen there"
                    : head + "no loss was seen in the run") +
           kLossAdvice;
  }
  if (sought(collection.tensors) == kNothing) return text;
  const TensorGroup& tensors = has_own ? own : collection.tensors;
  const std::string& wanted =
      !tensors.include_regex.empty()  ? tensors.include_regex.front()
      : !tensors.tensor_names.empty() ? tensors.tensor_names.front()
                                      : tensors.name;
  text += names_instead(wanted, names);
  if (!has_own) return text;
  const char* const setting = !rule.empty() ? "the patterns of the rule"
                              : tensors.include_regex.empty() ? "tensor_names"
                                                              : "include_regex";
  return fmt::format("{}: change {} to match the tensors that you want", text,
                     setting);
}

std::vector<std::string> saved_collections(const Plan& plan) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < plan.collections().size(); ++i)
    if (plan.is_saved(i)) names.push_back(plan.collections()[i].name());
  return names;
}

}  // namespace

std::string collections_text(const SlotTable& slots, int num_workers) {
  const Plan& plan = slots.plan();
  CollectionsFile file;
  file.num_workers = num_workers;
  for (const Collection& collection : plan.collections())
    file.collections.push_back(stored(collection));
  slots.for_each([&](const SlotState& slot) {
    if (!slot.is_listed()) return;
    for (std::size_t i = 0; i < file.collections.size(); ++i)
      if (slot.matched.contains(i))
        file.collections[i].tensors.tensor_names.push_back(slot.name);
  });
  for (const auto& [name, members] : slots.joined()) {
    auto found = std::ranges::find(
        file.collections, name, [](const auto& c) { return c.tensors.name; });
    if (found == file.collections.end()) {
      file.collections.push_back({{name, {}, {}}, {}, {}});
      found = file.collections.end() - 1;
    }
    auto& names = found->tensors.tensor_names;
    names.insert(names.end(), members.begin(), members.end());
  }
  for (StoredCollection& collection : file.collections) {
    std::vector<std::string>& names = collection.tensors.tensor_names;
    std::ranges::sort(names);
    names.erase(std::ranges::unique(names).begin(), names.end());
  }
  return write_collections_file(file);
}

RunRecord::RunRecord(const Storage& storage, const ProcessFacts& process,
                     const Framework& framework, const Clock& clock) {
  if (auto bytes = get_object(storage, kRunFileKey, kMaxRunFileBytes); bytes) {
    if (auto older = parse_run_file(bytes->text()); older)
      file_ = *std::move(older);
  }
  file_.smdebug_version = kVersion;
  file_.framework = framework.name;
  RunAttempt attempt;
  attempt.host = host_name();
  attempt.process_id = process_id();
  attempt.started_seconds = clock.wall_seconds();
  attempt.command = masked_arguments(process.command);
  attempt.versions = process.versions;
  attempt.environment = process.environment;
  attempt.status = "running";
  file_.attempts.push_back(std::move(attempt));
}

std::string RunRecord::started(const SlotTable& slots, int num_workers,
                               Step first_step) {
  file_.configuration_json = collections_text(slots, num_workers);
  file_.saved_collections = saved_collections(slots.plan());
  file_.attempts.back().first_step = first_step;
  return write_run_file(file_);
}

std::optional<std::string> RunRecord::replanned(const SlotTable& slots,
                                                int num_workers) {
  std::vector<std::string> saved = saved_collections(slots.plan());
  if (saved == file_.saved_collections) return std::nullopt;
  file_.configuration_json = collections_text(slots, num_workers);
  file_.saved_collections = std::move(saved);
  return write_run_file(file_);
}

std::string RunRecord::ended(const SessionStatus& status,
                             const SessionCost& cost, double wall_seconds) {
  RunAttempt& attempt = file_.attempts.back();
  attempt.ended_seconds = wall_seconds;
  attempt.status = status.error ? status.error->message : "finished";
  attempt.raised = status.raised;
  attempt.cost = {
      {"step_thread_seconds", cost.step_thread_seconds},
      {"wait_seconds", cost.wait_seconds},
      {"writer_cpu_seconds", cost.writer_cpu_seconds},
      {"run_seconds", cost.run_seconds},
      {"bytes_captured", static_cast<double>(cost.bytes_captured)},
      {"bytes_written", static_cast<double>(cost.bytes_written)},
      {"steps", static_cast<double>(cost.steps)},
      {"steps_saved", static_cast<double>(status.steps_saved)},
      {"tensors", static_cast<double>(status.tensors)},
      {"dropped_tensors", static_cast<double>(status.dropped_tensors)},
      {"replaced_tensors", static_cast<double>(status.replaced_tensors)},
      {"skipped_tensors", static_cast<double>(status.skipped.size())},
      {"removed_steps", static_cast<double>(status.removed_steps)},
  };
  if (status.first_kept_step) {
    attempt.cost["first_kept_step"] =
        static_cast<double>(*status.first_kept_step);
  }
  return write_run_file(file_);
}

MatchSummary summarize_matches(const SlotTable& slots,
                               std::span<const std::string> asked,
                               bool at_end) {
  const Plan& plan = slots.plan();
  const SlotTable::Members joined = slots.joined();
  std::vector<std::size_t> counts(plan.collections().size());
  std::vector<std::string> names;
  // The log and the status have the reason of each tensor that was skipped.
  // Adapters also skip a collection that they cannot compute as a whole.
  CollectionSet skipped;
  std::set<std::string, std::less<>> skipped_names;
  std::size_t saved = 0;
  slots.for_each([&](const SlotState& slot) {
    if (!slot.is_listed()) {
      skipped = skipped | slot.matched;
      skipped_names.insert(slot.name);
      return;
    }
    names.push_back(slot.name);
    bool is_in_saved_one = false;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (!slot.matched.contains(i)) continue;
      ++counts[i];
      is_in_saved_one |= plan.is_saved(i);
    }
    saved += is_in_saved_one;
  });

  // If everything is saved, the user did not ask for the framework's
  // collections by name.
  const bool saves_all = is_saved(plan, "all");
  MatchSummary summary;
  std::vector<std::string> counts_shown;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (!plan.is_saved(i)) continue;
    const Collection& collection = plan.collections()[i];
    if (collection.is_optional && counts[i] == 0) continue;
    summary.text += (summary.text.empty() ? "" : "\n") +
                    std::string("collection '") + collection.name() +
                    "': " + std::to_string(counts[i]) + " of " +
                    std::to_string(names.size()) + " tensors, by " +
                    sought(collection.tensors);
    if (counts[i] > 0) {
      summary.filled.push_back(i);
      counts_shown.push_back(collection.name() + " " +
                             std::to_string(counts[i]));
    }
    const Framework& framework = plan.framework();
    const bool is_standard = framework.find(collection.name()) &&
                             !framework.is_opt_in(collection.name());
    const bool is_without_pattern = sought(collection.tensors) == kNothing;
    const bool was_asked_for =
        !(saves_all && is_standard) &&
        (!is_without_pattern ||
         !is_saved_by_default(framework, collection.name()));
    const TensorGroup own = own_members(framework, collection);
    const bool may_match_later = sought(own) == kNothing;
    const bool is_losses_of_torch =
        collection.name() == "losses" && framework.name == "pytorch";
    const bool is_skipped =
        skipped.contains(i) || skipped_names.contains(collection.name());
    summary.has_skipped |= is_skipped;
    // A user who named others, and gets them, need not know that the framework
    // always adds this one.
    const bool was_added =
        saved > 0 && !asked.empty() && may_match_later &&
        is_saved_by_default(framework, collection.name()) &&
        std::ranges::find(asked, collection.name()) == asked.end();
    if (counts[i] == 0 && was_asked_for && !was_added && !is_skipped &&
        !joined.contains(collection.name()))
      summary.warnings.push_back(
          {collection.name(),
           collection.name() + " " + sought(collection.tensors),
           nothing_found(collection, is_launched() ? TensorGroup{} : own, names,
                         is_losses_of_torch, at_end),
           may_match_later,
           is_losses_of_torch
               ? std::string("no loss was seen in it") + kLossAdvice
               : ""});
  }
  summary.seen = names.size();
  summary.to_save = saved;
  summary.counts = counts_text(saved, names.size(), counts_shown);
  return summary;
}

}  // namespace smdebug
