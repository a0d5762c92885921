// The rows of statistics files in a `RunTable`: they give the same entries as
// the index files that they are of, without making those.

#include "format/statistics_file_columns.h"
#include "index/entry_codes.h"
#include "index/run_table.h"

namespace smdebug {

using namespace statistics_file;

namespace {

bool has_statistics_of_tensor(const StatisticsFile& file, std::size_t row) {
  return !file.column(kTensor).is_null(row) &&
         !file.column(kDType).is_null(row);
}

void begin_ids(const StatisticsFile& file, PackedIds& ids) {
  if (!ids.shapes.empty()) return;
  ids.tensors.assign(file.column(kTensor).dictionary().size(), kNone);
  // One more for rows without a shape.
  ids.shapes.assign(file.column(kShape).dictionary().size() + 1, kNone);
  for (const std::string_view text : file.column(kDType).dictionary()) {
    ids.dtypes.push_back(code_of(*find_dtype(text)));
  }
  for (const std::string_view text : file.column(kReduction).dictionary()) {
    ids.reductions.push_back(code_of(*find_reduction_op(text)));
  }
}

}  // namespace

TensorId RunTable::packed_tensor(const StatisticsFile& file, std::size_t row,
                                 PackedIds& ids) {
  TensorId& id = ids.tensors[file.column(kTensor).code(row)];
  if (id == kNone) id = intern_tensor(file.column(kTensor).text(row));
  return id;
}

std::uint32_t RunTable::packed_shape(const StatisticsFile& file,
                                     std::size_t row, PackedIds& ids) {
  const ArrowColumnView& shape = file.column(kShape);
  std::uint32_t& id =
      shape.is_null(row) ? ids.shapes.back() : ids.shapes[shape.code(row)];
  if (id == kNone) id = intern_shape(shape_of_text(shape.text(row)));
  return id;
}

FileId RunTable::add_packed(const StatisticsFile& file,
                            const StatisticsFile::StepRows& step,
                            PackedIds& ids, bool with_statistics) {
  begin_ids(file, ids);
  const FileId id =
      begin_file(step.name, file.column(kEventFile).text(step.first));
  for (std::size_t row = step.first; row < step.end; ++row) {
    if (!has_statistics_of_tensor(file, row)) continue;
    const TensorId tensor = packed_tensor(file, row, ids);
    IndexEntry& entry = entry_in(id, tensor, kValueCode);
    entry.dtype_code = ids.dtypes[file.column(kDType).code(row)];
    entry.shape = packed_shape(file, row, ids);
    if (const auto placement = file.placement(row)) {
      add_shard(id, tensor, intern_placement(*placement));
    }
  }
  files_[id].statistics = files_[id].entries;
  for (std::size_t row = step.first; row < step.end; ++row) {
    if (file.column(kTensor).is_null(row)) continue;
    const auto length = file.column(kLength).find<std::uint64_t>(row);
    if (!length || *length > kMaxRecordBytes) continue;
    const ArrowColumnView& reduction = file.column(kReduction);
    IndexEntry& entry =
        entry_in(id, packed_tensor(file, row, ids),
                 reduction.is_null(row) ? kValueCode
                                        : ids.reductions[reduction.code(row)]);
    const auto crc = file.column(kCrc32c).find<std::uint32_t>(row);
    entry.start = file.column(kStart).value<std::uint64_t>(row);
    entry.length = static_cast<std::uint32_t>(*length);
    entry.payload_crc32c = crc.value_or(0);
    entry.has_crc = crc.has_value();
  }
  for (std::size_t row = step.first; row < step.end; ++row) {
    const ArrowColumnView& original = file.column(kOriginalName);
    if (file.column(kTensor).is_null(row) || original.is_null(row)) continue;
    const TensorId tensor = packed_tensor(file, row, ids);
    entry_in(id, tensor, kValueCode).shape = packed_shape(file, row, ids);
    tensors_[tensor].original_name = original.text(row);
  }
  if (with_statistics) add_packed_statistics(id, file, step, ids);
  dropped_tensors_ +=
      file.column(kDroppedTensors).value<std::uint64_t>(step.first);
  add_step(id, *find_mode(file.column(kMode).text(step.first)),
           file.column(kModeStep).value<std::int64_t>(step.first));
  return id;
}

void RunTable::add_packed_statistics(FileId id, const StatisticsFile& file,
                                     const StatisticsFile::StepRows& step,
                                     PackedIds& ids) {
  begin_ids(file, ids);
  IndexedFile& its = files_[id];
  begin_statistics(its);
  EntryId next = its.first_entry;
  for (std::size_t row = step.first; row < step.end; ++row) {
    if (!has_statistics_of_tensor(file, row)) continue;
    const TensorId tensor = packed_tensor(file, row, ids);
    // Most rows are in the order of the entries.
    const bool is_next = next - its.first_entry < its.statistics &&
                         entries_[next].tensor == tensor;
    const EntryId entry =
        is_next ? next : find_entry_in(id, tensor, kValueCode);
    if (entry == kNone || entry - its.first_entry >= its.statistics) continue;
    statistics_[its.first_statistics + entry - its.first_entry] =
        file.statistics(row);
    next = entry + 1;
  }
}

}  // namespace smdebug
