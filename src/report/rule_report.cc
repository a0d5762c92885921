#include "smdebug/report/rule_report.h"

#include <algorithm>

namespace smdebug {

std::vector<ReportFile> xgboost_report_files(const XgboostReport& report) {
  const std::string name = "rule-output/CreateXgboostReport/xgboost_report";
  return {{name + ".html", xgboost_report_html(report)},
          {name + ".json", xgboost_report_json(report)}};
}

Result<std::vector<ReportFile>> rule_report_files(
    Trial& trial, std::span<const Verdict> verdicts, double now_seconds) {
  const bool is_wanted = std::ranges::any_of(verdicts, [](const Verdict& v) {
    return v.rule == "CreateXgboostReport" && v.observations_judged > 0;
  });
  if (!is_wanted) return std::vector<ReportFile>();
  SMD_TRY(const auto report, read_xgboost_report(trial, now_seconds));
  return xgboost_report_files(report);
}

}  // namespace smdebug
