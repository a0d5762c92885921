#pragma once

// The columns of an index file's `statistics`: their names and order in the
// file, and the member of `TensorStatistics` that each holds.

#include <array>
#include <cstdint>
#include <string_view>

#include "smdebug/core/statistics.h"

namespace smdebug {

struct CountColumn {
  std::string_view name;
  std::uint64_t TensorStatistics::*member;
};
struct MomentColumn {
  std::string_view name;
  double TensorStatistics::*member;
};

inline constexpr std::array<CountColumn, 5> kCountColumns = {{
    {"count", &TensorStatistics::count},
    {"nan", &TensorStatistics::nan},
    {"positive_inf", &TensorStatistics::positive_inf},
    {"negative_inf", &TensorStatistics::negative_inf},
    {"zeros", &TensorStatistics::zeros},
}};
inline constexpr std::array<MomentColumn, 6> kMomentColumns = {{
    {"min", &TensorStatistics::min},
    {"max", &TensorStatistics::max},
    {"mean", &TensorStatistics::mean},
    {"m2", &TensorStatistics::m2},
    {"sum_abs", &TensorStatistics::sum_abs},
    {"sum_squares", &TensorStatistics::sum_squares},
}};

}  // namespace smdebug
