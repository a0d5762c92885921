#include "smdebug/xgboost_report/xgboost_report.h"

namespace smdebug {
namespace {

Result<std::vector<ReportFile>> make_files(Trial& trial, double now_seconds) {
  SMD_TRY(const auto report, read_xgboost_report(trial, now_seconds));
  return xgboost_report_files(report);
}

}  // namespace

const RuleReport kXgboostRuleReport = {"CreateXgboostReport", &make_files};

std::vector<ReportFile> xgboost_report_files(const XgboostReport& report) {
  const std::string name = "rule-output/CreateXgboostReport/xgboost_report";
  return {{name + ".html", xgboost_report_html(report)},
          {name + ".json", xgboost_report_json(report)}};
}

}  // namespace smdebug
