#include "read/run_damage.h"

#include <string>
#include <utility>

#include "smdebug/read/run_folder.h"

#include "format/file_names.h"
#include "format/file_sizes.h"
#include "format/run_file.h"

namespace smdebug {
namespace {

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

}  // namespace

bool has_unreadable_folder(const Storage& storage) {
  return !storage.check_folder(kIndexPrefix).ok() ||
         !storage.check_folder(kCollectionsPrefix).ok();
}

std::vector<Damage> damage_beside_index(const Storage& storage) {
  std::vector<Damage> found;
  for (const std::string_view folder :
       {kIndexPrefix, kEventsPrefix, std::string_view("attempts/"),
        std::string_view("collections/"), kCollectionsPrefix}) {
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
      found.push_back({std::string(key), status.error().message});
    }
  }
  return found;
}

}  // namespace smdebug
