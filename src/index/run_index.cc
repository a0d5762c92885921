#include "index/run_index.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "smdebug/base/try.h"

#include "format/file_sizes.h"

namespace smdebug {
namespace {

// A folder can hold a million files that are not those of a run. Reports at
// most this many by name.
constexpr std::size_t kMaxForeign = 1000;

// Reads at most this many broken files again at each refresh, the newest ones:
// only files that are being written can become whole.
constexpr std::size_t kMaxRetried = 100;

// Index files that are read at once: a store answers that many requests in the
// time of one.
constexpr std::size_t kFilesAtOnce = 64;

// Returns the reason why an index file with the key of `name` is not its own.
// Empty if it is, and for a file that names no event file of the usual form.
std::string exchanged(const IndexFile& content, const StepFileName& name) {
  const auto events = parse_step_file_key(content.event_file_key.empty()
                                              ? content.absent_event_file_key
                                              : content.event_file_key);
  if (!events || *events == name) return "";
  return fmt::format(
      "it belongs to step {} of worker '{}', whose event file it names: it was "
      "renamed or exchanged",
      events->step, events->worker);
}

// A writer with a size limit for its run removes the oldest steps.
bool is_removed(const Result<Bytes>& file) {
  return !file && file.error().code == Error::Code::not_found;
}

}  // namespace

RunIndex::RunIndex(std::shared_ptr<const Storage> storage,
                   std::optional<Step> first_step, std::optional<Step> end_step)
    : storage_(std::move(storage)),
      first_step_(first_step),
      end_step_(end_step) {}

Status RunIndex::refresh(std::string_view after, bool all) {
  retry_broken_files();
  const FolderVersions before = std::exchange(folders_, versions_after(after));
  const auto has_changed = [&](const std::string& folder) {
    const auto now = folders_[folder];
    const auto known = before.find(folder);
    return !now || known == before.end() || now != known->second;
  };
  // A new folder also changes `index/`.
  const std::string root(kIndexPrefix);
  Status status;
  if (all || has_changed(root)) {
    status = list(root, after);
  } else {
    std::vector<std::string> changed;
    for (const auto& [folder, version] : folders_) {
      if (has_changed(folder)) changed.push_back(folder);
    }
    std::string listed = "/";  // the last one, with all that is below it
    for (const std::string& folder : changed) {
      if (!status.ok() || folder.starts_with(listed)) continue;
      status = list(folder, after);
      listed = folder;
    }
  }
  if (status) return {};
  folders_.clear();
  if (!storage_->check_folder(kIndexPrefix)) return {};
  return status;
}

void RunIndex::restart() {
  table_.restart();
  foreign_.clear();
  broken_.clear();
  left_out_.clear();
  without_statistics_.clear();
  odd_keys_.clear();
  folders_.clear();
}

// Returns the versions of `index/` and of each folder below it that had files
// and may have keys after `after`.
RunIndex::FolderVersions RunIndex::versions_after(
    std::string_view after) const {
  FolderVersions versions;
  versions[std::string(kIndexPrefix)] = storage_->folder_version(kIndexPrefix);
  for (const auto& [folder, version] : folders_) {
    if (folder < after && !after.starts_with(folder)) continue;
    versions[folder] = storage_->folder_version(folder);
  }
  return versions;
}

void RunIndex::add_folders_of(std::string_view key) {
  for (auto slash = key.find('/', kIndexPrefix.size()); slash != key.npos;
       slash = key.find('/', slash + 1)) {
    folders_.try_emplace(std::string(key.substr(0, slash + 1)));
  }
}

Status RunIndex::list(std::string_view prefix, std::string_view after) {
  SMD_TRY(const std::vector<ObjectEntry> listed, storage_->list(prefix, after));
  std::vector<std::pair<std::string, StepFileName>> wanted;
  std::string_view folder;
  for (const ObjectEntry& object : listed) {
    const std::string_view key = object.key;
    if (const auto its = key.substr(0, key.rfind('/') + 1); its != folder) {
      folder = its;
      add_folders_of(key);
    }
    const auto name = parse_step_file_key(object.key);
    if (!object.is_file) {
      const Status as_folder = storage_->check_folder(object.key + "/");
      leave_out(object.key, as_folder
                                ? "a link or something else that is not read"
                                : as_folder.error().message);
    } else if (!name) {
      leave_out(object.key, "its name is not that of an index file");
    } else if (!is_wanted(*name) || broken_.contains(object.key)) {
      continue;
    } else if (object.bytes > kMaxIndexFileBytes) {
      read_file(object.key, *name);  // fails without reading it
    } else {
      wanted.emplace_back(object.key, *name);
    }
  }
  read_files(wanted);
  return {};
}

void RunIndex::leave_out(const std::string& key, std::string what) {
  if (foreign_.contains(key)) return;
  has_more_foreign_ = foreign_.size() == kMaxForeign;
  if (has_more_foreign_) return;
  foreign_.insert(key);
  left_out_.push_back({key, std::move(what)});
}

bool RunIndex::is_wanted(const StepFileName& name) const {
  return !(first_step_ && name.step < *first_step_) &&
         !(end_step_ && name.step >= *end_step_) && !table_.has_file(name);
}

Result<IndexFile> RunIndex::parse(const Result<Bytes>& bytes,
                                  const StepFileName& name, IndexParts parts) {
  if (!bytes) return bytes.error();
  SMD_TRY(IndexFile content, parse_index_file(bytes->text(), parts));
  if (std::string reason = exchanged(content, name); !reason.empty()) {
    return Error{Error::Code::corrupt, std::move(reason)};
  }
  return content;
}

void RunIndex::read_files(
    std::span<const std::pair<std::string, StepFileName>> files) {
  while (!files.empty()) {
    const auto some = files.first(std::min(kFilesAtOnce, files.size()));
    std::vector<ObjectRange> ranges;
    for (const auto& [key, name] : some) ranges.push_back({key, {}});
    const std::vector<Result<Bytes>> read = storage_->read_each(ranges);
    for (std::size_t i = 0; i < some.size(); ++i) {
      // Two folders may have files of one name.
      if (table_.has_file(some[i].second)) continue;
      take_file(some[i].first, some[i].second, read[i]);
    }
    files = files.subspan(some.size());
  }
}

void RunIndex::read_file(const std::string& key, const StepFileName& name) {
  take_file(key, name, get_object(*storage_, key, kMaxIndexFileBytes));
}

void RunIndex::take_file(const std::string& key, const StepFileName& name,
                         const Result<Bytes>& bytes) {
  if (is_removed(bytes)) {
    broken_.erase(key);
    return;
  }
  const auto parts =
      with_statistics_ ? IndexParts::everything : IndexParts::locations;
  const Result<IndexFile> content = parse(bytes, name, parts);
  if (!content) {
    broken_[key] = {name, content.error().message};
    return;
  }
  broken_.erase(key);
  for (const std::string& what : content->damage) {
    left_out_.push_back({key, what});
  }
  for (const IndexedTensor& record : content->tensors) {
    if (record.length <= kMaxRecordBytes) continue;
    left_out_.push_back({key, "record of '" + record.name +
                                  "': " + std::to_string(record.length) +
                                  " bytes exceed the size of a record"});
  }
  const FileId file = table_.add_file(name, *content, with_statistics_);
  if (!with_statistics_ && table_.file(file).statistics > 0) {
    without_statistics_.push_back(file);
    if (key != key_of(file)) odd_keys_.emplace(file, key);
  }
}

std::string RunIndex::key_of(FileId file) const {
  const auto odd = odd_keys_.find(file);
  if (odd != odd_keys_.end()) return odd->second;
  const IndexedFile& row = table_.file(file);
  return index_file_key(row.step, table_.worker_name(row.worker));
}

void RunIndex::retry_broken_files() {
  std::vector<std::pair<std::string, StepFileName>> newest;
  for (auto file = broken_.rbegin();
       file != broken_.rend() && newest.size() < kMaxRetried; ++file) {
    newest.emplace_back(file->first, file->second.name);
  }
  for (const auto& [key, name] : newest) read_file(key, name);
}

void RunIndex::load_statistics() {
  with_statistics_ = true;
  const std::vector<FileId> files = std::exchange(without_statistics_, {});
  for (std::size_t first = 0; first < files.size(); first += kFilesAtOnce) {
    const auto some = std::span(files).subspan(
        first, std::min(kFilesAtOnce, files.size() - first));
    std::vector<ObjectRange> ranges;
    for (const FileId file : some) ranges.push_back({key_of(file), {}});
    const std::vector<Result<Bytes>> read = storage_->read_each(ranges);
    for (std::size_t i = 0; i < some.size(); ++i) {
      add_statistics(some[i], ranges[i].key, read[i]);
    }
  }
}

void RunIndex::add_statistics(FileId file, const std::string& key,
                              const Result<Bytes>& bytes) {
  if (is_removed(bytes)) return;
  const IndexedFile& row = table_.file(file);
  const Result<IndexFile> content =
      parse(bytes, {row.step, table_.worker_name(row.worker)},
            IndexParts::everything);
  if (content) {
    table_.add_statistics(file, *content);
  } else {
    left_out_.push_back({key, "statistics: " + content.error().message});
  }
}

std::vector<LeftOut> RunIndex::left_out() const {
  std::vector<LeftOut> all = left_out_;
  for (const auto& [key, file] : broken_) {
    all.push_back(
        {key, fmt::format("{}; step {} of '{}' is left out", file.what,
                          file.name.step, file.name.worker)});
  }
  if (has_more_foreign_) {
    all.push_back(
        {std::string(kIndexPrefix), "more files that are no index files"});
  }
  return all;
}

}  // namespace smdebug
