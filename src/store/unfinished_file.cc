#include "store/unfinished_file.h"

#include <utility>

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>
#include <unistd.h>

namespace smdebug {
namespace {

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
                               const std::string& suffix, FileAccess access)
    : folder_(std::move(folder)),
      path_(std::move(path)),
      unfinished_(path_ + suffix),
      name_start_(path_.rfind('/') + 1) {
  if (folder_.is_open()) {
    file_ = create_anew(folder_, unfinished_name(), access);
  }
}

Status UnfinishedFile::append(
    std::span<const std::span<const std::byte>> parts) {
  return write_all(file_, path_, parts);
}

Status UnfinishedFile::publish() {
  Status status = file_.close(path_);
  if (status && renameat(folder_.number(), unfinished_name(), folder_.number(),
                         final_name()) != 0) {
    status = errno != ENOENT
                 ? system_error("finish", path_, errno)
                 : Error{Error::Code::io,
                         fmt::format("cannot finish '{}': its folder was "
                                     "removed while it was written",
                                     path_)};
  }
  if (!status) unlinkat(folder_.number(), unfinished_name(), 0);
  return status;
}

// Unlike a rename, a link fails if the name is taken.
Result<bool> UnfinishedFile::publish_exclusive() {
  Status status = file_.close(path_);
  int reason = 0;
  if (status && linkat(folder_.number(), unfinished_name(), folder_.number(),
                       final_name(), 0) != 0) {
    reason = errno;
  }
  unlinkat(folder_.number(), unfinished_name(), 0);
  if (!status) return std::move(status).error();
  if (reason == EEXIST) return false;
  if (reason != 0) return system_error("create", path_, reason);
  return true;
}

void UnfinishedFile::discard() {
  if (!file_.is_open()) return;
  file_ = FileDescriptor();
  unlinkat(folder_.number(), unfinished_name(), 0);
}

}  // namespace smdebug
