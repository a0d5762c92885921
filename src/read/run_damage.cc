#include "read/run_damage.h"

#include <algorithm>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "smdebug/read/run_folder.h"

#include "base/strings.h"
#include "format/file_names.h"
#include "format/file_sizes.h"
#include "format/run_file.h"

namespace smdebug {
namespace {

// "events" for "events/".
std::string folder_name(std::string_view prefix) {
  return std::string(prefix.substr(0, prefix.find('/')));
}

bool is_missing(const Error& error) {
  return error.code == Error::Code::not_found;
}

// A name that is taken by a link, a pipe or a device. Neither a file nor
// missing, and not listable as a folder.
bool is_no_file(const Storage& storage, std::string_view key) {
  const auto is_file = storage.exists(key);
  return is_file && !*is_file &&
         !storage.check_folder(std::string(key) + "/").ok();
}

Status check_run_file(const Storage& storage) {
  auto bytes = get_object(storage, kRunFileKey, kMaxRunFileBytes);
  if (!bytes) return std::move(bytes).error();
  auto file = parse_run_file(bytes->text());
  if (!file) return std::move(file).error();
  return {};
}

// A later smdebug may write another version.
Status check_progress(const Storage& storage) {
  auto progress = read_run_progress(storage);
  if (progress || progress.error().code == Error::Code::unsupported) return {};
  return std::move(progress).error();
}

Status check_claim(const Storage& storage) {
  auto bytes = get_object(storage, kClaimKey, kMaxClaimBytes);
  if (!bytes) return std::move(bytes).error();
  // The claim of the original is empty.
  if (bytes->size() == 0 || parse_claim(bytes->text())) return {};
  return Error{Error::Code::corrupt,
               "expected the host and the number of a process"};
}

// The end of the last record that an index file has in its event file.
struct RecordsEnd {
  std::uint64_t bytes = 0;  // 0: the index file has no record
  // Whether the event file ends there. One of the original may be longer.
  bool ends_file = false;
};

RecordsEnd end_of_records(const RunTable& table, FileId file) {
  const IndexedFile& index = table.file(file);
  RecordsEnd end;
  for (EntryId id = index.first_entry; id < index.first_entry + index.entries;
       ++id) {
    const IndexEntry& entry = table.entry(id);
    if (!entry.has_record()) continue;
    end.bytes = std::max(end.bytes, entry.start + entry.length);
    end.ends_file = end.ends_file || entry.has_crc;
  }
  return end;
}

// No event file is left of those that the index names. Rules that need only
// statistics judge such a copy as the run itself; an error ends the others.
std::vector<Damage> damage_of_events_folder(const RunTable& table) {
  std::size_t steps = 0;
  for (const auto& [number, step] : table.steps()) {
    steps += std::ranges::any_of(step.files, [&](const FileId file) {
      return end_of_records(table, file).bytes > 0;
    });
  }
  if (steps == 0) return {};
  return {{folder_name(kEventsPrefix),
           fmt::format("missing: the values of {} cannot be read",
                       count_text(steps, "step")),
           false}};
}

// The missing index files of existing event files. A writer that was killed may
// have left its last event file without one.
std::vector<Damage> missing_index_files(const Storage& storage,
                                        const std::set<std::string>& indexed,
                                        bool has_ended) {
  const auto events = storage.list(kEventsPrefix);
  if (!events) return {};
  const auto last =
      indexed.empty() ? std::nullopt : parse_step_file_key(*indexed.rbegin());
  std::vector<Damage> found;
  for (const ObjectEntry& file : *events) {
    const auto name = parse_step_file_key(file.key);
    if (!name || !file.is_file) continue;
    if (!has_ended && (!last || name->step >= last->step)) continue;
    std::string key = index_file_key(name->step, name->worker);
    if (indexed.contains(key)) continue;
    found.push_back(
        {std::move(key),
         fmt::format(
             "missing: step {} is left out, although it has an event file",
             name->step)});
  }
  return found;
}

std::vector<Damage> damage_of_index(const Storage& storage,
                                    const RunProgress& progress,
                                    bool has_ended) {
  const auto listed = storage.list(kIndexPrefix);
  if (!listed) return {};
  std::set<std::string> keys;
  std::set<Step> steps;
  for (const ObjectEntry& file : *listed) {
    const auto name = parse_step_file_key(file.key);
    if (!name) continue;
    keys.insert(file.key);
    steps.insert(name->step);
  }
  if (keys.empty()) {
    return {{folder_name(kIndexPrefix),
             fmt::format("missing, but the training published {}: none of "
                         "them can be read",
                         count_text(progress.steps, "step"))}};
  }
  // A size limit removes steps.
  if (progress.removed_steps > 0 || steps.size() >= progress.steps) return {};
  return missing_index_files(storage, keys, has_ended);
}

bool is_empty_folder(const Storage& storage, std::string_view folder) {
  const auto listed = storage.list(folder);
  return listed && listed->empty();
}

}  // namespace

bool has_unreadable_folder(const Storage& storage) {
  return !storage.check_folder(kIndexPrefix).ok() ||
         !storage.check_folder(kCollectionsPrefix).ok();
}

bool has_published(const Storage& storage) {
  const auto progress = read_run_progress(storage);
  return progress && progress->steps > 0;
}

std::vector<Damage> damage_beside_index(const Storage& storage) {
  std::vector<Damage> found;
  for (const std::string_view folder :
       {kIndexPrefix, kEventsPrefix, std::string_view("attempts/"),
        kFactsPrefix, kSeriesPrefix, std::string_view("collections/"),
        kCollectionsPrefix}) {
    const Status status = storage.check_folder(folder);
    if (status || (folder == kCollectionsPrefix && !found.empty() &&
                   found.back().key == "collections")) {
      continue;
    }
    found.push_back({std::string(folder.substr(0, folder.size() - 1)),
                     status.error().message});
  }
  for (const std::string_view key :
       {kRunFileKey, kProgressKey, kClaimKey, kEndMarkerKey}) {
    Status status;
    if (is_no_file(storage, key)) {
      status =
          Error{Error::Code::io, "a link or something else that is not read"};
    } else if (key == kRunFileKey) {
      status = check_run_file(storage);
    } else if (key == kProgressKey) {
      status = check_progress(storage);
    } else if (key == kClaimKey) {
      status = check_claim(storage);
    }
    if (!status && !is_missing(status.error())) {
      found.push_back({std::string(key), status.error().message, false});
    }
  }
  return found;
}

bool was_removed(const Storage& storage, const RunTable& table, FileId file) {
  const IndexedFile& index = table.file(file);
  const auto has_index = storage.exists(
      index_file_key(index.step, table.worker_name(index.worker)));
  return has_index.ok() && !*has_index;
}

std::vector<Damage> damage_of_event_files(const Storage& storage,
                                          const RunTable& table) {
  const auto listed = storage.list(kEventsPrefix);
  if (!listed) return {};
  if (listed->empty()) return damage_of_events_folder(table);
  std::unordered_map<std::string_view, std::uint64_t> bytes_of;
  for (const ObjectEntry& file : *listed)
    if (file.is_file) bytes_of.emplace(file.key, file.bytes);
  std::vector<Damage> found;
  for (const auto& [number, step] : table.steps()) {
    for (const FileId file : step.files) {
      const RecordsEnd expected = end_of_records(table, file);
      if (expected.bytes == 0) continue;
      std::string key = table.event_file(file);
      const auto there = bytes_of.find(key);
      if (there == bytes_of.end()) {
        if (was_removed(storage, table, file)) continue;
        found.push_back({std::move(key), "missing"});
      } else if (there->second < expected.bytes ||
                 (there->second > expected.bytes && expected.ends_file)) {
        found.push_back(
            {std::move(key), fmt::format("{} bytes, but its index expects {}",
                                         there->second, expected.bytes)});
      }
    }
  }
  return found;
}

std::vector<Damage> damage_by_progress(const Storage& storage, bool has_ended) {
  const auto progress = read_run_progress(storage);
  if (!progress || progress->steps == 0) return {};
  std::vector<Damage> found = damage_of_index(storage, *progress, has_ended);
  if (is_empty_folder(storage, kCollectionsPrefix)) {
    found.push_back({folder_name(kCollectionsPrefix),
                     "missing: no collection selects tensors, so most rules "
                     "find nothing to judge"});
  }
  if (const auto there = storage.exists(kRunFileKey); there && !*there) {
    found.push_back({std::string(kRunFileKey),
                     "missing: the command, the versions and the overhead of "
                     "the training are unknown",
                     false});
  }
  return found;
}

}  // namespace smdebug
