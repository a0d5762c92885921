// Who writes a run, how often it was begun, and whether it is still there.

#include "base/environment.h"
#include "format/file_names.h"
#include "format/run_file.h"
#include "read/trial_impl.h"

namespace smdebug {
namespace {

// A process that started later than the training has its id by chance. The
// training notes its time at its first step; boot time is known to a second.
constexpr double kClockSlack = 2;

std::optional<RunFile> find_run_file(const Storage& storage) {
  const auto bytes = get_object(storage, kRunFileKey);
  if (!bytes) return std::nullopt;
  auto file = parse_run_file(bytes->text());
  if (!file) return std::nullopt;
  return *std::move(file);
}

}  // namespace

std::optional<RunWriter> Trial::Impl::writer() const {
  if (const auto bytes = get_object(*storage_, kClaimKey)) {
    if (const auto claim = parse_claim(bytes->text())) {
      return RunWriter{claim->host, claim->process_id,
                       claim->process_start_ticks};
    }
  }
  const auto file = find_run_file(*storage_);
  if (!file || file->attempts.empty()) return std::nullopt;
  const RunAttempt& last = file->attempts.back();
  if (last.ended_seconds || last.host != host_name()) return std::nullopt;
  const auto ticks = process_start_ticks(last.process_id);
  const auto started = process_start_seconds(last.process_id);
  if (!ticks || !started || *started > last.started_seconds + kClockSlack) {
    return std::nullopt;
  }
  return RunWriter{last.host, last.process_id, *ticks};
}

std::uint64_t Trial::Impl::attempts() const {
  const auto file = find_run_file(*storage_);
  return file ? file->attempts.size() : 0;
}

bool Trial::Impl::exists() const {
  for (const std::string_view prefix : {kCollectionsPrefix, kIndexPrefix}) {
    const auto files = storage_->list(prefix);
    if (!files || !files->empty()) return true;
  }
  return false;
}

}  // namespace smdebug
