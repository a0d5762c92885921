#include "read/record_reader.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "smdebug/base/try.h"
#include "smdebug/reduce/reductions.h"

#include "base/crc32c.h"
#include "format/file_names.h"
#include "format/reduction_tag.h"
#include "format/string_elements.h"
#include "format/tensor_record.h"
#include "read/run_damage.h"

namespace smdebug {
namespace {

// A step has a file per worker, and readers alternate between few steps.
constexpr std::size_t kOpenFiles = 32;

std::string description_of(const RunTable& table, EntryId id) {
  const IndexEntry& entry = table.entry(id);
  const std::string part = entry.is_reduction()
                               ? "reduction " + reduction_op_name(entry.op())
                               : "value";
  return fmt::format(
      "tensor '{}' at step {}: its {} cannot be read: event file '{}'",
      table.tensor_name(entry.tensor), table.step_of(id), part,
      table.event_file(entry.file));
}

Error bad_record(Error error, const RunTable& table, EntryId id) {
  const bool is_damaged = error.code == Error::Code::corrupt;
  return std::move(error).within(description_of(table, id) +
                                 (is_damaged ? " is damaged" : ""));
}

// Whether the index lists this record under its own tag too: a tensor of
// several names is stored once.
bool shares_record(std::string_view tag, const RunTable& table,
                   const IndexEntry& entry) {
  const auto other = table.find_tensor(tag);
  if (!other) return false;
  return std::ranges::any_of(
      table.entries_at(*other, table.file(entry.file).step), [&](EntryId id) {
        const IndexEntry& owner = table.entry(id);
        return !owner.is_reduction() && owner.file == entry.file &&
               owner.start == entry.start && owner.length == entry.length;
      });
}

bool is_tag_of(std::string_view tag, const RunTable& table,
               const IndexEntry& entry) {
  const auto reduction = parse_reduction_tag(tag);
  const std::string& name = table.tensor_name(entry.tensor);
  if (!entry.is_reduction())
    return tag == name || shares_record(tag, table, entry);
  return reduction && reduction->op == entry.op() &&
         reduction->tensor_name == name;
}

Error why_unreadable(const Storage& storage, const RunTable& table, EntryId id,
                     const Error& error) {
  if (error.code == Error::Code::not_found &&
      was_removed(storage, table, table.entry(id).file)) {
    return {Error::Code::not_found,
            "its files were removed after the run was listed"};
  }
  return {Error::Code::io, error.message};
}

// Elements follow the record's head, at any address. If they are not aligned
// for their type, moves them over the head, which is parsed by now, or copies
// them if the record has another owner.
Bytes aligned(std::span<const std::byte> payload, DType dtype,
              const Bytes& record) {
  const std::size_t unit = std::min(
      std::max<std::size_t>(1, dtype_bytes(dtype)), alignof(std::max_align_t));
  const auto address = reinterpret_cast<std::uintptr_t>(payload.data());
  if (address % unit == 0) {
    return Bytes(record.owner(), payload, record.kind());
  }
  if (record.is_writable()) {
    // `is_writable`: the bytes are a buffer of this library, not a constant.
    auto* start = const_cast<std::byte*>(payload.data()) - address % unit;
    std::memmove(start, payload.data(), payload.size());
    return Bytes(record.owner(), {start, payload.size()}, record.kind());
  }
  auto copy = std::make_shared_for_overwrite<std::byte[]>(payload.size());
  std::memcpy(copy.get(), payload.data(), payload.size());
  const std::span<const std::byte> span(copy.get(), payload.size());
  return Bytes(std::move(copy), span, Bytes::Kind::own);
}

Bytes owned(std::vector<std::byte> decoded) {
  auto owner = std::make_shared<std::vector<std::byte>>(std::move(decoded));
  const std::span<const std::byte> span(*owner);
  return Bytes(std::move(owner), span, Bytes::Kind::own);
}

std::uint32_t elements_crc32c(const TensorRecord& record) {
  return is_string(record.dtype) ? string_elements_crc32c(record.strings)
                                 : crc32c(record.payload);
}

// The checksum covers only the elements. Dtype and shape are stored both in the
// record and in the index, and must agree.
Status check_kind(const TensorRecord& record, const RunTable& table,
                  EntryId id) {
  const IndexEntry& entry = table.entry(id);
  const auto* shape = table.shape(id);
  if (entry.is_reduction()) return {};
  if (entry.dtype().value_or(record.dtype) != record.dtype) {
    return Error{Error::Code::corrupt,
                 fmt::format("the record at byte {} has dtype {}, the index "
                             "has {}",
                             entry.start, dtype_name(record.dtype),
                             dtype_name(*entry.dtype()))};
  }
  if (shape != nullptr && *shape != record.shape) {
    return Error{Error::Code::corrupt,
                 fmt::format("the record at byte {} has shape [{}], the index "
                             "has [{}]",
                             entry.start, fmt::join(record.shape, ", "),
                             fmt::join(*shape, ", "))};
  }
  return {};
}

// An index file can state any length. Records of this size and more are read
// only if their head states it too.
constexpr std::uint32_t kProbedBytes = 16 << 20;

// Returns whether a record whose first bytes are `head` has the length that the
// index has.
Status check_length(const Bytes& head, const RunTable& table, EntryId id) {
  const IndexEntry& entry = table.entry(id);
  SMD_TRY(const std::uint64_t bytes, record_bytes(head.span()));
  if (bytes == entry.length) return {};
  return Error{Error::Code::corrupt,
               fmt::format("the record at byte {} has {} bytes, the index has "
                           "{}",
                           entry.start, bytes, entry.length)};
}

// Reads the record of one entry with `read`, which takes ranges of its event
// file.
template <typename Read>
Result<TensorValue> read_entry(const Storage& storage, const RunTable& table,
                               EntryId id, Read read) {
  const IndexEntry& entry = table.entry(id);
  if (entry.length >= kProbedBytes) {
    const ByteRange range{entry.start, kRecordHeadBytes};
    const auto head = read(range);
    if (!head) return unreadable_record(storage, head.error(), table, id);
    Status status = check_length(head->front(), table, id);
    if (!status) return bad_record(std::move(status).error(), table, id);
  }
  const auto parts = read(ByteRange{entry.start, entry.length});
  if (!parts) return unreadable_record(storage, parts.error(), table, id);
  return parse_record(parts->front(), table, id);
}

Result<TensorValue> parse(const Bytes& bytes, const RunTable& table,
                          EntryId id) {
  const IndexEntry& entry = table.entry(id);
  if (bytes.size() < entry.length) {
    return Error{Error::Code::corrupt,
                 fmt::format("the file ends after {} of the {} bytes of the "
                             "record at byte {}",
                             bytes.size(), entry.length, entry.start)};
  }
  SMD_TRY(TensorRecord record,
          parse_tensor_record(bytes.span(), PayloadCheck::word));
  if (const Step step = table.step_of(id); record.step.global != step) {
    return Error{Error::Code::corrupt,
                 fmt::format("the record at byte {} is of step {}, not {}: the "
                             "file was renamed or exchanged",
                             entry.start, record.step.global, step)};
  }
  if (!is_tag_of(record.tag, table, entry)) {
    return Error{Error::Code::corrupt,
                 fmt::format("the record at byte {} is of '{}'", entry.start,
                             record.tag)};
  }
  if (entry.has_crc && elements_crc32c(record) != entry.payload_crc32c) {
    return Error{Error::Code::corrupt,
                 fmt::format("the checksum in the index does not match the "
                             "elements of the record at byte {}",
                             entry.start)};
  }
  SMD_CHECK_OK(check_kind(record, table, id));
  return record_value(std::move(record), bytes);
}

}  // namespace

TensorValue record_value(TensorRecord record, const Bytes& bytes) {
  Bytes payload = record.decoded_payload.empty()
                      ? aligned(record.payload, record.dtype, bytes)
                      : owned(std::move(record.decoded_payload));
  return TensorValue(record.dtype, std::move(record.shape), std::move(payload),
                     std::move(record.strings));
}

Result<TensorValue> read_record(const Storage& storage, const RunTable& table,
                                EntryId id) {
  return std::move(read_each_record(storage, table, {&id, 1}).front());
}

std::vector<Result<TensorValue>> read_each_record(
    const Storage& storage, const RunTable& table,
    std::span<const EntryId> entries) {
  std::vector<ObjectRange> wanted;
  wanted.reserve(entries.size());
  for (EntryId id : entries) {
    const IndexEntry& entry = table.entry(id);
    // Large records follow below, one at a time.
    const std::uint64_t length = entry.length < kProbedBytes ? entry.length : 0;
    wanted.push_back({table.event_file(entry.file), {entry.start, length}});
  }
  std::vector<Result<Bytes>> read = storage.read_each(wanted);
  std::vector<Result<TensorValue>> values;
  values.reserve(entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const EntryId id = entries[i];
    if (!read[i]) {
      values.push_back(unreadable_record(storage, read[i].error(), table, id));
    } else if (table.entry(id).length < kProbedBytes) {
      values.push_back(parse_record(*read[i], table, id));
    } else {
      values.push_back(
          read_entry(storage, table, id, [&](const ByteRange& range) {
            return storage.read(wanted[i].key, {&range, 1});
          }));
    }
  }
  return values;
}

Result<TensorValue> read_record_in(const Bytes& event_file,
                                   const RunTable& table, EntryId id) {
  const IndexEntry& entry = table.entry(id);
  const auto all = event_file.span();
  const std::uint64_t start = std::min<std::uint64_t>(entry.start, all.size());
  const std::uint64_t length =
      std::min<std::uint64_t>(entry.length, all.size() - start);
  return parse_record(Bytes(event_file.owner(), all.subspan(start, length)),
                      table, id);
}

Result<TensorValue> parse_record(const Bytes& record, const RunTable& table,
                                 EntryId id) {
  auto value = parse(record, table, id);
  if (!value) return bad_record(std::move(value).error(), table, id);
  return value;
}

Error unreadable_record(const Storage& storage, const Error& reason,
                        const RunTable& table, EntryId id) {
  return why_unreadable(storage, table, id, reason)
      .within(description_of(table, id));
}

double reduction_value(const TensorValue& saved) {
  if (is_string(saved.dtype())) return std::numeric_limits<double>::quiet_NaN();
  // The sum of one element is the element, including NaN and infinity.
  const TensorView view = saved.view();
  const auto sum = reduction_from(
      statistics_of_view(view), {Reduction::sum, false}, Deviation::population);
  return sum.value_or(std::numeric_limits<double>::quiet_NaN());
}

// --- EventFiles ---

// Calls `read`, and repeats it if it failed on a file that was already open.
template <typename Read>
auto EventFiles::read_or_reopen(FileId file, Read read) {
  const bool was_open = is_open(file);
  auto values = read();
  if (values) return values;
  close(file);
  if (!was_open) return values;
  values = read();
  if (!values) close(file);
  return values;
}

Result<TensorValue> EventFiles::read(EntryId id) {
  return read_or_reopen(table_.entry(id).file, [&] { return read_once(id); });
}

Result<std::vector<TensorValue>> EventFiles::read(
    std::span<const EntryId> entries) {
  if (entries.empty()) return std::vector<TensorValue>();
  return read_or_reopen(table_.entry(entries.front()).file,
                        [&] { return read_once(entries); });
}

Result<TensorValue> EventFiles::read_once(EntryId id) {
  const auto file = open(table_.entry(id).file);
  if (!file) return unreadable_record(storage_, file.error(), table_, id);
  return read_entry(storage_, table_, id, [&](const ByteRange& range) {
    return (*file)->read({&range, 1});
  });
}

Result<std::vector<TensorValue>> EventFiles::read_once(
    std::span<const EntryId> entries) {
  std::vector<TensorValue> values;
  const auto file = open(table_.entry(entries.front()).file);
  if (!file)
    return unreadable_record(storage_, file.error(), table_, entries.front());
  const auto is_large = [&](EntryId id) {
    return table_.entry(id).length >= kProbedBytes;
  };
  if (std::ranges::any_of(entries, is_large)) {
    for (EntryId id : entries) {
      SMD_TRY(TensorValue value, read_once(id));
      values.push_back(std::move(value));
    }
    return values;
  }
  std::vector<ByteRange> ranges;
  ranges.reserve(entries.size());
  for (EntryId id : entries) {
    ranges.push_back({table_.entry(id).start, table_.entry(id).length});
  }
  const auto parts = (*file)->read(ranges);
  if (!parts)
    return unreadable_record(storage_, parts.error(), table_, entries.front());
  values.reserve(entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    SMD_TRY(TensorValue value, parse_record((*parts)[i], table_, entries[i]));
    values.push_back(std::move(value));
  }
  return values;
}

bool EventFiles::is_open(FileId file) const {
  return std::ranges::find(open_, file, &OpenFile::file) != open_.end();
}

void EventFiles::close(FileId file) {
  std::erase_if(open_, [&](const OpenFile& open) { return open.file == file; });
}

Result<const ObjectReader*> EventFiles::open(FileId file) {
  ++uses_;
  const auto known = std::ranges::find(open_, file, &OpenFile::file);
  if (known != open_.end()) {
    known->last_use = uses_;
    return known->reader.get();
  }
  SMD_TRY(auto reader, storage_.open(table_.event_file(file)));
  if (open_.size() < kOpenFiles) {
    open_.push_back({file, uses_, std::move(reader)});
    return open_.back().reader.get();
  }
  OpenFile& oldest = *std::ranges::min_element(open_, {}, &OpenFile::last_use);
  oldest = {file, uses_, std::move(reader)};
  return oldest.reader.get();
}

}  // namespace smdebug
