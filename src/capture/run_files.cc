#include "capture/run_files.h"

#include <algorithm>
#include <utility>

#include "smdebug/base/version.h"

#include "base/environment.h"
#include "format/collections_file.h"
#include "format/file_names.h"

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

}  // namespace

std::string collections_text(const SlotTable& slots, int num_workers) {
  const Plan& plan = slots.plan();
  CollectionsFile file;
  file.num_workers = num_workers;
  for (const Collection& collection : plan.collections())
    file.collections.push_back(stored(collection));
  slots.for_each([&](const SlotState& slot) {
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
  if (auto bytes = get_object(storage, kRunFileKey); bytes) {
    if (auto older = parse_run_file(bytes->text()); older)
      file_ = *std::move(older);
  }
  file_.smdebug_version = kVersion;
  file_.framework = framework.name;
  RunAttempt attempt;
  attempt.host = host_name();
  attempt.process_id = process_id();
  attempt.started_seconds = clock.wall_seconds();
  attempt.command = process.command;
  attempt.versions = process.versions;
  attempt.environment = process.environment;
  attempt.status = "running";
  file_.attempts.push_back(std::move(attempt));
}

std::string RunRecord::started(const SlotTable& slots, int num_workers,
                               Step first_step) {
  file_.configuration_json = collections_text(slots, num_workers);
  file_.saved_collections.clear();
  const Plan& plan = slots.plan();
  for (std::size_t i = 0; i < plan.collections().size(); ++i) {
    if (plan.is_saved(i))
      file_.saved_collections.push_back(plan.collections()[i].name());
  }
  file_.attempts.back().first_step = first_step;
  return write_run_file(file_);
}

std::string RunRecord::ended(const SessionStatus& status,
                             const SessionCost& cost, double wall_seconds) {
  RunAttempt& attempt = file_.attempts.back();
  attempt.ended_seconds = wall_seconds;
  attempt.status = status.error ? status.error->message : "finished";
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

}  // namespace smdebug
