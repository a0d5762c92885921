#pragma once

// Lines over a common axis, one for each of a few things.

#include <string>
#include <vector>

#include "xgboost_report/plot/plot_frame.h"

namespace smdebug {

// A line of more points is drawn through the smallest and the largest of each
// stretch, so that no peak is lost.
inline constexpr std::size_t kPlottedPoints = 1000;

struct PlotLine {
  std::string name;
  std::vector<double> x;  // ascending
  std::vector<double> y;  // NaN leaves a gap
};

struct LinePlot {
  std::string title;
  std::string x_label;
  bool x_whole_numbers = false;
  PlotAxis y;
  std::vector<PlotLine> lines;
  bool is_ordered = false;    // the lines are steps of an order, not kinds
  bool has_diagonal = false;  // a thin line from corner to corner
  PlotSize size;
};

std::string line_plot_svg(const LinePlot& plot);

// The points that are drawn of `line`: at most about `kPlottedPoints`.
PlotLine thinned(const PlotLine& line);

}  // namespace smdebug
