#include "smdebug/read/file_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "smdebug/base/try.h"
#include "smdebug/store/open_storage.h"

#include "base/crc32c.h"
#include "format/tensor_record.h"
#include "read/file_window.h"
#include "read/name_filter.h"
#include "read/record_reader.h"

namespace smdebug {
namespace {

// The most skipped ranges that are kept; a file can have a million of them.
constexpr std::size_t kMaxSkippedKept = 20;

constexpr std::uint64_t kFramingBytes = kRecordHeadBytes + kRecordTailBytes;

template <typename T>
T load(std::span<const std::byte> bytes, std::uint64_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

Error corrupt(std::string message) {
  return {Error::Code::corrupt, std::move(message)};
}

// The size of the record whose head is `head`. Fails with `corrupt` if `rest`,
// the bytes to the end of the file, do not hold all of it.
Result<std::uint64_t> whole_record_bytes(std::span<const std::byte> head,
                                         std::uint64_t rest,
                                         RecordCheck check) {
  std::uint64_t size = 0;
  if (check == RecordCheck::none && rest >= kFramingBytes) {
    const auto length = load<std::uint64_t>(head, 0);
    if (length > rest - kFramingBytes) {
      return corrupt(
          fmt::format("the file ends before a message of {} bytes", length));
    }
    size = kFramingBytes + length;
  } else {
    SMD_TRY(size, record_bytes(head));
  }
  if (size > rest) {
    return corrupt(
        fmt::format("the file ends after {} of the {} bytes of a "
                    "record",
                    rest, size));
  }
  return size;
}

// The most bytes that are searched for the next record. A file of zeros can
// have the size of a disk and take none of it.
constexpr std::uint64_t kMaxSearchedBytes = std::uint64_t{1} << 30;

constexpr std::uint64_t kSearchedAtOnce = 1 << 20;

}  // namespace

Result<FileReader> FileReader::open(std::string_view path, RecordCheck check) {
  const std::size_t slash = path.rfind('/');
  const std::string_view folder =
      slash == path.npos ? "." : path.substr(0, slash == 0 ? 1 : slash);
  SMD_TRY(auto storage, open_storage(folder));
  return open(std::shared_ptr<const Storage>(std::move(storage)),
              path.substr(slash + 1), check);
}

Result<FileReader> FileReader::open(const Storage& run, std::string_view key,
                                    RecordCheck check) {
  return open(std::shared_ptr<const Storage>(std::shared_ptr<void>(), &run),
              key, check);
}

Result<FileReader> FileReader::open(std::shared_ptr<const Storage> run,
                                    std::string_view key, RecordCheck check) {
  std::string path = fmt::format("{}/{}", run->uri(), key);
  SMD_TRY(std::shared_ptr<FileWindow> file,
          FileWindow::open(std::move(run), key));
  return FileReader(std::move(path), std::move(file), check);
}

Status FileReader::select(const std::vector<std::string>& patterns) {
  SMD_TRY(NameFilter filter, NameFilter::create(patterns));
  filter_ = std::make_shared<const NameFilter>(std::move(filter));
  return {};
}

Result<std::optional<FileTensor>> FileReader::next() {
  while (true) {
    SMD_TRY(auto tensor, next_tensor());
    if (!tensor || !filter_) return tensor;
    SMD_TRY(const bool is_accepted, filter_->accepts(tensor->name));
    if (is_accepted) return tensor;
  }
}

Result<std::optional<FileTensor>> FileReader::next_tensor() {
  while (true) {
    SMD_TRY(const auto record, next_record());
    if (!record) break;
    const auto message =
        record->subspan(kRecordHeadBytes, record->size() - kFramingBytes);
    auto parsed = parse_tensor_message(message);
    if (!parsed && parsed.error().code == Error::Code::corrupt) {
      skip(at_ - record->size(), at_, parsed.error().message);
      continue;
    }
    has_intact_record_ = true;
    if (!parsed) {
      Error error = std::move(parsed).error().within(
          fmt::format("event file '{}': byte {}", path_, at_ - record->size()));
      if (error.code == Error::Code::unsupported) {
        error.detail = Error::Detail::not_a_tensor;
      }
      return error;
    }
    FileTensor tensor{std::string(parsed->tag), parsed->step,
                      parsed->wall_seconds,
                      record_value(*std::move(parsed), file_->piece())};
    return std::optional(std::move(tensor));
  }
  if (!std::exchange(has_intact_record_, true) && skipped_count_ != 0) {
    return no_intact_record();
  }
  return std::optional<FileTensor>();
}

// Moves past the next record that passes the checks, and returns it.
Result<std::optional<std::span<const std::byte>>> FileReader::next_record() {
  while (at_ < file_->file_bytes()) {
    const std::uint64_t start = at_;
    SMD_TRY(const auto head, file_->at(start, kFramingBytes));
    const auto size =
        whole_record_bytes(head, file_->file_bytes() - start, check_);
    if (!size) {
      SMD_TRY(at_, find_record(start + 1));
      skip(start, at_, size.error().message);
      continue;
    }
    SMD_TRY(const auto record, file_->at(start, *size));
    at_ = start + *size;
    if (record.size() < *size) {
      skip(start, file_->file_bytes(), "the file became shorter");
      continue;
    }
    const Status status = check_word(record);
    if (status) return std::optional(record);
    skip(start, at_, status.error().message);
  }
  return std::optional<std::span<const std::byte>>();
}

// Returns the start of the first record at or after `from`, recognized by the
// checksum of its length; the end of the file if there is none. Linear in the
// bytes skipped.
Result<std::uint64_t> FileReader::find_record(std::uint64_t from) {
  const std::uint64_t end = file_->file_bytes();
  const std::uint64_t last = from + std::min(end - from, kMaxSearchedBytes);
  while (from + kFramingBytes <= last) {
    SMD_TRY(const auto piece, file_->at(from, kSearchedAtOnce));
    if (piece.size() < kFramingBytes) break;
    const std::uint64_t places = piece.size() - kFramingBytes + 1;
    for (std::uint64_t at = 0; at < places; ++at) {
      const auto length = load<std::uint64_t>(piece, at);
      if (length > end - (from + at) - kFramingBytes) continue;
      const auto word = load<std::uint32_t>(piece, at + sizeof(length));
      if (word == mask_crc32c(crc32c(piece.subspan(at, sizeof(length))))) {
        return from + at;
      }
    }
    from += places;
  }
  return end;
}

Status FileReader::check_word(std::span<const std::byte> record) const {
  const std::uint64_t end = record.size() - kRecordTailBytes;
  const auto word = load<std::uint32_t>(record, end);
  if (check_ == RecordCheck::none ||
      (check_ == RecordCheck::minimal && word == kConstantPayloadWord)) {
    return {};
  }
  const std::uint32_t expected =
      mask_crc32c(crc32c(record.first(end).subspan(kRecordHeadBytes)));
  if (word == expected) return {};
  return corrupt(
      fmt::format("the message has checksum {:#010x}, but its record states "
                  "{:#010x}",
                  expected, word));
}

void FileReader::skip(std::uint64_t start, std::uint64_t end,
                      std::string what) {
  ++skipped_count_;
  if (skipped_.size() == kMaxSkippedKept) return;
  skipped_.push_back({start, end - start, std::move(what)});
}

Error FileReader::no_intact_record() {
  const SkippedBytes& first = skipped_.front();
  return corrupt(fmt::format(
      "event file '{}': no intact record in its {} bytes; byte {}: {}", path_,
      file_->file_bytes(), first.start, first.what));
}

}  // namespace smdebug
