#include "xgboost_report/plot/bar_plot.h"

#include <algorithm>

#include <fmt/format.h>

#include "report/wording.h"
#include "xgboost_report/plot/plot_frame.h"

namespace smdebug {
namespace {

constexpr double kRow = 20;
constexpr double kNameWidth = 190;
constexpr std::size_t kNameCharacters = 28;

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
    // A hair apart, so that neighbours of one height are seen as two.
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
    // Where columns are narrow, their numbers would lie on each other.
    if (step >= 30) {
      frame.add_text(middle, top - 4, number_text(bars[i].value), "middle");
    }
    if (step >= 14) {
      frame.add_text(middle, frame.bottom() + 16, bars[i].name, "middle", 12);
    }
  }
  return frame.svg();
}

std::string rows_svg(const std::string& title, const std::string& x_label,
                     const std::vector<NamedBar>& bars) {
  const auto rows = static_cast<double>(bars.size());
  PlotSize size;
  size.left = kNameWidth;
  size.right = 60;
  size.height = size.top + size.bottom + kRow * rows;
  PlotAxis y;
  y.high = rows;
  y.has_ticks = false;
  PlotFrame frame(title, size, counted(x_label, largest_of(bars)), y);
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const double top = frame.top() + kRow * static_cast<double>(i);
    const double end = frame.x(bars[i].value);
    frame.add(bar(frame.left(), top + 3, end - frame.left(), kRow - 6));
    frame.add_text(frame.left() - 6, top + 14, bars[i].name, "end",
                   kNameCharacters);
    frame.add_text(end + 5, top + 14, number_text(bars[i].value));
  }
  return frame.svg();
}

}  // namespace smdebug
