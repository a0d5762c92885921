#pragma once

// CreateXgboostReport: asks for what the report of an XGBoost training is made
// of, and never fires. The report itself is made when the run has ended, by the
// edge that judges it (report/rule_report.h), since a rule opens no file.

#include "smdebug/rules/rule.h"

namespace smdebug {

extern const RuleFactory kCreateXgboostReport;

}  // namespace smdebug
