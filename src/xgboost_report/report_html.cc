// The report of an XGBoost training as files: the page with its sections in
// order (their contents are in sections.cc), and the rule's files.

#include <map>

#include <fmt/format.h>

#include "smdebug/base/try.h"
#include "smdebug/base/version.h"
#include "smdebug/xgboost_report/xgboost_report.h"

#include "xgboost_report/plot/markup.h"
#include "xgboost_report/sections.h"

namespace smdebug {
namespace {

// Forbids scripts, images, fonts and connections: even a name that was not
// escaped could not load anything.
constexpr std::string_view kPolicy =
    "default-src 'none'; style-src 'unsafe-inline'";

Result<std::vector<ReportFile>> make_files(Trial& trial, double now_seconds) {
  SMD_CHECK_OK(check_xgboost_tensors(trial, trial.location()));
  SMD_TRY(const auto report, read_xgboost_report(trial, now_seconds));
  return xgboost_report_files(report);
}

class Page {
 public:
  template <typename T>
  void add(std::string_view id, std::string_view title,
           const ReportSection<T>& section,
           std::string (*show)(const T& shown)) {
    add(id, title,
        section.shown ? show(*section.shown) : why_missing(section.missing));
  }

  void add(std::string_view id, std::string_view title,
           const std::string& body) {
    html_ += fmt::format("<section id=\"{}\">\n<h2>{}. {}</h2>\n{}</section>\n",
                         id, ++number_, title, body);
  }

  const std::string& html() const { return html_; }

 private:
  // A long reason that several sections share appears once.
  std::string why_missing(const std::string& reason) {
    constexpr std::size_t kShort = 80;
    const auto [first, is_new] = reasons_.try_emplace(reason, number_ + 1);
    if (is_new || reason.size() <= kShort) {
      return fmt::format("<p class=\"missing\">{}</p>\n", wrappable(reason));
    }
    return fmt::format(
        "<p class=\"soft\">Not shown, for the same reason as section {}.</p>\n",
        first->second);
  }

  std::map<std::string, int> reasons_;  // and the section that explains each
  std::string html_;
  int number_ = 0;
};

}  // namespace

const RuleReport kXgboostRuleReport = {"CreateXgboostReport", &make_files};

std::vector<ReportFile> xgboost_report_files(const XgboostReport& report) {
  const std::string name = "rule-output/CreateXgboostReport/xgboost_report";
  return {{name + ".html", xgboost_report_html(report)},
          {name + ".json", xgboost_report_json(report)}};
}

std::string xgboost_report_html(const XgboostReport& report) {
  Page page;
  page.add("run", "Training run", run_section(report));
  page.add("labels", "Distribution of true labels", report.labels,
           labels_section);
  page.add("metrics", "Loss and metrics by round", report.metrics,
           metrics_section);
  page.add("importance", "Feature importance", report.importance,
           importance_section);
  page.add("confusion", "Confusion matrix", report.confusion,
           confusion_section);
  page.add("scores", "Evaluation of the confusion matrix", report.scores,
           scores_section);
  page.add("class-accuracy", "Accuracy of each class by round",
           report.class_accuracy, class_accuracy_section);
  page.add("roc", "ROC curve", report.roc, roc_section);
  page.add("residuals", "Distribution of residuals", report.residuals,
           residuals_section);
  page.add("error-by-label", "Validation error by label and round",
           report.binned_errors, binned_errors_section);
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n"
      "<meta name=\"viewport\" content=\"width=device-width\">\n"
      "<title>XGBoost training report: {}</title>\n<style>{}</style>\n"
      "</head>\n<body>\n<main>\n<h1>XGBoost training report</h1>\n"
      "<p class=\"soft\">Made by smdebug {}. {}</p>\n{}</main>\n</body>\n"
      "</html>\n",
      kPolicy, escaped(report.overview.location), report_style(), kVersion,
      disclaimer(), page.html());
}

}  // namespace smdebug
