// Syncs files and folders: what a power failure keeps.

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "smdebug/base/try.h"

#include "store/local_files.h"

namespace smdebug {
namespace {

// Each step has a folder of its own, which is needed once. A folder that is
// forgotten is synced again.
constexpr std::size_t kMostRemembered = 64;

template <typename Sync>
int sync_whole(Sync sync, const FileDescriptor& file) {
  int failed = sync(file.number());
  while (failed != 0 && errno == EINTR) failed = sync(file.number());
  return failed;
}

Error not_synced(const std::string& path, int reason) {
  Error error = system_error("sync", path, reason);
  if (reason == EINVAL || reason == ENOSYS) {
    error.message +=
        "; this file system cannot make files durable: write to another one, "
        "or record with durability 'process'";
  }
  return error;
}

// A folder that is open by its path only cannot be synced.
FileDescriptor open_to_sync(const FileDescriptor& folder, const char* name) {
  int number = 0;
  do {
    number =
        ::openat(folder.number(), name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  } while (number < 0 && errno == EINTR);
  return FileDescriptor(number);
}

}  // namespace

Status sync_file(const FileDescriptor& file, const std::string& path) {
  // The size of a new file counts as its content, its times do not.
  if (sync_whole(::fdatasync, file) != 0) return not_synced(path, errno);
  return {};
}

Status sync_folder(const FileDescriptor& folder, const std::string& path) {
  const FileDescriptor names = open_to_sync(folder, ".");
  if (!names.is_open() || sync_whole(::fsync, names) != 0)
    return not_synced(path, errno);
  return {};
}

Status sync_folders_above(const FileDescriptor& folder,
                          const std::string& path) {
  struct stat below, above;
  if (fstat(folder.number(), &below) != 0) return not_synced(path, errno);
  FileDescriptor parent = open_to_sync(folder, "..");
  while (parent.is_open()) {
    if (fstat(parent.number(), &above) != 0) return not_synced(path, errno);
    const bool is_mount_point = above.st_dev != below.st_dev;
    const bool is_top = above.st_ino == below.st_ino;
    if (is_mount_point || is_top) return {};
    if (sync_whole(::fsync, parent) != 0) return not_synced(path, errno);
    below = above;
    parent = open_to_sync(parent, "..");
  }
  if (errno != EACCES) return not_synced(path, errno);
  return {};
}

bool SyncedFolders::contains(const std::string& key) const {
  const std::lock_guard lock(mutex_);
  return keys_.contains(key);
}

void SyncedFolders::add(const std::string& key) {
  const std::lock_guard lock(mutex_);
  if (keys_.size() >= kMostRemembered) keys_.clear();
  keys_.insert(key);
}

}  // namespace smdebug
