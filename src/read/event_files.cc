#include "read/event_files.h"

#include <algorithm>
#include <utility>

#include "read/record_reader.h"

namespace smdebug {
namespace {

// A step has a file per worker, and few steps are looked at in turn.
constexpr std::size_t kOpenFiles = 32;

}  // namespace

// Calls `read`, and once more where a file that stood open before fails.
template <typename Read>
auto EventFiles::read_anew(FileId file, Read read) {
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
  return read_anew(table_.entry(id).file, [&] { return read_once(id); });
}

Result<std::vector<TensorValue>> EventFiles::read(
    std::span<const EntryId> entries) {
  if (entries.empty()) return std::vector<TensorValue>();
  return read_anew(table_.entry(entries.front()).file,
                   [&] { return read_once(entries); });
}

Result<TensorValue> EventFiles::read_once(EntryId id) {
  const IndexEntry& entry = table_.entry(id);
  const auto file = open(entry.file);
  if (!file) return unreadable_record(storage_, file.error(), table_, id);
  const ByteRange range{entry.start, entry.length};
  const auto parts = (*file)->read({&range, 1});
  if (!parts) return unreadable_record(storage_, parts.error(), table_, id);
  return parse_record(parts->front(), table_, id);
}

Result<std::vector<TensorValue>> EventFiles::read_once(
    std::span<const EntryId> entries) {
  std::vector<TensorValue> values;
  const auto file = open(table_.entry(entries.front()).file);
  if (!file)
    return unreadable_record(storage_, file.error(), table_, entries.front());
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
