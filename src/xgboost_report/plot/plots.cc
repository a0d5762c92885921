#include "xgboost_report/plot/plots.h"

#include <algorithm>

#include <fmt/format.h>

#include "report/wording.h"
#include "xgboost_report/plot/markup.h"
#include "xgboost_report/plot/plot_frame.h"
#include "xgboost_report/plot/scale.h"

namespace smdebug {
namespace {

constexpr double kRow = 20;
constexpr double kNameWidth = 190;
constexpr double kNameLine = 13;             // height of a line of a name
constexpr double kNameLetters = 24;          // that fit on a line
constexpr std::size_t kNameCharacters = 90;  // of a whole name

PlotAxis counted(std::string label, double largest) {
  PlotAxis axis;
  axis.label = std::move(label);
  axis.high = largest > 0 ? largest * 1.08 : 1;
  return axis;
}

double largest_of(const std::vector<NamedBar>& bars) {
  double largest = 0;
  for (const NamedBar& bar : bars) largest = std::max(largest, bar.value);
  return largest;
}

std::string bar(double x, double y, double width, double height) {
  return fmt::format(
      "<rect class=\"bar kind0\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" "
      "height=\"{:.1f}\"/>\n",
      x, y, width, height);
}

}  // namespace

std::string histogram_svg(const std::string& title, const std::string& x_label,
                          const ValueBins& bins) {
  PlotAxis x;
  x.label = x_label;
  x.low = bins.edges.front();
  x.high = bins.edges.back();
  const std::uint64_t largest = std::ranges::max(bins.counts);
  PlotAxis y = counted("samples", static_cast<double>(largest));
  y.whole_numbers = true;
  PlotFrame frame(title, {}, x, y);
  for (std::size_t i = 0; i < bins.counts.size(); ++i) {
    const double left = frame.x(bins.edges[i]);
    const double top = frame.y(static_cast<double>(bins.counts[i]));
    // A small gap separates adjacent bars of the same height.
    frame.add(bar(left + 0.5, top, frame.x(bins.edges[i + 1]) - left - 1,
                  frame.bottom() - top));
  }
  return frame.svg();
}

std::string columns_svg(const std::string& title, const std::string& x_label,
                        const std::string& y_label,
                        const std::vector<NamedBar>& bars) {
  PlotAxis x;
  x.label = x_label;
  x.high = static_cast<double>(bars.size());
  x.has_ticks = false;
  PlotFrame frame(title, {}, x, counted(y_label, largest_of(bars)));
  const double step = frame.x(1) - frame.x(0);
  const double width = std::min(step * 0.7, 80.0);
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const double middle = frame.x(static_cast<double>(i) + 0.5);
    const double top = frame.y(bars[i].value);
    frame.add(bar(middle - width / 2, top, width, frame.bottom() - top));
    // The numbers of narrow columns would overlap.
    if (step >= 30) {
      frame.add_text(middle, top - 4, number_text(bars[i].value), "middle");
    }
    if (step >= 14) {
      frame.add_text(middle, frame.bottom() + 16, bars[i].name, "middle", 12);
    }
  }
  return frame.svg();
}

namespace {

double row_height(const std::vector<std::string>& name) {
  return kRow + kNameLine * static_cast<double>(name.size() - 1);
}

}  // namespace

std::string rows_svg(const std::string& title, const std::string& x_label,
                     const std::vector<NamedBar>& bars) {
  std::vector<std::vector<std::string>> names;
  PlotSize size;
  size.left = kNameWidth;
  size.right = 60;
  size.height = size.top + size.bottom;
  for (const NamedBar& bar : bars) {
    names.push_back(wrapped_lines(shortened_middle(bar.name, kNameCharacters),
                                  kNameLetters));
    size.height += row_height(names.back());
  }
  PlotAxis y;
  y.has_ticks = false;
  PlotFrame frame(title, size, counted(x_label, largest_of(bars)), y);
  double top = frame.top();
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const double height = row_height(names[i]);
    const double middle = top + height / 2;
    const double end = frame.x(bars[i].value);
    frame.add(
        bar(frame.left(), middle - kRow / 2 + 3, end - frame.left(), kRow - 6));
    // A tool tip has the whole of a name that the lines show in parts.
    if (names[i].front() != bars[i].name) {
      frame.add(fmt::format("<g><title>{}</title>\n", escaped(bars[i].name)));
    }
    double baseline = top + 14;
    for (const std::string& line : names[i]) {
      frame.add_text(frame.left() - 6, baseline, line, "end");
      baseline += kNameLine;
    }
    if (names[i].front() != bars[i].name) frame.add("</g>\n");
    frame.add_text(end + 5, middle + 4, number_text(bars[i].value));
    top += height;
  }
  return frame.svg();
}

namespace {

constexpr std::size_t kShades = 10;  // the classes "shade0" to "shade9"
constexpr double kLargestSide = 420;

// Returns 0 only for a share of 0, so that rare pairs remain visible.
std::size_t shade_of(double share) {
  if (share <= 0) return 0;
  return std::clamp<std::size_t>(static_cast<std::size_t>(share * kShades), 1,
                                 kShades - 1);
}

PlotAxis along(std::string label, std::size_t cells) {
  PlotAxis axis;
  axis.label = std::move(label);
  axis.high = static_cast<double>(cells);
  axis.has_ticks = false;
  return axis;
}

}  // namespace

std::string heat_map_svg(const HeatMap& map) {
  const std::size_t n = map.names.size();
  const double side =
      std::min(kLargestSide, std::max(180.0, 64.0 * static_cast<double>(n)));
  const double cell = side / static_cast<double>(n);
  PlotSize size;
  size.left = 86;
  size.width = size.left + side + size.right;
  size.height = size.top + side + size.bottom;
  PlotFrame frame(map.title, size, along(map.column_label, n),
                  along(map.row_label, n));
  for (std::size_t row = 0; row < n; ++row) {
    std::uint64_t sum = 0;
    for (std::size_t column = 0; column < n; ++column) {
      sum += map.counts[row * n + column];
    }
    const double top = frame.top() + cell * static_cast<double>(row);
    for (std::size_t column = 0; column < n; ++column) {
      const std::uint64_t count = map.counts[row * n + column];
      const double share =
          sum > 0 ? static_cast<double>(count) / static_cast<double>(sum) : 0;
      const double left = frame.left() + cell * static_cast<double>(column);
      frame.add(fmt::format(
          "<rect class=\"shade{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" "
          "height=\"{:.1f}\"><title>{} of {} ({:.3g} %)</title></rect>\n",
          shade_of(share), left, top, cell, cell, count, sum, 100 * share));
      if (cell >= 34) {
        frame.add_text(left + cell / 2, top + cell / 2 + 4,
                       std::to_string(count), "middle", 12,
                       share > 0.5 ? "on-dark" : "on-light");
      }
    }
    if (cell >= 12) {
      frame.add_text(frame.left() - 6, top + cell / 2 + 4, map.names[row],
                     "end", 8);
    }
    const double middle =
        frame.left() + cell * (static_cast<double>(row) + 0.5);
    if (cell >= 24) {
      frame.add_text(middle, frame.bottom() + 16, map.names[row], "middle", 6);
    }
  }
  return frame.svg();
}

namespace {

constexpr double kLegendWidth = 170;

void keep(const PlotLine& line, std::size_t i, PlotLine& kept) {
  kept.x.push_back(line.x[i]);
  kept.y.push_back(line.y[i]);
}

// Adds the smallest and the largest of the points in [first, end), in their
// order.
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
      // A path of one point is invisible.
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
