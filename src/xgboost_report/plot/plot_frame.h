#pragma once

// The frame that plots are drawn into: an SVG element with two axes, their
// ticks, grid and labels. Colours are classes of the style sheet
// (report_style.h), so that a plot is readable on paper and on a dark screen.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "xgboost_report/plot/axis_ticks.h"

namespace smdebug {

// Colours for up to so many kinds of a thing, and for so many steps of an
// order.
inline constexpr std::size_t kPlotKinds = 8;
inline constexpr std::size_t kPlotOrder = 10;

// One direction of a plot.
struct PlotAxis {
  std::string label;  // with its unit
  double low = 0;
  double high = 1;
  bool has_ticks = true;  // else the plot labels what stands along it
  bool whole_numbers = false;
};

// In units of the SVG, a pixel where there is room.
struct PlotSize {
  double width = 660;
  double height = 300;
  double left = 66;   // from the edge to the axis
  double right = 16;  // room for a legend
  double top = 10;
  double bottom = 46;
};

class PlotFrame {
 public:
  // `title` is read to those who cannot see the plot.
  PlotFrame(std::string_view title, const PlotSize& size, PlotAxis x,
            PlotAxis y);

  // Where a value lies. Values outside the axis lie at its end.
  double x(double value) const;
  double y(double value) const;
  double left() const { return size_.left; }
  double right() const { return size_.width - size_.right; }
  double top() const { return size_.top; }
  double bottom() const { return size_.height - size_.bottom; }

  void add(std::string_view markup) { body_ += markup; }

  // A text at a place; `anchor` is "start", "middle" or "end". Markup in
  // `text` is escaped, and text of more than `characters` is cut, with the
  // whole in a tool tip.
  void add_text(double x, double y, std::string_view text,
                std::string_view anchor = "start",
                std::size_t characters = 1000, std::string_view kind = "tick");

  // A short line of that class and its name, to the right of the plot; `place`
  // counts from the top.
  void add_legend(std::size_t place, const std::string& name,
                  std::string_view line_class);

  // The whole element.
  std::string svg() const;

 private:
  void add_x_axis();
  void add_y_axis();

  PlotSize size_;
  PlotAxis x_;
  PlotAxis y_;
  std::string title_;
  std::string body_;
};

// The class of kind `i`, and of the `i`-th of an order. Beyond the last one,
// colours come again.
std::string kind_class(std::size_t i);
std::string order_class(std::size_t i);

// An axis that holds all of `values` that are finite, with a little room;
// from 0 on where they are nearly so.
PlotAxis axis_over(std::string label, const std::vector<double>& values);

}  // namespace smdebug
