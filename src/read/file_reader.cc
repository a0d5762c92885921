#include "smdebug/read/file_reader.h"

#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "smdebug/store/open_storage.h"

#include "base/crc32c.h"
#include "format/tensor_record.h"
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

// The size of the record at the start of `bytes`. Fails with `corrupt` if
// `bytes` does not hold all of it.
Result<std::uint64_t> whole_record_bytes(std::span<const std::byte> bytes,
                                         RecordCheck check) {
  std::uint64_t size = 0;
  if (check == RecordCheck::none && bytes.size() >= kFramingBytes) {
    const auto length = load<std::uint64_t>(bytes, 0);
    if (length > bytes.size() - kFramingBytes) {
      return corrupt(
          fmt::format("the file ends before a message of {} bytes", length));
    }
    size = kFramingBytes + length;
  } else {
    SMD_TRY(size, record_bytes(bytes));
  }
  if (size > bytes.size()) {
    return corrupt(
        fmt::format("the file ends after {} of the {} bytes of a "
                    "record",
                    bytes.size(), size));
  }
  return size;
}

// The start of the first record at or after `from`, recognized by the checksum
// of its length; the end of the file if there is none. Linear in the bytes
// skipped.
std::uint64_t find_record(std::span<const std::byte> file, std::uint64_t from) {
  for (std::uint64_t at = from; at + kFramingBytes <= file.size(); ++at) {
    const auto length = load<std::uint64_t>(file, at);
    if (length > file.size() - at - kFramingBytes) continue;
    const auto word = load<std::uint32_t>(file, at + sizeof(length));
    if (word == mask_crc32c(crc32c(file.subspan(at, sizeof(length)))))
      return at;
  }
  return file.size();
}

}  // namespace

Result<FileReader> FileReader::open(std::string_view path, RecordCheck check) {
  const std::size_t slash = path.rfind('/');
  const std::string_view folder =
      slash == path.npos ? "." : path.substr(0, slash == 0 ? 1 : slash);
  SMD_TRY(const auto storage, open_storage(folder));
  return open(*storage, path.substr(slash + 1), check);
}

Result<FileReader> FileReader::open(const Storage& run, std::string_view key,
                                    RecordCheck check) {
  const ByteRange whole;
  SMD_TRY(std::vector<Bytes> parts, run.read(key, {&whole, 1}));
  return FileReader(fmt::format("{}/{}", run.uri(), key),
                    std::move(parts.front()), check);
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
  while (const auto record = next_record()) {
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
                      record_value(*std::move(parsed), file_)};
    return std::optional(std::move(tensor));
  }
  if (!std::exchange(has_intact_record_, true) && skipped_count_ != 0) {
    return no_intact_record();
  }
  return std::optional<FileTensor>();
}

// Moves past the next record that passes the checks, and returns it.
std::optional<std::span<const std::byte>> FileReader::next_record() {
  const std::span<const std::byte> file = file_.span();
  while (at_ < file.size()) {
    const std::uint64_t start = at_;
    const auto size = whole_record_bytes(file.subspan(start), check_);
    if (!size) {
      at_ = find_record(file, start + 1);
      skip(start, at_, size.error().message);
      continue;
    }
    at_ = start + *size;
    const auto record = file.subspan(start, *size);
    const Status status = check_word(record);
    if (status) return record;
    skip(start, at_, status.error().message);
  }
  return std::nullopt;
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
      file_.size(), first.start, first.what));
}

}  // namespace smdebug
