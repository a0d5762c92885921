#pragma once

// The columns of the table that users get of the statistics of a run, in their
// order: `export_statistics`, and the table `statistics` of a query.

#include <array>
#include <cstddef>

#include "format/statistics_file_columns.h"

namespace smdebug {

namespace statistics_table {

enum Column : std::size_t {
  kTensor,
  kCollection,
  kStep,
  kMode,
  kModeStep,
  kWorker,
  kDType,
  kShape,
  kBytes,
  kCount,
  kNan,
  kPositiveInf,
  kNegativeInf,
  kZeros,
  kMin,
  kMax,
  kMean,
  kStd,
  kL1,
  kL2,
  kColumns,
};

inline constexpr std::array<statistics_file::NamedColumn, kColumns> kNames = {{
    {"tensor", ArrowType::text},         {"collection", ArrowType::text},
    {"step", ArrowType::int64},          {"mode", ArrowType::text},
    {"mode_step", ArrowType::int64},     {"worker", ArrowType::text},
    {"dtype", ArrowType::text},          {"shape", ArrowType::text},
    {"bytes", ArrowType::uint64},        {"count", ArrowType::uint64},
    {"nan", ArrowType::uint64},          {"positive_inf", ArrowType::uint64},
    {"negative_inf", ArrowType::uint64}, {"zeros", ArrowType::uint64},
    {"min", ArrowType::float64},         {"max", ArrowType::float64},
    {"mean", ArrowType::float64},        {"std", ArrowType::float64},
    {"l1", ArrowType::float64},          {"l2", ArrowType::float64},
}};

}  // namespace statistics_table

}  // namespace smdebug
