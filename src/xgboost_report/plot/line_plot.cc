#include "xgboost_report/plot/line_plot.h"

#include <algorithm>

#include <fmt/format.h>

#include "xgboost_report/plot/value_bins.h"

namespace smdebug {
namespace {

constexpr double kLegendWidth = 170;

void keep(const PlotLine& line, std::size_t i, PlotLine& kept) {
  kept.x.push_back(line.x[i]);
  kept.y.push_back(line.y[i]);
}

// Adds the smallest and the largest of the points from `first` to before
// `end`, in the order in which they come.
void keep_extremes(const PlotLine& line, std::size_t first, std::size_t end,
                   PlotLine& kept) {
  std::size_t smallest = end, largest = end;
  for (std::size_t i = first; i < end; ++i) {
    if (!is_shown(line.y[i])) continue;
    if (smallest == end || line.y[i] < line.y[smallest]) smallest = i;
    if (largest == end || line.y[i] > line.y[largest]) largest = i;
  }
  if (smallest == end) return keep(line, first, kept);
  keep(line, std::min(smallest, largest), kept);
  if (smallest != largest) keep(line, std::max(smallest, largest), kept);
}

void add_line(const PlotLine& line, const std::string& line_class,
              PlotFrame& frame) {
  const PlotLine drawn = thinned(line);
  std::string path;
  bool is_begun = false;
  for (std::size_t i = 0; i < drawn.x.size(); ++i) {
    if (!is_shown(drawn.y[i])) {
      is_begun = false;
      continue;
    }
    const double x = frame.x(drawn.x[i]), y = frame.y(drawn.y[i]);
    path += fmt::format("{}{:.1f} {:.1f}", is_begun ? 'L' : 'M', x, y);
    const bool has_next = i + 1 < drawn.x.size() && is_shown(drawn.y[i + 1]);
    if (!is_begun && !has_next) {
      // A line of one point has no length.
      frame.add(fmt::format(
          "<circle class=\"dot {}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\"/>\n",
          line_class, x, y));
    }
    is_begun = true;
  }
  frame.add(
      fmt::format("<path class=\"line {}\" d=\"{}\"/>\n", line_class, path));
}

PlotAxis x_axis_of(const LinePlot& plot) {
  std::vector<double> ends;
  for (const PlotLine& line : plot.lines) {
    if (line.x.empty()) continue;
    ends.push_back(line.x.front());
    ends.push_back(line.x.back());
  }
  PlotAxis axis;
  axis.label = plot.x_label;
  axis.whole_numbers = plot.x_whole_numbers;
  if (ends.empty()) return axis;
  const auto [low, high] = std::ranges::minmax(ends);
  axis.low = low;
  axis.high = high > low ? high : low + 1;
  return axis;
}

}  // namespace

PlotLine thinned(const PlotLine& line) {
  const std::size_t points = line.x.size();
  if (points <= kPlottedPoints) return line;
  constexpr std::size_t kStretches = kPlottedPoints / 2 - 1;
  PlotLine kept;
  kept.name = line.name;
  keep(line, 0, kept);
  for (std::size_t i = 0; i < kStretches; ++i) {
    const std::size_t first = 1 + i * (points - 2) / kStretches;
    const std::size_t end = 1 + (i + 1) * (points - 2) / kStretches;
    keep_extremes(line, first, end, kept);
  }
  keep(line, points - 1, kept);
  return kept;
}

std::string line_plot_svg(const LinePlot& plot) {
  PlotSize size = plot.size;
  const bool has_legend = plot.lines.size() > 1;
  if (has_legend) size.right = kLegendWidth;
  PlotFrame frame(plot.title, size, x_axis_of(plot), plot.y);
  if (plot.has_diagonal) {
    frame.add(
        fmt::format("<path class=\"aid\" d=\"M{:.1f} {:.1f}L{:.1f} "
                    "{:.1f}\"/>\n",
                    frame.left(), frame.bottom(), frame.right(), frame.top()));
  }
  for (std::size_t i = 0; i < plot.lines.size(); ++i) {
    const std::string line_class =
        plot.is_ordered ? order_class(i) : kind_class(i);
    add_line(plot.lines[i], line_class, frame);
    if (has_legend) frame.add_legend(i, plot.lines[i].name, line_class);
  }
  return frame.svg();
}

}  // namespace smdebug
