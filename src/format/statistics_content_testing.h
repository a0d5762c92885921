#pragma once

// The rows of a step in a statistics file, as the index file that they are of.

#include "smdebug/core/dtype.h"
#include "smdebug/core/mode.h"

#include "format/reduction_tag.h"
#include "format/statistics_file.h"
#include "format/statistics_file_columns.h"

namespace smdebug {

inline IndexFile content_of(const StatisticsFile& file,
                            const StatisticsFile::StepRows& step) {
  using namespace statistics_file;
  IndexFile content;
  content.mode = *find_mode(file.column(kMode).text(step.first));
  content.mode_step = file.column(kModeStep).value<std::int64_t>(step.first);
  content.event_file_key = file.column(kEventFile).text(step.first);
  content.dropped_tensors =
      file.column(kDroppedTensors).value<std::uint64_t>(step.first);
  content.dropped_bytes =
      file.column(kDroppedBytes).value<std::uint64_t>(step.first);
  for (std::size_t row = step.first; row < step.end; ++row) {
    if (file.column(kTensor).is_null(row)) continue;
    const std::string name(file.column(kTensor).text(row));
    const auto shape = shape_of_text(file.column(kShape).text(row));
    if (const auto dtype = find_dtype(file.column(kDType).text(row))) {
      content.statistics.push_back(
          {name, *dtype, shape, file.statistics(row), file.placement(row)});
    }
    if (const auto length = file.column(kLength).find<std::uint64_t>(row)) {
      const auto op = find_reduction_op(file.column(kReduction).text(row));
      content.tensors.push_back(
          {op ? reduction_tag(*op, name, /*keep_colon_digits=*/true) : name,
           file.column(kStart).value<std::uint64_t>(row), *length,
           file.column(kCrc32c).find<std::uint32_t>(row)});
    }
    if (!file.column(kOriginalName).is_null(row)) {
      content.shapes.push_back(
          {name, std::string(file.column(kOriginalName).text(row)), shape});
    }
  }
  return content;
}

}  // namespace smdebug
