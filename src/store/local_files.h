#pragma once

// The system calls of the local storage: files and folders that close
// themselves, calls that retry when interrupted, reading of many ranges,
// syncing (local_sync.cc), and listing (local_list.cc).

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "smdebug/base/result.h"
#include "smdebug/store/open_storage.h"
#include "smdebug/store/storage.h"

namespace smdebug {

class SyncedFolders;

class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int number) : number_(number) {}
  FileDescriptor(FileDescriptor&& other) noexcept : number_(other.release()) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;
  ~FileDescriptor();

  int number() const { return number_; }
  bool is_open() const { return number_ >= 0; }
  int release() { return std::exchange(number_, -1); }

  // Closes the file. Fails with `io` if written bytes were lost.
  Status close(const std::string& path);

 private:
  int number_ = -1;
};

// Returns the error of a system call that failed with `number`:
// "cannot open '/runs/a/x': Permission denied". For a full disk, adds what to
// do.
Error system_error(std::string_view action, std::string_view path, int number);

// Returns the part of a key before its last slash: "a/b" for "a/b/c". Empty if
// there is none.
std::string folder_part(std::string_view key);

// Creates a folder and those above it, unless they exist. Fails with `io`.
Status create_folders(const std::string& path, FileAccess access);

struct OpenFile {
  FileDescriptor descriptor;
  std::uint64_t bytes = 0;
};

// A folder whose files are read or written. It remains the same folder even if
// its path changes. The path to it may contain symbolic links; below it, none
// are followed.
class OpenFolder {
 public:
  // `path` must outlive this.
  explicit OpenFolder(const std::string& path);

  // Opens a regular file. Fails with `not_found` if there is none.
  Result<OpenFile> open_file(const std::string& key) const;

  // Opens the folder `key`, or this one if `key` is empty, to list it. On
  // failure, sets `errno`: ELOOP or ENOTDIR for a link.
  FileDescriptor open_folder(const std::string& key) const;

  // Opens the folder `key` to look up or remove files in it. Needs no
  // permission to list it.
  FileDescriptor open_path(const std::string& key) const;

  // Opens the folder `key` to create files in it, and creates it if it is
  // missing. On failure, not open, and sets `errno`, like `open_folder`. Unless
  // `synced` is null, a power failure keeps the folder and those above it;
  // fails with `io` if they cannot be synced.
  Result<FileDescriptor> make_folder(const std::string& key, FileAccess access,
                                     SyncedFolders* synced) const;

  // Returns whether only the owner of the folder can enter it.
  bool is_for_owner_only() const;

  // Returns 0 if the folder is open, otherwise the error number.
  int reason() const { return reason_; }

 private:
  FileDescriptor open_below(const std::string& key, int flags) const;

  const std::string& path_;
  FileDescriptor folder_;
  int reason_ = 0;  // the error if it is not open
};

// Makes the content of a file durable. Fails with `io`: the content may be lost
// then, even if a later call succeeds.
Status sync_file(const FileDescriptor& file, const std::string& path);

// Makes the names in a folder durable, which may be opened by its path only.
// Fails with `io`.
Status sync_folder(const FileDescriptor& folder, const std::string& path);

// Remembers the folders whose own names are durable, so that each is synced
// once. Safe to use from several threads.
class SyncedFolders {
 public:
  bool contains(const std::string& key) const;

  // Notes that a power failure keeps the name of the folder `key`.
  void add(const std::string& key);

 private:
  mutable std::mutex mutex_;
  std::set<std::string> keys_;
};

// Makes the names of the folder and of those above it durable, up to the mount
// point. Someone else may have just created them. Skips those that this user
// may not open: another user created them. Fails with `io`.
Status sync_folders_above(const FileDescriptor& folder,
                          const std::string& path);

Status write_all(const FileDescriptor& file, const std::string& path,
                 std::span<const std::span<const std::byte>> parts);

// Ranges of this size and more have their own block, which their owner may
// modify and free. For smaller ones, fewer calls count more.
inline constexpr std::uint64_t kSeparateBytes = 64 << 10;

// Reads `length` bytes, which must exist. Fails with `io`, also if the file
// became shorter or there is no memory for them.
Result<Bytes> read_bytes(const FileDescriptor& file, const std::string& path,
                         std::uint64_t start, std::uint64_t length);

// Returns the part of a range that is within a file of `file_bytes` bytes.
ByteRange cut_range(const ByteRange& range, std::uint64_t file_bytes);

// Reads many ranges of a file, cut short at its end. Small ranges that are
// close together are read in one call and share a block. Fails with `io`.
Result<std::vector<Bytes>> read_ranges(const OpenFile& file,
                                       const std::string& path,
                                       std::span<const ByteRange> ranges);

// Returns the files below the folder `root`, as `Storage::list` does. Does not
// open folders without matching keys. Omits files and folders that disappear
// during the call. Reports folders that cannot be listed as no files.
Result<std::vector<ObjectEntry>> list_files(const std::string& root,
                                            std::string_view prefix,
                                            std::string_view after);

// Succeeds if the folder `key` below `root` is missing or can be listed, as
// `Storage::check_folder` does.
Status check_listable(const std::string& root, const std::string& key);

// Returns a number that changes with the names in a folder, which may be
// missing. Returns nothing if the folder changed so recently that another
// change could have the same time stamp. `now_seconds` is wall time.
std::optional<std::uint64_t> version_of_folder(const std::string& path,
                                               double now_seconds);

}  // namespace smdebug
