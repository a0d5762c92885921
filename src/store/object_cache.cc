#include "store/object_cache.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "smdebug/base/try.h"

#include "base/crc32c.h"
#include "base/environment.h"
#include "net/hmac.h"
#include "store/backends.h"
#include "store/local_files.h"
#include "store/unfinished_file.h"

namespace smdebug {
namespace {

// The space of a small file on a disk.
constexpr std::uint64_t kBlockBytes = 4096;

// An unfinished file that is older than the newest one by this much belongs to
// a process that was killed.
constexpr std::chrono::hours kLongestWrite{1};

// Ends each file. At the end, so that the elements before it stay aligned.
struct EntryEnd {
  char magic[4] = {'s', 'm', 'd', 'c'};
  std::uint32_t crc32c = 0;  // of the key and the bytes
  std::uint64_t bytes = 0;

  friend bool operator==(const EntryEnd&, const EntryEnd&) = default;
};

EntryEnd end_of_entry(std::string_view key, std::span<const std::byte> bytes) {
  EntryEnd end;
  end.crc32c = crc32c(bytes, crc32c(std::as_bytes(std::span(key))));
  end.bytes = bytes.size();
  return end;
}

// The file of an entry. 256 folders keep each of them small.
std::string entry_key(std::string_view name) {
  std::string key = hex_text(sha256(name));
  key.insert(2, "/");
  return key;
}

struct KeptFile {
  std::filesystem::path path;
  std::filesystem::file_time_type used;
  std::uint64_t bytes = 0;
};

// The files of all entries, and those that killed processes left. Skips what
// disappears meanwhile.
std::vector<KeptFile> kept_files(const std::string& folder) {
  std::vector<KeptFile> files;
  std::error_code ended;
  std::filesystem::recursive_directory_iterator each(folder, ended), end;
  for (; !ended && each != end; each.increment(ended)) {
    std::error_code gone;
    if (!each->is_regular_file(gone) || gone) continue;
    const std::uint64_t bytes = each->file_size(gone);
    if (gone) continue;
    const auto used = each->last_write_time(gone);
    if (gone) continue;
    files.push_back({each->path(), used,
                     (bytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes});
  }
  return files;
}

}  // namespace

ObjectCache::ObjectCache(const std::string& parent, std::uint64_t max_bytes,
                         Logger& logger)
    : folder_(parent + "/smdebug-objects"),
      max_bytes_(max_bytes),
      logger_(logger),
      uncounted_bytes_(max_bytes) {}  // the first entry counts the others

std::optional<Bytes> ObjectCache::find(std::string_view name,
                                       std::uint64_t bytes) {
  if (!is_usable_) return std::nullopt;
  const auto is_there = has_folder();
  if (!is_there) give_up(is_there.error());
  if (!is_there || !*is_there) return std::nullopt;
  const std::string key = entry_key(name);
  const auto file = OpenFolder(folder_).open_file(key);
  if (!file) return std::nullopt;
  const std::string path = fmt::format("{}/{}", folder_, key);
  if (file->bytes == bytes + sizeof(EntryEnd)) {
    const auto read = read_bytes(file->descriptor, path, 0, file->bytes);
    if (!read) return std::nullopt;
    const auto content = read->span().first(bytes);
    EntryEnd end;
    std::memcpy(&end, read->data() + bytes, sizeof end);
    if (end == end_of_entry(key, content)) {
      futimens(file->descriptor.number(), nullptr);  // it was used now
      return Bytes(read->owner(), content, read->kind());
    }
  }
  ::unlink(path.c_str());
  return std::nullopt;
}

void ObjectCache::put(std::string_view name, std::span<const std::byte> bytes) {
  if (!is_usable_ || bytes.size() > max_bytes_ / 8) return;
  const Status status = write(entry_key(name), bytes);
  if (!status) return give_up(status.error());
  note_written(bytes.size() + kBlockBytes);
}

void ObjectCache::give_up(const Error& error) {
  if (!is_usable_.exchange(false)) return;
  logger_.warning(
      fmt::format("SMDEBUG_CACHE_DIR: {}; reading continues without this cache",
                  error.message));
}

// Objects may be secret, and a folder of someone else could hold forged ones.
Result<bool> ObjectCache::has_folder() {
  if (is_checked_) return true;
  struct stat status;
  if (::lstat(folder_.c_str(), &status) != 0) {
    if (errno == ENOENT) return false;
    return system_error("open", folder_, errno);
  }
  if (!S_ISDIR(status.st_mode) || status.st_uid != ::geteuid() ||
      (status.st_mode & 077) != 0) {
    return Error{Error::Code::io,
                 fmt::format("'{}' is not a folder that only this user can "
                             "enter: remove it, or choose another place",
                             folder_)};
  }
  is_checked_ = true;
  return true;
}

Status ObjectCache::write(const std::string& key,
                          std::span<const std::byte> bytes) {
  if (!is_checked_) {
    SMD_CHECK_OK(create_folders(folder_, FileAccess::owner_only));
    SMD_TRY(const bool is_there, has_folder());
    if (!is_there) return system_error("create", folder_, ENOENT);
  }
  const OpenFolder root(folder_);
  SMD_TRY(FileDescriptor folder,
          root.make_folder(folder_part(key), FileAccess::owner_only, nullptr));
  const std::string path = fmt::format("{}/{}", folder_, key);
  // Another process, thread or cache may write the same entry.
  static std::atomic<std::uint64_t> writes = 0;
  UnfinishedFile file(std::move(folder), path,
                      fmt::format(".{}-{}-{}{}", host_name(), process_id(),
                                  ++writes, kUnfinishedSuffix),
                      FileAccess::owner_only, FileSync::never);
  if (!file.is_open()) return system_error("create", path, errno);
  const EntryEnd end = end_of_entry(key, bytes);
  const std::span<const std::byte> parts[] = {
      bytes, std::as_bytes(std::span(&end, 1))};
  SMD_CHECK_OK(file.append(parts));
  return file.publish();
}

void ObjectCache::note_written(std::uint64_t bytes) {
  if (uncounted_bytes_ += bytes; uncounted_bytes_ < max_bytes_ / 16) return;
  if (is_counting_.exchange(true)) return;
  uncounted_bytes_ = 0;
  remove_least_recent();
  is_counting_ = false;
}

void ObjectCache::remove_least_recent() const {
  std::vector<KeptFile> files = kept_files(folder_);
  std::uint64_t bytes = 0;
  for (const KeptFile& file : files) bytes += file.bytes;
  if (bytes <= max_bytes_) return;
  // Somewhat more than needed, so that the next entries need no count.
  const std::uint64_t wanted = max_bytes_ - max_bytes_ / 8;
  std::ranges::sort(files, {}, &KeptFile::used);
  const auto newest = files.back().used;
  for (const KeptFile& file : files) {
    if (bytes <= wanted) return;
    const bool is_unfinished = file.path.extension() == kUnfinishedSuffix;
    if (is_unfinished && newest - file.used < kLongestWrite) continue;
    std::error_code gone;
    std::filesystem::remove(file.path, gone);
    bytes -= file.bytes;
  }
}

}  // namespace smdebug
