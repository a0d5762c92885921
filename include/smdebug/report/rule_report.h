#pragma once

// Rules whose result is a report. A rule opens no file, and this makes none:
// the edge that judged a run puts the files beside it when it has ended.

#include <span>
#include <string>
#include <vector>

#include "smdebug/base/result.h"
#include "smdebug/read/trial.h"
#include "smdebug/report/xgboost_report.h"
#include "smdebug/rules/verdict.h"

namespace smdebug {

// A file of a run, by its key in the run's storage.
struct ReportFile {
  std::string key;
  std::string text;
};

/// Returns the page of the report and its data, in this order: the keys are
/// "rule-output/CreateXgboostReport/xgboost_report.html" and ".json".
std::vector<ReportFile> xgboost_report_files(const XgboostReport& report);

/// Returns the files of every report that a rule among `verdicts` stands for;
/// none for rules that only judge, and for one that found nothing to show.
/// `now_seconds` is the time on them. Fails as `read_xgboost_report`.
Result<std::vector<ReportFile>> rule_report_files(
    Trial& trial, std::span<const Verdict> verdicts, double now_seconds);

}  // namespace smdebug
