#include "smdebug/read/run_folder.h"

#include <optional>
#include <set>
#include <utility>

#include "smdebug/base/try.h"
#include "smdebug/store/bounded_storage.h"

#include "base/environment.h"
#include "format/file_names.h"
#include "format/file_sizes.h"
#include "format/progress_file.h"
#include "format/run_file.h"

namespace smdebug {
namespace {

// A process on another host that has not written for this long may be gone.
constexpr double kSilentSeconds = 600;

// The claim is newer than `progress` if the training was started again.
ProcessMark last_writer(const Storage& storage, const RunProgress& progress) {
  if (const auto bytes = get_object(storage, kClaimKey, kMaxClaimBytes)) {
    if (auto claim = parse_claim(bytes->text())) return *std::move(claim);
  }
  return writer_of(progress);
}

}  // namespace

Result<RunProgress> read_run_progress(const Storage& storage) {
  SMD_TRY(const Bytes bytes,
          get_object(storage, kProgressKey, kMaxProgressFileBytes));
  return parse_progress_file(bytes.text());
}

std::string recorded_error(const std::string& location) {
  const auto storage =
      open_bounded_storage(location, WaitLimit::from_environment());
  if (!storage) return "";
  const auto progress = read_run_progress(**storage);
  return progress ? progress->error : "";
}

Result<bool> has_end_marker(std::string_view location) {
  SMD_TRY(const auto storage,
          open_bounded_storage(location, WaitLimit::from_environment()));
  return storage->exists(kEndMarkerKey);
}

bool has_end(RunState state) {
  return state == RunState::ended || state == RunState::failed;
}

std::string_view run_state_name(RunState state) {
  switch (state) {
    case RunState::running:
      return "running";
    case RunState::ended:
      return "ended";
    case RunState::failed:
      return "failed";
    case RunState::killed:
      return "killed";
    case RunState::unknown:
      break;
  }
  return "unknown";
}

RunState read_run_state(const Storage& storage, const RunProgress& progress,
                        double wall_seconds) {
  const auto has_marker = storage.exists(kEndMarkerKey);
  if (has_marker && *has_marker)
    return progress.raised.empty() ? RunState::ended : RunState::failed;
  const ProcessMark writer = last_writer(storage, progress);
  if (writer.has_ended()) return RunState::killed;
  const bool is_here = writer.host == host_name();
  if (storage.is_remote() &&
      has_fallen_silent(writer, progress, wall_seconds)) {
    return RunState::killed;
  }
  const bool is_silent =
      wall_seconds - progress.written_seconds > kSilentSeconds;
  return is_here || !is_silent ? RunState::running : RunState::unknown;
}

bool lacks_parts(const Storage& storage) {
  for (const auto folder : {kIndexPrefix, kEventsPrefix, kCollectionsPrefix})
    if (storage.folder_version(folder) == Storage::kNoFolder) return true;
  const auto has_run_file = storage.exists(kRunFileKey);
  return has_run_file && !*has_run_file;
}

Result<std::optional<std::string>> find_refused_writer(const Storage& storage) {
  auto bytes = get_object(storage, kRefusedKey, kMaxClaimBytes);
  if (!bytes && bytes.error().code == Error::Code::not_found)
    return std::optional<std::string>();
  if (!bytes) return std::move(bytes).error();
  const auto refused = parse_claim(bytes->text());
  return std::optional(
      (refused ? refused->text() : std::string("a process")) +
      " also tried to write this run: its steps were not saved; give each hook "
      "a folder of its own");
}

Result<RunSize> measure_run(const Storage& storage) {
  SMD_TRY(const auto objects, storage.list(""));
  RunSize size;
  std::set<Step> steps;
  for (const ObjectEntry& object : objects) {
    size.bytes += object.bytes;
    if (!object.key.starts_with(kIndexPrefix)) continue;
    if (const auto name = parse_step_file_key(object.key))
      steps.insert(name->step);
  }
  size.steps = steps.size();
  return size;
}

bool is_run_file(std::string_view key) { return is_run_file_key(key); }

}  // namespace smdebug
