#include "xgboost_report/plot/plots.h"

#include <algorithm>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace smdebug {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

TEST(LinePlot, KeepsThePeaksOfALongLine) {
  PlotLine line;
  for (int i = 0; i < 100'000; ++i) {
    line.x.push_back(i);
    line.y.push_back(i == 54'321 ? 9 : i == 77'777 ? -9 : 0);
  }
  const PlotLine drawn = thinned(line);
  EXPECT_LE(drawn.x.size(), kPlottedPoints);
  EXPECT_THAT(drawn.x, AllOf(Contains(0), Contains(54'321), Contains(77'777),
                             Contains(99'999)));
  EXPECT_TRUE(std::ranges::is_sorted(drawn.x));
}

TEST(LinePlot, LeavesAGapWhereThereIsNoNumber) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  LinePlot plot;
  plot.title = "a";
  plot.y = axis_over("loss", {0, 1});
  plot.lines = {{"train", {0, 1, 2, 3, 4}, {0, 1, nan, 1, 0}}};
  const std::string svg = line_plot_svg(plot);
  const std::string path = svg.substr(svg.find("class=\"line"));
  EXPECT_EQ(std::ranges::count(path.substr(0, path.find("/>")), 'M'), 2);
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
}

TEST(LinePlot, DrawsASinglePointAsADot) {
  LinePlot plot;
  plot.y = axis_over("loss", {0.5});
  plot.lines = {{"train", {3}, {0.5}}};
  EXPECT_THAT(line_plot_svg(plot), HasSubstr("<circle"));
}

TEST(LinePlot, NamesItsLinesAndAxes) {
  LinePlot plot;
  plot.title = "loss by round";
  plot.x_label = "boosting round";
  plot.y = axis_over("logloss", {0, 1});
  plot.lines = {{"train", {0, 1}, {0, 1}}, {"<b>", {0, 1}, {1, 0}}};
  EXPECT_THAT(line_plot_svg(plot),
              AllOf(HasSubstr(">train<"), HasSubstr(">&lt;b&gt;<"),
                    HasSubstr(">boosting round<"), HasSubstr(">logloss<"),
                    HasSubstr("aria-label=\"loss by round\"")));
}

TEST(PlotAxis, HoldsAllNumbersThatAreFinite) {
  const double inf = std::numeric_limits<double>::infinity();
  const PlotAxis axis = axis_over("", {5, inf, 6});
  EXPECT_LT(axis.low, 5);
  EXPECT_GT(axis.high, 6);
  EXPECT_LT(axis.high, 7);
  EXPECT_EQ(axis_over("", {0.1, 0.9}).low, 0);
  const PlotAxis constant = axis_over("", {2, 2});
  EXPECT_LT(constant.low, 2);
  EXPECT_GT(constant.high, 2);
}

}  // namespace
}  // namespace smdebug
