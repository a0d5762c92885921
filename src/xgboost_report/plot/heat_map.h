#pragma once

// A square of counts, each row shaded by its own sum: the confusion matrix.

#include <cstdint>
#include <string>
#include <vector>

namespace smdebug {

struct HeatMap {
  std::string title;
  std::string row_label;
  std::string column_label;
  std::vector<std::string> names;     // of rows and of columns
  std::vector<std::uint64_t> counts;  // row by row
};

std::string heat_map_svg(const HeatMap& map);

}  // namespace smdebug
