#pragma once

// A file that is being written. It has a temporary name beside its final one
// until it is complete, so readers never see a part of it. The file is always a
// new one: a link, a pipe or another file with the temporary name is removed,
// not opened.

#include <cstdint>
#include <span>
#include <string>

#include "smdebug/base/result.h"

#include "store/local_files.h"

namespace smdebug {

// Creates the file `name` in `folder` for writing. Not open, with `errno` set,
// if the name is taken, and on any other failure.
FileDescriptor create_new_file(const FileDescriptor& folder,
                               const std::string& name, FileAccess access);

class UnfinishedFile {
 public:
  // `path` is the final path of a file directly in `folder`; its temporary name
  // ends with `suffix`. On failure, the file is not open and `errno` is set.
  UnfinishedFile(FileDescriptor folder, std::string path,
                 const std::string& suffix, FileAccess access, FileSync sync);
  UnfinishedFile(UnfinishedFile&&) noexcept = default;
  ~UnfinishedFile() { discard(); }

  bool is_open() const { return file_.is_open(); }

  // Fails with `io`.
  Status append(std::span<const std::span<const std::byte>> parts);

  // Gives the file its final name, in place of an older file. Fails with `io`,
  // and discards the file then, unless it has already replaced an older one.
  Status publish();

  // Does the same if the final name is free; returns whether it was.
  Result<bool> publish_exclusive();

  // Removes the file if it has not been published.
  void discard();

 private:
  const char* final_name() const { return path_.c_str() + name_start_; }
  const char* unfinished_name() const {
    return unfinished_.c_str() + name_start_;
  }

  bool is_name_taken() const;
  // Closes the file, and syncs it first if changes are to be kept.
  Status finish();
  // Syncs the folder if changes are to be kept. If that fails, removes a name
  // that is new.
  Status keep_name(bool is_new);

  FileDescriptor folder_;
  std::string path_, unfinished_;
  std::size_t name_start_ = 0;  // in both paths
  FileSync sync_ = FileSync::never;
  std::uint64_t unsynced_bytes_ = 0;
  FileDescriptor file_;
};

}  // namespace smdebug
