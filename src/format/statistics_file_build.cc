#include <map>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "smdebug/core/mode.h"

#include "format/reduction_tag.h"
#include "format/statistics_file.h"
#include "format/statistics_file_columns.h"

namespace smdebug {

using namespace statistics_file;

namespace {

std::string numbers_text(std::span<const std::int64_t> numbers) {
  return fmt::format("{}", fmt::join(numbers, ","));
}

template <typename T>
void add_or_null(const std::optional<T>& value, ArrowColumn& column) {
  if (value) {
    column.add(*value);
  } else {
    column.add_null();
  }
}

void add_text_or_null(const std::optional<std::string>& text,
                      ArrowColumn& column) {
  if (text) {
    column.add_text(*text);
  } else {
    column.add_null();
  }
}

}  // namespace

// The entries of one tag in an index file; null for those that it lacks.
struct StatisticsFileBuilder::Row {
  std::string_view tag;
  const IndexedStatistics* statistics = nullptr;
  const IndexedTensor* record = nullptr;
  const IndexedShape* shape = nullptr;
};

StatisticsFileBuilder::StatisticsFileBuilder(std::string worker)
    : worker_(std::move(worker)) {
  clear();
}

void StatisticsFileBuilder::clear() {
  columns_.clear();
  columns_.reserve(kAllColumns);
  for (const NamedColumn& column : kNames) {
    columns_.emplace_back(std::string(column.name), column.type);
  }
  for (const CountColumn& column : kCountColumns) {
    columns_.emplace_back(std::string(column.name), ArrowType::uint64);
  }
  for (const MomentColumn& column : kMomentColumns) {
    columns_.emplace_back(std::string(column.name), ArrowType::float64);
  }
  steps_ = 0;
}

void StatisticsFileBuilder::add(Step step, std::uint64_t index_bytes,
                                const IndexFile& content) {
  std::vector<Row> rows;
  std::map<std::string_view, std::size_t> places;
  const auto row_of = [&](std::string_view tag) -> Row& {
    const auto [place, is_new] = places.try_emplace(tag, rows.size());
    if (is_new) rows.push_back({tag});
    return rows[place->second];
  };
  for (const auto& item : content.statistics)
    row_of(item.name).statistics = &item;
  for (const auto& item : content.tensors) row_of(item.name).record = &item;
  for (const auto& item : content.shapes) row_of(item.name).shape = &item;
  if (rows.empty()) rows.emplace_back();
  for (const Row& row : rows) add_row(step, index_bytes, content, row);
  if (steps_++ == 0) first_ = step;
  last_ = step;
}

void StatisticsFileBuilder::add_row(Step step, std::uint64_t index_bytes,
                                    const IndexFile& content, const Row& row) {
  column(kStep).add(step);
  column(kMode).add_text(mode_name(content.mode));
  column(kModeStep).add(content.mode_step);
  column(kWorker).add_text(worker_);
  std::optional<std::string> tensor, reduction, dtype, shape, original;
  std::optional<std::string> global_shape, offsets, event_file;
  if (!row.tag.empty()) {
    const auto tag = parse_reduction_tag(row.tag);
    tensor = tag ? tag->tensor_name : row.tag;
    if (tag) reduction = reduction_op_name(tag->op);
  }
  if (row.statistics) {
    dtype = dtype_name(row.statistics->dtype);
    shape = numbers_text(row.statistics->shape);
    if (const auto& placement = row.statistics->placement) {
      global_shape = numbers_text(placement->global_shape);
      offsets = numbers_text(placement->offsets);
    }
  }
  if (row.shape) {
    shape = numbers_text(row.shape->shape);
    original = row.shape->original_name;
  }
  if (!content.event_file_key.empty()) event_file = content.event_file_key;
  add_text_or_null(tensor, column(kTensor));
  add_text_or_null(reduction, column(kReduction));
  add_text_or_null(dtype, column(kDType));
  add_text_or_null(shape, column(kShape));
  add_text_or_null(original, column(kOriginalName));
  add_text_or_null(global_shape, column(kGlobalShape));
  add_text_or_null(offsets, column(kOffsets));
  add_text_or_null(event_file, column(kEventFile));
  std::optional<std::uint64_t> start, length;
  std::optional<std::uint32_t> crc32c;
  if (row.record) {
    start = row.record->start;
    length = row.record->length;
    crc32c = row.record->payload_crc32c;
  }
  add_or_null(start, column(kStart));
  add_or_null(length, column(kLength));
  add_or_null(crc32c, column(kCrc32c));
  column(kDroppedTensors).add(content.dropped_tensors);
  column(kDroppedBytes).add(content.dropped_bytes);
  column(kIndexBytes).add(index_bytes);
  const TensorStatistics* statistics =
      row.statistics ? &row.statistics->statistics : nullptr;
  for (std::size_t i = 0; i < kCountColumns.size(); ++i) {
    std::optional<std::uint64_t> count;
    if (statistics) count = statistics->*kCountColumns[i].member;
    add_or_null(count, column(kFirstCount + i));
  }
  for (std::size_t i = 0; i < kMomentColumns.size(); ++i) {
    std::optional<double> moment;
    if (statistics) moment = statistics->*kMomentColumns[i].member;
    add_or_null(moment, column(kFirstMoment + i));
  }
}

std::size_t StatisticsFileBuilder::bytes() const {
  std::size_t bytes = 0;
  for (const ArrowColumn& column : columns_) bytes += column.bytes();
  return bytes;
}

bool StatisticsFileBuilder::is_full() const {
  return steps_ >= kStatisticsFileSteps || bytes() >= kStatisticsFileBytes;
}

std::string StatisticsFileBuilder::finish() {
  const std::pair<std::string, std::string> version = {"smdebug.version", "1"};
  std::string file = write_arrow_file(columns_, {&version, 1});
  clear();
  return file;
}

}  // namespace smdebug
