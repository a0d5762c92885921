#include "capture/event_file.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "smdebug/base/try.h"
#include "smdebug/reduce/statistics_kernel.h"

#include "base/crc32c.h"
#include "format/string_elements.h"
#include "reduce/gather.h"

namespace smdebug {
namespace {

// The bytes passed to the storage together: enough to make the cost of a write
// call negligible.
constexpr std::size_t kBatchBytes = std::size_t{256} << 10;

constexpr std::uint64_t kStringPieceBytes = std::uint64_t{1} << 20;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

}  // namespace

Result<WrittenRecord> EventFile::append(const TensorRecordEncoder& encoder,
                                        const RecordStamp& stamp,
                                        const TensorView& tensor) {
  SMD_CHECK_OK(open());
  head_.clear();
  tail_.clear();
  WrittenRecord written;
  written.start = offset_;
  written.bytes = encoder.encode(stamp, head_, tail_);
  SMD_CHECK_OK(put(bytes_of(head_)));
  std::uint32_t message_crc = crc32c(bytes_of(head_).subspan(kRecordHeadBytes));
  SMD_CHECK_OK(is_string(tensor.dtype)
                   ? put_strings(tensor, written, message_crc)
                   : put_elements(tensor, written, message_crc));
  set_word(tail_, message_crc);
  SMD_CHECK_OK(put(bytes_of(tail_)));
  offset_ += written.bytes;
  return written;
}

Status EventFile::put_elements(const TensorView& tensor, WrittenRecord& written,
                               std::uint32_t& message_crc) {
  Pieces pieces(tensor);
  const std::size_t element_bytes = dtype_bytes(tensor.dtype);
  for (auto piece = pieces.next(); !piece.empty(); piece = pieces.next()) {
    written.statistics.merge(statistics_of(tensor.dtype, piece.data(),
                                           piece.size() / element_bytes));
    SMD_CHECK_OK(put_piece(piece, written, message_crc));
  }
  return {};
}

Status EventFile::put_strings(const TensorView& tensor, WrittenRecord& written,
                              std::uint32_t& message_crc) {
  StringElements strings(tensor.strings());
  std::vector<std::byte> piece(
      std::min(string_elements_bytes(tensor.strings()), kStringPieceBytes));
  while (const std::size_t bytes = strings.next(piece.data(), piece.size())) {
    SMD_CHECK_OK(
        put_piece(std::span(piece).first(bytes), written, message_crc));
  }
  written.statistics.count = static_cast<std::uint64_t>(tensor.size());
  return {};
}

Status EventFile::put_piece(std::span<const std::byte> piece,
                            WrittenRecord& written,
                            std::uint32_t& message_crc) {
  written.payload_crc = crc32c(piece, written.payload_crc);
  if (word_ == Checksum::crc32c) message_crc = crc32c(piece, message_crc);
  return put(piece);
}

Result<WrittenRecord> EventFile::append(const std::string& record) {
  SMD_CHECK_OK(open());
  WrittenRecord written;
  written.start = offset_;
  written.bytes = record.size();
  tail_ = record.substr(kRecordHeadBytes);
  set_word(tail_, 0);
  SMD_CHECK_OK(put(bytes_of(record).first(kRecordHeadBytes)));
  SMD_CHECK_OK(put(bytes_of(tail_)));
  offset_ += written.bytes;
  return written;
}

// Replaces the constant word at the end of `tail` by the checksum of the
// message, if configured. `message_crc` covers the bytes before `tail`.
void EventFile::set_word(std::string& tail, std::uint32_t message_crc) const {
  if (word_ == Checksum::crc32c) set_true_checksum(tail, message_crc);
}

Status EventFile::open() {
  if (object_) return {};
  SMD_TRY(object_, storage_->create(key_));
  return {};
}

Status EventFile::put(std::span<const std::byte> bytes) {
  if (pending_.size() + bytes.size() <= kBatchBytes) {
    pending_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return {};
  }
  const std::array parts = {bytes_of(pending_), bytes};
  SMD_CHECK_OK(object_->append(parts));
  pending_.clear();
  return {};
}

Status EventFile::flush() {
  if (!object_ || pending_.empty()) return {};
  const std::array parts = {bytes_of(pending_)};
  SMD_CHECK_OK(object_->append(parts));
  pending_.clear();
  return {};
}

Status EventFile::commit() {
  if (!object_) return {};
  SMD_CHECK_OK(flush());
  return object_->commit();
}

void EventFile::abort() {
  if (object_) object_->abort();
}

void EventFile::forget() {
  // Destroying it would remove the file.
  static_cast<void>(object_.release());
}

}  // namespace smdebug
