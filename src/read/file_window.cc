#include "read/file_window.h"

#include <algorithm>
#include <string>
#include <utility>

#include "smdebug/base/try.h"

namespace smdebug {
namespace {

constexpr std::uint64_t kPieceBytes = 1 << 20;

Result<std::uint64_t> bytes_of_file(const Storage& storage,
                                    std::string_view key) {
  SMD_TRY(const auto listed, storage.list(key));
  if (listed.empty() || listed.front().key != key) {
    return Error{Error::Code::not_found, "no file '" + std::string(key) +
                                             "' in '" + storage.uri() + "'"};
  }
  return listed.front().bytes;
}

}  // namespace

Result<std::unique_ptr<FileWindow>> FileWindow::open(
    std::shared_ptr<const Storage> storage, std::string_view key) {
  SMD_TRY(std::unique_ptr<ObjectReader> file, storage->open(key));
  SMD_TRY(const std::uint64_t bytes, bytes_of_file(*storage, key));
  return std::unique_ptr<FileWindow>(
      new FileWindow(std::move(storage), std::move(file), bytes));
}

Result<std::span<const std::byte>> FileWindow::at(std::uint64_t start,
                                                  std::uint64_t length) {
  start = std::min(start, file_bytes_);
  length = std::min(length, file_bytes_ - start);
  if (start < start_ || start + length > start_ + piece_.size()) {
    const ByteRange range{start, std::max(length, kPieceBytes)};
    SMD_TRY(auto parts, file_->read({&range, 1}));
    piece_ = std::move(parts.front());
    start_ = start;
    if (piece_.size() < length) {
      length = piece_.size();
      file_bytes_ = start + length;
    }
  }
  return piece_.span().subspan(start - start_, length);
}

}  // namespace smdebug
