#pragma once

// `FileWindow` is the part of a file that a sequential reader is looking at. It
// reads the file in pieces, so that a file of any size takes little memory.

#include <cstdint>
#include <memory>
#include <span>

#include "smdebug/base/result.h"
#include "smdebug/store/storage.h"

namespace smdebug {

class __attribute__((visibility("hidden"))) FileWindow {
 public:
  // The storage must outlive this. Fails like `Storage::open`.
  static Result<std::unique_ptr<FileWindow>> open(
      std::shared_ptr<const Storage> storage, std::string_view key);

  // The size of the file when it was opened, or less if it became shorter.
  std::uint64_t file_bytes() const { return file_bytes_; }

  // Returns the next `length` bytes from `start`, fewer at the end of the file.
  // Valid until the next call. Fails with `io`.
  Result<std::span<const std::byte>> at(std::uint64_t start,
                                        std::uint64_t length);

  // Returns the piece of the file that the last result of `at` is in.
  const Bytes& piece() const { return piece_; }

 private:
  FileWindow(std::shared_ptr<const Storage> storage,
             std::unique_ptr<ObjectReader> file, std::uint64_t file_bytes)
      : storage_(std::move(storage)),
        file_(std::move(file)),
        file_bytes_(file_bytes) {}

  std::shared_ptr<const Storage> storage_;
  std::unique_ptr<ObjectReader> file_;
  std::uint64_t file_bytes_ = 0;
  Bytes piece_;
  std::uint64_t start_ = 0;  // of the piece
};

}  // namespace smdebug
