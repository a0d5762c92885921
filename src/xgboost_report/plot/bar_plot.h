#pragma once

// Bars: of numbers that were counted between edges, of a few named things
// side by side, or of named things one below the other.

#include <string>
#include <vector>

#include "smdebug/xgboost_report/xgboost_report.h"

namespace smdebug {

struct NamedBar {
  std::string name;
  double value = 0;  // finite, 0 or more
};

std::string histogram_svg(const std::string& title, const std::string& x_label,
                          const ValueBins& bins);

// One column per bar, with its value above it.
std::string columns_svg(const std::string& title, const std::string& x_label,
                        const std::string& y_label,
                        const std::vector<NamedBar>& bars);

// One row per bar, its name to the left and its value behind it.
std::string rows_svg(const std::string& title, const std::string& x_label,
                     const std::vector<NamedBar>& bars);

}  // namespace smdebug
