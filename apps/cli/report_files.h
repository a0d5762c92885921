#pragma once

// Puts reports where they belong: what `smdebug report` and the rules that
// make one share.

#include <span>
#include <string>
#include <vector>

#include "smdebug/base/result.h"
#include "smdebug/report/rule_report.h"

namespace smdebug {

// Writes `files` below `location`, each whole, and returns the place of the
// first; empty where there are none. Fails as `open_storage` and `put_object`.
Result<std::string> write_report_files(const std::string& location,
                                       std::span<const ReportFile> files);

}  // namespace smdebug
