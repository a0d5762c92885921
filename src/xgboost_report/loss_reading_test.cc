#include "xgboost_report/loss_reading.h"

#include <cmath>
#include <functional>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace smdebug {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Line = XgboostReport::Metric::Line;

Line line(const std::string& set, const std::function<double(int)>& value) {
  Line line;
  line.set = set;
  for (int round = 0; round < 100; ++round) {
    line.rounds.push_back(round);
    line.values.push_back(value(round));
  }
  return line;
}

XgboostReport::Metric metric(std::vector<Line> lines,
                             const std::string& name = "logloss") {
  XgboostReport::Metric metric;
  metric.name = name;
  metric.larger_is_better = is_better_when_larger(name);
  metric.lines = std::move(lines);
  return metric;
}

double falling(int round) { return 0.1 + std::exp(-0.05 * round); }

TEST(LossReading, NamesTheRoundFromWhichTheModelOverFits) {
  const auto over =
      metric({line("train", falling), line("validation", [](int round) {
                return 0.5 + 0.0001 * (round - 40) * (round - 40);
              })});
  EXPECT_THAT(loss_reading(over),
              AllOf(HasSubstr("Over-fits"), HasSubstr("best at round 40 (0.5)"),
                    HasSubstr("69.6 % worse at round 99")));
}

TEST(LossReading, ReadsAMetricThatShouldGrowTheOtherWayRound) {
  const auto over =
      metric({line("train", [](int round) { return 0.5 + 0.004 * round; }),
              line("eval", [](int round) { return round < 20 ? 0.6 : 0.5; })},
             "auc");
  EXPECT_THAT(loss_reading(over), HasSubstr("Over-fits: eval was best at"));
}

TEST(LossReading, CallsAModelThatStillImprovesUnderFitted) {
  const auto under = metric(
      {line("train", [](int round) { return 2 - 0.01 * round; }),
       line("validation", [](int round) { return 2.01 - 0.01 * round; })});
  EXPECT_THAT(loss_reading(under), AllOf(HasSubstr("under-fits"),
                                         HasSubstr("no sign of over-fitting")));
}

TEST(LossReading, TellsOfAGap) {
  const auto gap = metric({line("train", [](int) { return 0.1; }),
                           line("my_holdout", [](int) { return 0.15; })});
  EXPECT_THAT(loss_reading(gap), AllOf(HasSubstr("my_holdout is 50 % worse"),
                                       Not(HasSubstr("under-fits"))));
}

TEST(LossReading, SaysWhatItWouldNeed) {
  EXPECT_THAT(loss_reading(metric({line("train", falling)})),
              HasSubstr("One set alone"));
  auto apart = metric({line("train", falling), line("validation", falling)});
  for (Step& round : apart.lines[1].rounds) round += 1000;
  EXPECT_THAT(loss_reading(apart), HasSubstr("Fewer than two rounds"));
}

TEST(LossReading, NamesTheRoundThatIsNotFinite) {
  const auto bad =
      metric({line("train", falling), line("validation", [](int round) {
                return round == 7 ? std::nan("") : 1.0;
              })});
  EXPECT_EQ(loss_reading(bad), "Not a finite number at round 7.");
}

TEST(LossReading, KnowsMetricsThatShouldGrow) {
  for (const char* name : {"auc", "aucpr", "map", "ndcg@5", "ndcg@5-"}) {
    EXPECT_TRUE(is_better_when_larger(name)) << name;
  }
  for (const char* name : {"logloss", "error@0.7", "rmse", "mape"}) {
    EXPECT_FALSE(is_better_when_larger(name)) << name;
  }
}

}  // namespace
}  // namespace smdebug
