// The values of a run: reads and caches them, and waits for missing files.

#include <optional>
#include <utility>

#include "smdebug/base/parallel.h"
#include "smdebug/base/try.h"

#include "read/record_reader.h"
#include "read/trial_impl.h"

namespace smdebug {
namespace {

// The interval of the original.
constexpr std::chrono::nanoseconds kRetry = std::chrono::seconds(2);

// Starting a thread costs about as much as reading ten files.
constexpr std::size_t kFilesPerThread = 100;

}  // namespace

Result<TensorValue> Trial::Impl::read_value(EntryId entry) {
  if (const TensorValue* kept = find_kept(entry)) return *kept;
  const std::uint64_t attempt = attempt_;
  auto value = event_files_.read(entry);
  for (int tries = 0; !value && is_missing(entry); ++tries) {
    if (!may_still_appear(entry)) break;
    if (tries == *options_.missing_event_file_retries) {
      return Error{Error::Code::unavailable, value.error().message};
    }
    if (tries == 0) {
      logger().info("waiting for a file: " + value.error().message);
    }
    SMD_CHECK_OK(sleep_for(kRetry, clock(), options_.check_interrupt));
    // Any other failure shows when the file is read again.
    if (Status status = refresh();
        !status && status.error().code == Error::Code::interrupted) {
      return std::move(status).error();
    }
    if (attempt_ != attempt) return value;
    value = event_files_.read(entry);
  }
  if (value) {
    keep(entry, *value);
  } else {
    note_unreadable(entry, value.error());
  }
  return value;
}

// A step that the writer has removed, or has yet to write, is no damage.
void Trial::Impl::note_unreadable(EntryId entry, const Error& error) {
  if (error.code != Error::Code::corrupt && error.code != Error::Code::io) {
    return;
  }
  unreadable_.emplace(table().event_file(table().entry(entry).file),
                      error.message);
}

Result<std::vector<TensorValue>> Trial::Impl::read_file_values(
    std::span<const EntryId> entries) {
  if (!options_.keep_values) {
    auto all = event_files_.read(entries);
    if (all) return all;
  }
  std::vector<TensorValue> values;
  values.reserve(entries.size());
  for (EntryId entry : entries) {
    SMD_TRY(TensorValue value, read_value(entry));
    values.push_back(std::move(value));
  }
  return values;
}

std::vector<std::optional<TensorValue>> Trial::Impl::read_without_waiting(
    std::span<const EntryId> entries) {
  std::vector<std::optional<TensorValue>> values(entries.size());
  parallel_for(entries.size(), kFilesPerThread,
               [&](std::size_t begin, std::size_t end) {
                 read_ahead(entries.subspan(begin, end - begin),
                            std::span(values).subspan(begin));
               });
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (values[i]) keep(entries[i], *values[i]);
  }
  return values;
}

void Trial::Impl::read_ahead(
    std::span<const EntryId> entries,
    std::span<std::optional<TensorValue>> values) const {
  std::vector<EntryId> wanted;
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (find_kept(entries[i]) != nullptr) continue;
    wanted.push_back(entries[i]);
    indices.push_back(i);
  }
  auto read = read_each_record(*storage_, table(), wanted);
  for (std::size_t i = 0; i < read.size(); ++i) {
    if (read[i]) values[indices[i]] = *std::move(read[i]);
  }
}

const TensorValue* Trial::Impl::find_kept(EntryId entry) const {
  const auto kept = kept_values_.find(entry);
  return kept == kept_values_.end() ? nullptr : &kept->second;
}

void Trial::Impl::keep(EntryId entry, const TensorValue& value) {
  if (options_.keep_values) kept_values_.emplace(entry, value);
}

// A link or a pipe with the name of the file is not missing: no writer will
// replace it by the file.
bool Trial::Impl::is_missing(EntryId entry) const {
  const std::string key = table().event_file(table().entry(entry).file);
  const auto exists = storage_->exists(key);
  return exists && !*exists && storage_->check_folder(key + "/").ok();
}

// A worker's event files appear in order: if a later one exists, a missing one
// never will.
bool Trial::Impl::may_still_appear(EntryId entry) {
  if (completeness_.has_ended() || has_writer_exited()) return false;
  const IndexedFile& missing = table().file(table().entry(entry).file);
  for (FileId id = 0; id < table().file_count(); ++id) {
    const IndexedFile& other = table().file(id);
    if (other.worker != missing.worker || other.step <= missing.step) continue;
    const auto exists = storage_->exists(table().event_file(id));
    if (exists && *exists) return false;
  }
  return true;
}

}  // namespace smdebug
