#include "index/run_index.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "smdebug/base/try.h"

#include "format/file_sizes.h"
#include "format/statistics_file.h"
#include "format/statistics_file_columns.h"
#include "index/checked_index_file.h"

namespace smdebug {
namespace {

// A folder can hold a million files that are not those of a run. Reports at
// most this many by name.
constexpr std::size_t kMaxForeign = 1000;

// Reads at most this many broken files again at each refresh, the newest ones:
// only files that are being written can become whole.
constexpr std::size_t kMaxRetried = 100;

// The contents of packed files that are held until those before them are read.
constexpr std::size_t kFilesInMemory = 1024;

// A writer with a size limit for its run removes the oldest steps.
bool is_removed(const Result<Bytes>& file) {
  return !file && file.error().code == Error::Code::not_found;
}

}  // namespace

RunIndex::RunIndex(std::shared_ptr<const Storage> storage,
                   std::optional<Step> first_step, std::optional<Step> end_step)
    : storage_(std::move(storage)),
      first_step_(first_step),
      end_step_(end_step),
      with_statistics_(storage_->is_remote()) {}

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
  has_unpacked_ = false;
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
  std::vector<ListedFile> wanted;
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
      wanted.push_back({object.key, *name, object.bytes});
    }
  }
  read_files(wanted);
  return {};
}

// Adds the files in their order, so that a packed run gives the same table.
void RunIndex::read_files(std::span<const ListedFile> files) {
  std::optional<PackedSteps> packed;
  if (files.size() > kMinStatisticsFileSteps &&
      !std::exchange(has_unpacked_, true)) {
    packed.emplace(*storage_);
  }
  while (!files.empty()) {
    std::vector<std::optional<PackedStep>> found;
    IndexFileBatch batch;
    while (found.size() < std::min(kFilesInMemory, files.size()) &&
           !batch.is_full()) {
      const ListedFile& file = files[found.size()];
      found.push_back(packed ? packed->find(file.name, file.bytes)
                             : std::nullopt);
      if (!found.back()) batch.add(file.key, file.bytes);
    }
    const std::vector<Result<Bytes>> read = batch.read(*storage_);
    for (std::size_t i = 0, next = 0; i < found.size(); ++i) {
      const auto& [key, name, bytes] = files[i];
      const Result<Bytes>* own = found[i] ? nullptr : &read[next++];
      // Two folders may have files of one name.
      if (table_.has_file(name)) continue;
      if (own) {
        take_file(key, name, *own);
      } else {
        note_statistics(take_packed(key, *found[i]), key, bytes);
      }
    }
    files = files.subspan(found.size());
  }
  if (packed) report_broken(*packed);
}

void RunIndex::report_broken(const PackedSteps& packed) {
  for (const auto& [key, what] : packed.broken()) {
    leave_out(key, what + "; its steps were read from their index files");
  }
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
  const Result<IndexFile> content = checked_index_file(bytes, name, parts);
  if (!content) {
    broken_[key] = {name, content.error().message};
    return;
  }
  broken_.erase(key);
  note_statistics(take_content(key, name, *content), key, bytes->size());
}

FileId RunIndex::take_content(const std::string& key, const StepFileName& name,
                              const IndexFile& content) {
  for (const std::string& what : content.damage) {
    left_out_.push_back({key, what});
  }
  for (const IndexedTensor& record : content.tensors) {
    report_length(key, record.name, record.length);
  }
  return table_.add_file(name, content, with_statistics_);
}

FileId RunIndex::take_packed(const std::string& key, const PackedStep& step) {
  const StatisticsFile& file = step.file->table;
  for (std::size_t row = step.rows->first; row < step.rows->end; ++row) {
    const ArrowColumnView& length = file.column(statistics_file::kLength);
    report_length(key, file.column(statistics_file::kTensor).text(row),
                  length.value<std::uint64_t>(row));
  }
  return table_.add_packed(file, *step.rows, step.file->ids, with_statistics_);
}

void RunIndex::report_length(const std::string& key, std::string_view record,
                             std::uint64_t bytes) {
  if (bytes <= kMaxRecordBytes) return;
  left_out_.push_back(
      {key, fmt::format("record of '{}': {} bytes exceed the size of a record",
                        record, bytes)});
}

void RunIndex::note_statistics(FileId file, const std::string& key,
                               std::uint64_t bytes) {
  if (with_statistics_ || table_.file(file).statistics == 0) return;
  without_statistics_.push_back({file, bytes});
  if (key != key_of(file)) odd_keys_.emplace(file, key);
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
  auto files = std::exchange(without_statistics_, {});
  if (files.size() > kMinStatisticsFileSteps) add_packed_statistics(files);
  for (auto next = files.begin(); next != files.end();) {
    IndexFileBatch batch;
    std::vector<FileId> ids;
    for (; next != files.end() && !batch.is_full(); ++next) {
      batch.add(key_of(next->file), next->bytes);
      ids.push_back(next->file);
    }
    const std::vector<Result<Bytes>> read = batch.read(*storage_);
    for (std::size_t i = 0; i < read.size(); ++i) {
      add_statistics(ids[i], batch.key(i), read[i]);
    }
  }
}

void RunIndex::add_packed_statistics(std::vector<WithoutStatistics>& files) {
  PackedSteps packed(*storage_);
  std::erase_if(files, [&](const WithoutStatistics& wanted) {
    const IndexedFile& row = table_.file(wanted.file);
    const auto found =
        packed.find({row.step, table_.worker_name(row.worker)}, wanted.bytes);
    if (!found) return false;
    table_.add_packed_statistics(wanted.file, found->file->table, *found->rows,
                                 found->file->ids);
    return true;
  });
  report_broken(packed);
}

void RunIndex::add_statistics(FileId file, const std::string& key,
                              const Result<Bytes>& bytes) {
  if (is_removed(bytes)) return;
  const IndexedFile& row = table_.file(file);
  const Result<IndexFile> content =
      checked_index_file(bytes, {row.step, table_.worker_name(row.worker)},
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
