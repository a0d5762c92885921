#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "smdebug/xgboost_report/xgboost_report.h"

#include "base/json.h"

namespace smdebug {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// A report whose sections are all missing.
XgboostReport empty_report() {
  XgboostReport report;
  report.overview.location = "/runs/<b>a</b>";
  report.task_reason = "nothing was saved";
  report.hyperparameters.missing = "no hyperparameters";
  report.labels.missing = "no labels";
  report.metrics.missing = "no metrics";
  report.importance.missing = "no importance";
  report.confusion.missing = "no confusion";
  report.scores.missing = "no scores";
  report.class_accuracy.missing = "no class accuracy";
  report.roc.missing = "no roc";
  report.residuals.missing = "no residuals";
  report.binned_errors.missing = "no binned errors";
  return report;
}

TEST(XgboostReport, ShowsWhyASectionIsMissing) {
  const std::string html = xgboost_report_html(empty_report());
  for (const char* text :
       {"no hyperparameters", "no labels", "no metrics", "no importance",
        "no confusion", "no scores", "no class accuracy", "no roc",
        "no residuals", "no binned errors"}) {
    EXPECT_THAT(html, HasSubstr("<p class=\"missing\">" + std::string(text)));
  }
  EXPECT_THAT(html, Not(HasSubstr("<svg")));
}

TEST(XgboostReport, HasItsTenSectionsInTheirOrder) {
  const std::string html = xgboost_report_html(empty_report());
  std::size_t at = 0;
  for (const char* id :
       {"run", "labels", "metrics", "importance", "confusion", "scores",
        "class-accuracy", "roc", "residuals", "error-by-label"}) {
    const auto found = html.find("<section id=\"" + std::string(id), at);
    ASSERT_NE(found, html.npos) << id;
    at = found + 1;
  }
  EXPECT_EQ(html.find("<section", at), html.npos);
}

TEST(XgboostReport, TakesNoMarkupFromNames) {
  XgboostReport report = empty_report();
  const std::string evil = "<script>alert(1)</script>\"'&";
  report.hyperparameters.shown = {{evil, evil}};
  XgboostReport::Metric metric;
  metric.name = evil;
  metric.lines = {{evil, {0, 1}, {1, 2}}, {"b", {0, 1}, {1, 2}}};
  metric.reading = evil;
  report.metrics.shown = {{metric}};
  report.importance.shown = {{{evil, 3, {{evil, 1}}}}};
  report.left_out = {{evil, evil}};
  const std::string html = xgboost_report_html(report);
  EXPECT_THAT(html, AllOf(Not(HasSubstr("<script")), Not(HasSubstr("<b>")),
                          HasSubstr("&lt;script&gt;")));
}

TEST(XgboostReport, AllowsNothingToBeFetched) {
  const std::string html = xgboost_report_html(empty_report());
  EXPECT_THAT(html, AllOf(HasSubstr("default-src 'none'"),
                          Not(HasSubstr("://")), Not(HasSubstr("src=\""))));
}

TEST(XgboostReport, ReportsAPoorModel) {
  XgboostReport report = empty_report();
  XgboostReport::Roc roc;
  roc.auc = 0.55;
  roc.false_positive_rate = {0, 0.5, 1};
  roc.true_positive_rate = {0, 0.55, 1};
  report.roc.shown = roc;
  EXPECT_THAT(xgboost_report_html(report), HasSubstr("underperforms"));
  report.roc.shown->auc = 0.65;
  EXPECT_THAT(xgboost_report_html(report), Not(HasSubstr("underperforms")));
}

TEST(XgboostReport, ShowsTheLargestOfManyAndSaysSo) {
  XgboostReport report = empty_report();
  XgboostReport::Importance importance;
  importance.type = "gain";
  for (int i = 0; i < 60; ++i) {
    importance.features.push_back({"f" + std::to_string(i) + "x", 60.0 - i});
  }
  report.importance.shown = {{importance}};
  XgboostReport::Labels labels;
  XgboostReport::ClassAccuracy accuracy;
  XgboostReport::Confusion confusion;
  accuracy.rounds = {0};
  for (int i = 0; i < 60; ++i) {
    labels.classes.emplace_back(i, 100 + i);
    accuracy.classes.push_back(i);
    accuracy.accuracy.push_back({i == 3 ? NAN : 1 - i / 100.0});
    confusion.classes.push_back(i);
  }
  confusion.counts.assign(60 * 60, 1);
  report.labels.shown = labels;
  report.class_accuracy.shown = accuracy;
  report.confusion.shown = confusion;
  const std::string html = xgboost_report_html(report);
  EXPECT_THAT(
      html,
      AllOf(HasSubstr("first 20 of 60 features"), HasSubstr(">f19x<"),
            Not(HasSubstr(">f20x<")), HasSubstr("40 largest of 60 classes"),
            HasSubstr("30 classes with the most samples, of 60"),
            HasSubstr("8 classes with the lowest final accuracy"),
            HasSubstr(">class 59<"), Not(HasSubstr(">class 3<"))));
}

TEST(XgboostReport, ExplainsSectionsWithoutPredictionsOnce) {
  XgboostReport report = empty_report();
  const std::string why =
      "Predictions were not saved. Save the collections 'predictions' and "
      "'labels' with a command that is too long to repeat.";
  for (std::string* missing : {&report.confusion.missing,
                               &report.scores.missing, &report.roc.missing}) {
    *missing = why;
  }
  const std::string html = xgboost_report_html(report);
  const auto first = html.find("Predictions were not saved");
  EXPECT_NE(first, html.npos);
  EXPECT_EQ(html.find("Predictions were not saved", first + 1), html.npos);
  EXPECT_THAT(html, HasSubstr("for the same reason as section 5."));
}

TEST(XgboostReport, ShowsNamesThatDifferOnlyAtTheirEnd) {
  XgboostReport report = empty_report();
  const std::string start = "customer_worst_texture_normalised_over_the_last_";
  report.importance.shown = {
      {{"gain", 3, {{start + "30_days", 0.6}, {start + "90_days", 0.4}}}}};
  const std::string html = xgboost_report_html(report);
  EXPECT_THAT(html,
              AllOf(HasSubstr("_30_days</text>"), HasSubstr("_90_days</text>"),
                    HasSubstr("<title>" + start + "90_days</title>"),
                    Not(HasSubstr("…"))));
}

TEST(XgboostReport, CallsADeviationNeitherBetterNorWorse) {
  XgboostReport report = empty_report();
  XgboostReport::Metric metric;
  metric.name = "auc-std";
  metric.is_deviation = true;
  metric.lines = {{"test", {0, 1}, {0.2, 0.1}}};
  report.metrics.shown = {{metric}};
  EXPECT_THAT(xgboost_report_html(report), Not(HasSubstr("is better")));
}

TEST(XgboostReport, GivesItsDataAsJson) {
  XgboostReport report = empty_report();
  report.task = XgboostReport::Task::multiclass;
  XgboostReport::Confusion confusion;
  confusion.classes = {0, 4};
  confusion.counts = {1, 2, 3, 4};
  report.confusion.shown = confusion;
  XgboostReport::Metric metric;
  metric.name = "merror";
  metric.lines = {{"train", {0, 5}, {0.5, NAN}}};
  report.metrics.shown = {{metric}};
  const auto json = Json::parse(xgboost_report_json(report));
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(*json->find("task")->as_string(), "multiclass");
  EXPECT_EQ(json->find("confusion_matrix")->find("matrix")->dump(),
            "[[1,2],[3,4]]");
  EXPECT_EQ(*json->find("roc")->find("missing")->as_string(), "no roc");
  const Json& sets = *json->find("metrics")->as_array()->front().find("sets");
  EXPECT_EQ(sets.as_array()->front().find("values")->dump(), "[0.5,null]");
}

TEST(RuleReport, HasTheKeysOfTheRule) {
  const auto files = xgboost_report_files(empty_report());
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files[0].key,
            "rule-output/CreateXgboostReport/xgboost_report.html");
  EXPECT_EQ(files[1].key,
            "rule-output/CreateXgboostReport/xgboost_report.json");
}

}  // namespace
}  // namespace smdebug
