#include "xgboost_report/plot/plot_frame.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "xgboost_report/plot/markup.h"
#include "xgboost_report/plot/scale.h"

namespace smdebug {
namespace {

constexpr std::size_t kTicksAcross = 8;
constexpr std::size_t kTicksUp = 6;
constexpr std::size_t kLegendCharacters = 18;
constexpr std::size_t kAxisCharacters = 36;

double part_of(const PlotAxis& axis, double value) {
  return std::clamp((value - axis.low) / (axis.high - axis.low), 0.0, 1.0);
}

}  // namespace

std::string kind_class(std::size_t i) {
  return fmt::format("kind{}", i % kPlotKinds);
}

std::string order_class(std::size_t i) {
  return fmt::format("order{}", i % kPlotOrder);
}

PlotAxis axis_over(std::string label, const std::vector<double>& values) {
  PlotAxis axis;
  axis.label = std::move(label);
  double low = kLargestShown, high = -kLargestShown;
  for (const double value : values) {
    if (!is_shown(value)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  if (low > high) return axis;
  if (low == high) {
    const double half = low == 0 ? 0.5 : std::abs(low) * 0.1;
    low -= half;
    high += half;
  }
  // Values that begin close to 0 are shown with the zero.
  const double margin = 0.04 * (high - low);
  axis.low = low >= 0 && low < (high - low) / 2 ? 0 : low - margin;
  axis.high = high + margin;
  return axis;
}

PlotFrame::PlotFrame(std::string_view title, const PlotSize& size, PlotAxis x,
                     PlotAxis y)
    : size_(size), x_(std::move(x)), y_(std::move(y)), title_(title) {
  add_x_axis();
  add_y_axis();
}

double PlotFrame::x(double value) const {
  return left() + part_of(x_, value) * (right() - left());
}

double PlotFrame::y(double value) const {
  return bottom() - part_of(y_, value) * (bottom() - top());
}

void PlotFrame::add_x_axis() {
  if (x_.has_ticks) {
    for (const AxisTick& tick :
         axis_ticks(x_.low, x_.high, kTicksAcross, x_.whole_numbers)) {
      const double at = x(tick.value);
      body_ +=
          fmt::format("<path class=\"grid\" d=\"M{:.1f} {:.1f}V{:.1f}\"/>\n",
                      at, top(), bottom());
      add_text(at, bottom() + 16, tick.label, "middle");
    }
  }
  body_ += fmt::format("<path class=\"axis\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>\n",
                       left(), bottom(), right());
  add_text((left() + right()) / 2, size_.height - 8, x_.label, "middle", 1000,
           "label");
}

void PlotFrame::add_y_axis() {
  if (y_.has_ticks) {
    for (const AxisTick& tick :
         axis_ticks(y_.low, y_.high, kTicksUp, y_.whole_numbers)) {
      const double at = y(tick.value);
      body_ +=
          fmt::format("<path class=\"grid\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>\n",
                      left(), at, right());
      add_text(left() - 6, at + 4, tick.label, "end");
    }
  }
  body_ += fmt::format("<path class=\"axis\" d=\"M{:.1f} {:.1f}V{:.1f}\"/>\n",
                       left(), top(), bottom());
  body_ += fmt::format(
      "<text class=\"label\" text-anchor=\"middle\" "
      "transform=\"translate(13 {:.1f}) rotate(-90)\">{}</text>\n",
      (top() + bottom()) / 2,
      escaped(shortened_middle(y_.label, kAxisCharacters)));
}

void PlotFrame::add_text(double x, double y, std::string_view text,
                         std::string_view anchor, std::size_t characters,
                         std::string_view kind) {
  const std::string shown = shortened_middle(text, characters);
  const std::string tool_tip =
      shown == text ? "" : fmt::format("<title>{}</title>", escaped(text));
  body_ += fmt::format(
      "<text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" "
      "text-anchor=\"{}\">{}{}</text>\n",
      kind, x, y, anchor, tool_tip, escaped(shown));
}

void PlotFrame::add_legend(std::size_t row, const std::string& name,
                           std::string_view line_class) {
  const double at = right() + 14;
  const double height = top() + 12 + 18 * static_cast<double>(row);
  body_ += fmt::format("<path class=\"line {}\" d=\"M{:.1f} {:.1f}h22\"/>\n",
                       line_class, at, height - 4);
  add_text(at + 28, height, name, "start", kLegendCharacters);
}

std::string PlotFrame::svg() const {
  return fmt::format(
      "<svg role=\"img\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
      "style=\"max-width:{0:.0f}px\" aria-label=\"{2}\">\n{3}</svg>\n",
      size_.width, size_.height, escaped(title_), body_);
}

}  // namespace smdebug
