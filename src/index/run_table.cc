#include "index/run_table.h"

#include <algorithm>

#include "format/reduction_tag.h"
#include "index/entry_codes.h"

namespace smdebug {
ReductionOp IndexEntry::op() const {
  return {static_cast<Reduction>((op_code - 1) / 2), (op_code - 1) % 2 == 1};
}

std::optional<DType> IndexEntry::dtype() const {
  if (dtype_code == 0) return std::nullopt;
  return static_cast<DType>(dtype_code - 1);
}

FileId RunTable::add_file(const StepFileName& name, const IndexFile& content,
                          bool with_statistics) {
  const FileId file = begin_file(name, content.event_file_key);
  for (const IndexedStatistics& row : content.statistics) {
    IndexEntry& entry = entry_in(file, intern_tensor(row.name), kValueCode);
    entry.dtype_code = code_of(row.dtype);
    entry.shape = intern_shape(row.shape);
    if (row.placement)
      add_shard(file, entry.tensor, intern_placement(*row.placement));
  }
  files_[file].statistics = files_[file].entries;
  for (const IndexedTensor& record : content.tensors) {
    if (record.length > kMaxRecordBytes) continue;
    const auto tag = parse_reduction_tag(record.name);
    IndexEntry& entry =
        entry_in(file, intern_tensor(tag ? tag->tensor_name : record.name),
                 tag ? code_of(tag->op) : kValueCode);
    entry.start = record.start;
    entry.length = static_cast<std::uint32_t>(record.length);
    entry.payload_crc32c = record.payload_crc32c.value_or(0);
    entry.has_crc = record.payload_crc32c.has_value();
  }
  for (const IndexedShape& row : content.shapes) {
    const TensorId tensor = intern_tensor(row.name);
    entry_in(file, tensor, kValueCode).shape = intern_shape(row.shape);
    tensors_[tensor].original_name = row.original_name;
  }
  if (with_statistics) add_statistics(file, content);
  dropped_tensors_ += content.dropped_tensors;
  add_step(file, content.mode, content.mode_step);
  return file;
}

FileId RunTable::begin_file(const StepFileName& name,
                            std::string_view event_file) {
  const auto file = static_cast<FileId>(files_.size());
  files_.push_back({name.step, intern_worker(name.worker),
                    static_cast<EntryId>(entries_.size()), 0, 0, kNone,
                    intern_event_file(event_file, name)});
  return file;
}

void RunTable::restart() {
  for (NamedTensor& tensor : tensors_) {
    tensor.original_name.clear();
    tensor.modes = 0;
    tensor.entries.clear();
  }
  first_worker_ = static_cast<WorkerId>(workers_.size());
  steps_.clear();
  mode_steps_ = {};
  dropped_tensors_ = 0;
}

void RunTable::add_statistics(FileId file, const IndexFile& content) {
  IndexedFile& row = files_[file];
  begin_statistics(row);
  for (const IndexedStatistics& tensor : content.statistics) {
    const auto id = find_tensor(tensor.name);
    const EntryId entry = id ? find_entry_in(file, *id, kValueCode) : kNone;
    if (entry == kNone || entry - row.first_entry >= row.statistics) continue;
    statistics_[row.first_statistics + entry - row.first_entry] =
        tensor.statistics;
  }
}

void RunTable::begin_statistics(IndexedFile& file) {
  file.first_statistics = static_cast<std::uint32_t>(statistics_.size());
  TensorStatistics no_row;
  no_row.count = kNoRow;
  statistics_.resize(statistics_.size() + file.statistics, no_row);
}

void RunTable::add_step(FileId file, Mode mode, Step mode_step) {
  const Step global = files_[file].step;
  const auto [place, is_new] = steps_.try_emplace(global);
  IndexedStep& step = place->second;
  if (is_new) {
    step.id = {global, mode, mode_step};
    if (mode != Mode::global) mode_steps_[mode_index(mode)][mode_step] = global;
  }
  const bool is_known_worker =
      std::ranges::any_of(step.files, [&](FileId other) {
        return files_[other].worker == files_[file].worker;
      });
  if (!is_known_worker) ++step.workers;
  step.files.push_back(file);
  const EntryId end = files_[file].first_entry + files_[file].entries;
  for (EntryId entry = files_[file].first_entry; entry < end; ++entry) {
    tensors_[entries_[entry].tensor].modes |= 1u << mode_index(step.id.mode);
  }
}

bool RunTable::has_file(const StepFileName& name) const {
  const IndexedStep* step = find_step(name.step);
  return step != nullptr && std::ranges::any_of(step->files, [&](FileId file) {
           return workers_[files_[file].worker] == name.worker;
         });
}

std::optional<TensorId> RunTable::find_tensor(std::string_view name) const {
  const auto found = tensor_ids_.find(name);
  if (found == tensor_ids_.end() || !has_entries(found->second))
    return std::nullopt;
  return found->second;
}

std::span<const EntryId> RunTable::entries_at(TensorId id, Step step) const {
  const auto found = std::ranges::equal_range(
      tensors_[id].entries, step, {},
      [this](EntryId entry) { return step_of(entry); });
  return {found.begin(), found.end()};
}

const TensorStatistics* RunTable::statistics(EntryId id) const {
  const IndexedFile& file = files_[entries_[id].file];
  if (!has_statistics(id) || file.first_statistics == kNone) return nullptr;
  const TensorStatistics& row =
      statistics_[file.first_statistics + id - file.first_entry];
  return row.count == kNoRow ? nullptr : &row;
}

bool RunTable::has_statistics(EntryId id) const {
  const IndexedFile& file = files_[entries_[id].file];
  return id - file.first_entry < file.statistics;
}

const ShardPlacement* RunTable::placement(EntryId id) const {
  const auto found = std::ranges::lower_bound(
      shards_, id, {}, &std::pair<EntryId, std::uint32_t>::first);
  if (found == shards_.end() || found->first != id) return nullptr;
  return placements_[found->second];
}

const std::vector<std::int64_t>* RunTable::shape(EntryId id) const {
  const std::uint32_t shape = entries_[id].shape;
  return shape == kNone ? nullptr : shapes_[shape];
}

std::string RunTable::event_file(FileId id) const {
  const IndexedFile& file = files_[id];
  if (file.event_file != kNone) return event_files_[file.event_file];
  return event_file_key(file.step, workers_[file.worker]);
}

const IndexedStep* RunTable::find_step(Step global_step) const {
  const auto found = steps_.find(global_step);
  return found == steps_.end() ? nullptr : &found->second;
}

TensorId RunTable::intern_tensor(std::string_view name) {
  if (const auto known = tensor_ids_.find(name); known != tensor_ids_.end())
    return known->second;
  const auto id = static_cast<TensorId>(tensors_.size());
  tensors_.push_back({std::string(name), {}, 0, {}});
  tensor_ids_.emplace(tensors_.back().name, id);
  return id;
}

WorkerId RunTable::intern_worker(std::string_view name) {
  const auto known = std::ranges::find(workers(), name);
  const auto id = static_cast<WorkerId>(known - workers_.begin());
  if (known == workers_.end()) workers_.emplace_back(name);
  return id;
}

std::uint32_t RunTable::intern_shape(const std::vector<std::int64_t>& shape) {
  const auto id = static_cast<std::uint32_t>(shapes_.size());
  const auto [place, is_new] = shape_ids_.try_emplace(shape, id);
  if (is_new) shapes_.push_back(&place->first);
  return place->second;
}

std::uint32_t RunTable::intern_placement(const ShardPlacement& placement) {
  const auto id = static_cast<std::uint32_t>(placements_.size());
  const auto [place, is_new] = placement_ids_.try_emplace(placement, id);
  if (is_new) placements_.push_back(&place->first);
  return place->second;
}

// A repeated row replaces the placement of the earlier one.
void RunTable::add_shard(FileId file, TensorId tensor,
                         std::uint32_t placement) {
  const EntryId id = find_entry_in(file, tensor, kValueCode);
  const auto place = std::ranges::lower_bound(
      shards_, id, {}, &std::pair<EntryId, std::uint32_t>::first);
  if (place != shards_.end() && place->first == id) {
    place->second = placement;
  } else {
    shards_.insert(place, {id, placement});
  }
}

std::uint32_t RunTable::intern_event_file(std::string_view key,
                                          const StepFileName& name) {
  if (key.empty() || key == event_file_key(name.step, name.worker)) {
    return kNone;
  }
  event_files_.emplace_back(key);
  return static_cast<std::uint32_t>(event_files_.size() - 1);
}

// Returns the entry of `tensor` in the newest file, `file`. Adds it if missing.
IndexEntry& RunTable::entry_in(FileId file, TensorId tensor,
                               std::uint8_t op_code) {
  const EntryId known = find_entry_in(file, tensor, op_code);
  if (known != kNone) return entries_[known];
  const auto id = static_cast<EntryId>(entries_.size());
  IndexEntry& entry = entries_.emplace_back();
  entry.tensor = tensor;
  entry.file = file;
  entry.op_code = op_code;
  ++files_[file].entries;
  add_to_list(id, tensors_[tensor].entries);
  return entry;
}

// Steps arrive in order except for late files, so the search is rare.
void RunTable::add_to_list(EntryId id, std::vector<EntryId>& list) const {
  // Grow by a quarter: doubling would leave a third of the memory unused.
  if (list.size() == list.capacity()) {
    list.reserve(list.size() + list.size() / 4 + 4);
  }
  if (list.empty() || step_of(list.back()) <= step_of(id)) {
    list.push_back(id);
    return;
  }
  const auto place = std::ranges::upper_bound(
      list, step_of(id), {}, [this](EntryId e) { return step_of(e); });
  list.insert(place, id);
}

EntryId RunTable::find_entry_in(FileId file, TensorId tensor,
                                std::uint8_t op_code) const {
  const std::vector<EntryId>& all = tensors_[tensor].entries;
  if (all.empty() || step_of(all.back()) < files_[file].step) return kNone;
  const auto same_step = entries_at(tensor, files_[file].step);
  const auto found = std::ranges::find_if(same_step, [&](EntryId id) {
    return entries_[id].file == file && entries_[id].op_code == op_code;
  });
  return found == same_step.end() ? kNone : *found;
}

}  // namespace smdebug
