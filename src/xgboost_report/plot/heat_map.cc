#include "xgboost_report/plot/heat_map.h"

#include <algorithm>

#include <fmt/format.h>

#include "xgboost_report/plot/plot_frame.h"

namespace smdebug {
namespace {

constexpr std::size_t kShades = 10;  // the classes "shade0" to "shade9"
constexpr double kLargestSide = 420;

// 0 for a share of 0 alone, so that the rare is seen.
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

}  // namespace smdebug
