#pragma once

// A rule whose result is a report, such as CreateXgboostReport. A rule opens
// no file; `RunMonitor` writes the files when the run has ended. Reports are
// plugins: the program that judges a run passes those it wants
// (`RunMonitorOptions::reports`), and no other folder depends on them.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "smdebug/base/result.h"
#include "smdebug/base/wait_limit.h"
#include "smdebug/read/trial.h"

namespace [[gnu::visibility("default")]] smdebug {

// A file of a run, by its key in the run's storage.
struct ReportFile {
  std::string key;
  std::string text;
};

struct RuleReport {
  std::string_view rule;  // its name, as in `Verdict::rule`
  // Makes the files. `now_seconds` is the creation time to show, in seconds
  // since the epoch.
  Result<std::vector<ReportFile>> (*make)(Trial& trial, double now_seconds);
};

/// Writes `files` below `location`, each as a whole, and returns the path of
/// the first; empty if there are none. `limit` is that of each call of the
/// storage. Fails as `open_storage` and `put_object`.
Result<std::string> write_report_files(const std::string& location,
                                       std::span<const ReportFile> files,
                                       std::optional<WaitLimit> limit = {});

}  // namespace smdebug
