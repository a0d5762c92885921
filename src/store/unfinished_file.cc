#include "store/unfinished_file.h"

#include <utility>

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "smdebug/base/try.h"

namespace smdebug {
namespace {

// A sync of this much ends long before the limit on the wait for a storage.
constexpr std::uint64_t kMostUnsyncedBytes = std::uint64_t{64} << 20;

// O_EXCL: whatever has the name already is not ours to write into.
constexpr int kNewFile = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;

// A rival that creates the name again and again does not stop the training.
constexpr int kTries = 10;

// Removes whatever has the name.
FileDescriptor create_anew(const FileDescriptor& folder, const char* name,
                           FileAccess access) {
  for (int i = 0; i < kTries; ++i) {
    FileDescriptor file = create_new_file(folder, name, access);
    if (file.is_open() || errno != EEXIST) return file;
    if (unlinkat(folder.number(), name, 0) != 0 && errno != ENOENT) break;
    errno = EEXIST;
  }
  return FileDescriptor();
}

}  // namespace

FileDescriptor create_new_file(const FileDescriptor& folder,
                               const std::string& name, FileAccess access) {
  if (!folder.is_open()) return FileDescriptor();
  const mode_t mode = access == FileAccess::owner_only ? 0600 : 0666;
  int number = ::openat(folder.number(), name.c_str(), kNewFile, mode);
  while (number < 0 && errno == EINTR)
    number = ::openat(folder.number(), name.c_str(), kNewFile, mode);
  return FileDescriptor(number);
}

UnfinishedFile::UnfinishedFile(FileDescriptor folder, std::string path,
                               const std::string& suffix, FileAccess access,
                               FileSync sync)
    : folder_(std::move(folder)),
      path_(std::move(path)),
      unfinished_(path_ + suffix),
      name_start_(path_.rfind('/') + 1),
      sync_(sync) {
  if (folder_.is_open()) {
    file_ = create_anew(folder_, unfinished_name(), access);
  }
}

Status UnfinishedFile::append(
    std::span<const std::span<const std::byte>> parts) {
  SMD_CHECK_OK(write_all(file_, path_, parts));
  if (sync_ == FileSync::never) return {};
  for (const auto& part : parts) unsynced_bytes_ += part.size();
  if (unsynced_bytes_ < kMostUnsyncedBytes) return {};
  unsynced_bytes_ = 0;
  return sync_file(file_, path_);
}

Status UnfinishedFile::finish() {
  if (sync_ == FileSync::each_call) SMD_CHECK_OK(sync_file(file_, path_));
  return file_.close(path_);
}

Status UnfinishedFile::keep_name(bool is_new) {
  if (sync_ == FileSync::never) return {};
  Status status = sync_folder(folder_, path_);
  if (!status && is_new) unlinkat(folder_.number(), final_name(), 0);
  return status;
}

bool UnfinishedFile::is_name_taken() const {
  struct stat status;
  return fstatat(folder_.number(), final_name(), &status,
                 AT_SYMLINK_NOFOLLOW) == 0;
}

Status UnfinishedFile::publish() {
  const bool is_new = sync_ == FileSync::each_call && !is_name_taken();
  Status status = finish();
  if (status && renameat(folder_.number(), unfinished_name(), folder_.number(),
                         final_name()) != 0) {
    status = errno != ENOENT
                 ? system_error("finish", path_, errno)
                 : Error{Error::Code::io,
                         fmt::format("cannot finish '{}': its folder was "
                                     "removed while it was written",
                                     path_)};
  }
  if (!status) {
    unlinkat(folder_.number(), unfinished_name(), 0);
    return status;
  }
  return keep_name(is_new);
}

// Unlike a rename, a link fails if the name is taken.
Result<bool> UnfinishedFile::publish_exclusive() {
  Status status = finish();
  int reason = 0;
  if (status && linkat(folder_.number(), unfinished_name(), folder_.number(),
                       final_name(), 0) != 0) {
    reason = errno;
  }
  unlinkat(folder_.number(), unfinished_name(), 0);
  if (!status) return std::move(status).error();
  if (reason == EEXIST) return false;
  if (reason != 0) return system_error("create", path_, reason);
  SMD_CHECK_OK(keep_name(/*is_new=*/true));
  return true;
}

void UnfinishedFile::discard() {
  if (!file_.is_open()) return;
  file_ = FileDescriptor();
  unlinkat(folder_.number(), unfinished_name(), 0);
}

}  // namespace smdebug
