#pragma once

// The frame that plots are drawn into: an SVG element with two axes, their
// ticks, grid and labels. Colors are classes of the style sheet
// (`report_style`), so that a plot is readable on paper and on a dark screen.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace smdebug {

// The number of colors for kinds of a thing, and for positions in an order.
inline constexpr std::size_t kPlotKinds = 8;
inline constexpr std::size_t kPlotOrder = 10;

// One direction of a plot.
struct PlotAxis {
  std::string label;  // with its unit
  double low = 0;
  double high = 1;
  bool has_ticks = true;  // otherwise the plot adds its own labels
  bool whole_numbers = false;
};

// In units of the SVG: pixels, if the page is wide enough.
struct PlotSize {
  double width = 660;
  double height = 300;
  double left = 66;   // from the edge to the axis
  double right = 16;  // includes the legend
  double top = 10;
  double bottom = 46;
};

class PlotFrame {
 public:
  // Screen readers read `title`.
  PlotFrame(std::string_view title, const PlotSize& size, PlotAxis x,
            PlotAxis y);

  // Returns the position of a value. Values outside of the axis are placed at
  // its end.
  double x(double value) const;
  double y(double value) const;
  double left() const { return size_.left; }
  double right() const { return size_.width - size_.right; }
  double top() const { return size_.top; }
  double bottom() const { return size_.height - size_.bottom; }

  void add(std::string_view markup) { body_ += markup; }

  // Adds text at a position; `anchor` is "start", "middle" or "end". Escapes
  // markup in `text`, and shortens text of more than `characters` in its
  // middle, with the whole in a tool tip.
  void add_text(double x, double y, std::string_view text,
                std::string_view anchor = "start",
                std::size_t characters = 1000, std::string_view kind = "tick");

  // Adds a legend entry to the right of the plot: a short line of the class
  // `line_class` and its name. `row` counts from the top.
  void add_legend(std::size_t row, const std::string& name,
                  std::string_view line_class);

  // Returns the whole element.
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

// Returns the class of kind `i`, and of position `i` in an order. Colors
// repeat after the last one.
std::string kind_class(std::size_t i);
std::string order_class(std::size_t i);

// Returns an axis that covers all finite `values`, with a small margin. It
// starts at 0 if the smallest value is close to 0.
PlotAxis axis_over(std::string label, const std::vector<double>& values);

}  // namespace smdebug
