#pragma once

// The plots of a report, as SVG elements: bars, lines and a heat map. All text
// is escaped.

#include <cstdint>
#include <string>
#include <vector>

#include "smdebug/xgboost_report/xgboost_report.h"

#include "xgboost_report/plot/plot_frame.h"

namespace smdebug {

std::string histogram_svg(const std::string& title, const std::string& x_label,
                          const ValueBins& bins);

struct NamedBar {
  std::string name;
  double value = 0;  // finite, 0 or more
};

// One column per bar, with its value above it.
std::string columns_svg(const std::string& title, const std::string& x_label,
                        const std::string& y_label,
                        const std::vector<NamedBar>& bars);

// One row per bar, with its name to the left and its value to the right.
std::string rows_svg(const std::string& title, const std::string& x_label,
                     const std::vector<NamedBar>& bars);

// A longer line is drawn through the smallest and the largest value of each
// section, so that no peak is lost.
inline constexpr std::size_t kPlottedPoints = 1000;

struct PlotLine {
  std::string name;
  std::vector<double> x;  // ascending
  std::vector<double> y;  // NaN leaves a gap
};

// Lines that share their axes.
struct LinePlot {
  std::string title;
  std::string x_label;
  bool x_whole_numbers = false;
  PlotAxis y;
  std::vector<PlotLine> lines;
  bool is_ordered = false;    // the lines follow an order; otherwise, kinds
  bool has_diagonal = false;  // a thin line from corner to corner
  PlotSize size;
};

std::string line_plot_svg(const LinePlot& plot);

// Returns the points of `line` to draw: at most about `kPlottedPoints`.
PlotLine thinned(const PlotLine& line);

// A square of counts, each row shaded relative to its sum: the confusion
// matrix.
struct HeatMap {
  std::string title;
  std::string row_label;
  std::string column_label;
  std::vector<std::string> names;     // of rows and of columns
  std::vector<std::uint64_t> counts;  // row by row
};

std::string heat_map_svg(const HeatMap& map);

}  // namespace smdebug
