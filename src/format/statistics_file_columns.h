#pragma once

// The columns of statistics files, in their order, beside those of
// `statistics_columns.h`.

#include <array>
#include <cstddef>
#include <string_view>

#include "format/arrow_file.h"
#include "format/statistics_columns.h"

namespace smdebug {

namespace statistics_file {

enum Column : std::size_t {
  kStep,
  kMode,
  kModeStep,
  kWorker,
  kTensor,
  kReduction,
  kDType,
  kShape,
  kOriginalName,
  kGlobalShape,
  kOffsets,
  kEventFile,
  kStart,
  kLength,
  kCrc32c,
  kDroppedTensors,
  kDroppedBytes,
  kIndexBytes,
  kColumns,
};

struct NamedColumn {
  std::string_view name;
  ArrowType type;
};

inline constexpr std::array<NamedColumn, kColumns> kNames = {{
    {"step", ArrowType::int64},
    {"mode", ArrowType::text},
    {"mode_step", ArrowType::int64},
    {"worker", ArrowType::text},
    {"tensor", ArrowType::text},
    {"reduction", ArrowType::text},
    {"dtype", ArrowType::text},
    {"shape", ArrowType::text},
    {"original_name", ArrowType::text},
    {"global_shape", ArrowType::text},
    {"offsets", ArrowType::text},
    {"event_file", ArrowType::text},
    {"start", ArrowType::uint64},
    {"length", ArrowType::uint64},
    {"crc32c", ArrowType::uint32},
    {"dropped_tensors", ArrowType::uint64},
    {"dropped_bytes", ArrowType::uint64},
    {"index_bytes", ArrowType::uint64},
}};

// Of the columns of counts and of moments, which follow.
inline constexpr std::size_t kFirstCount = kColumns;
inline constexpr std::size_t kFirstMoment = kFirstCount + kCountColumns.size();
inline constexpr std::size_t kAllColumns = kFirstMoment + kMomentColumns.size();

}  // namespace statistics_file

}  // namespace smdebug
