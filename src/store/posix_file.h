#pragma once

// What the local storage needs of POSIX: a descriptor that closes itself, and
// calls that do not stop half-way.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "smdebug/base/result.h"
#include "smdebug/store/storage.h"

namespace smdebug {

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

  // Closes the file. Fails with `io` where what was written is lost.
  Status close(const std::string& path);

 private:
  int number_ = -1;
};

// The error of the system call that just failed with `number`:
// "cannot open '/runs/a/x': Permission denied".
Error system_error(std::string_view action, std::string_view path, int number);

// Opens for writing, empty; makes the folders that are missing, but not that of
// `there_before`, where one is given: it was removed.
Result<FileDescriptor> create_file(const std::string& path,
                                   const std::string* there_before = nullptr);

struct OpenFile {
  FileDescriptor descriptor;
  std::uint64_t bytes = 0;
};

// A folder that files are read below, as it was when this was made. It may be
// reached through symbolic links; below it none is followed.
class OpenFolder {
 public:
  explicit OpenFolder(const std::string& path);

  // Opens a regular file. Fails with `not_found` where there is none.
  Result<OpenFile> open_file(const std::string& key) const;

 private:
  FileDescriptor open_below(const std::string& key) const;

  const std::string& path_;
  FileDescriptor folder_;
  int reason_ = 0;  // why it is not open
};

Status write_all(const FileDescriptor& file, const std::string& path,
                 std::span<const std::span<const std::byte>> parts);

// From here on bytes are mapped; below, a copy costs less than a mapping and
// its page faults.
inline constexpr std::uint64_t kMappedBytes = 64 << 10;

// Reads `length` bytes, which must be there. Long stretches are mapped.
Result<Bytes> read_bytes(const FileDescriptor& file, const std::string& path,
                         std::uint64_t start, std::uint64_t length);

}  // namespace smdebug
