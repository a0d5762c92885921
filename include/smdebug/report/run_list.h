#pragma once

// The list of runs that `smdebug ls` prints: one row per run.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "smdebug/core/mode.h"
#include "smdebug/core/run_progress.h"
#include "smdebug/read/run_folder.h"
#include "smdebug/report/run_overview.h"
#include "smdebug/rules/verdict.h"

namespace [[gnu::visibility("default")]] smdebug {

struct RunRow {
  std::string run;  // a path that other commands accept
  // None if the run cannot be read; see `problem`.
  std::optional<RunState> state;
  std::string framework;  // empty: unknown
  std::uint64_t attempt = 0;
  std::uint64_t workers = 0;
  std::uint64_t steps = 0;  // saved
  Step last_step = -1;      // the last saved one, global; -1: none
  // The first loss by name, in the first mode that has it; its step is -1 if it
  // is not known.
  std::optional<RunProgress::Loss> loss;
  std::vector<RecordedStatus> rules;  // of this attempt
  std::uint64_t bytes = 0;
  double started_seconds = 0;  // of this attempt, since the epoch; 0: unknown
  std::uint64_t dropped_tensors = 0;
  // Why the run, or a part of it, could not be recorded or read; empty: it was.
  std::string problem;

  void add_problem(const std::string& text) {
    problem += (problem.empty() ? "" : "; ") + text;
  }
};

/// Returns the row of a run by its progress, without `state` and `rules`.
RunRow run_row(const RunProgress& progress);

/// Does the same for a run without `progress.json`, from its overview, without
/// `last_step`.
RunRow run_row(const RunOverview& overview);

/// Sorts the newest run first; runs that started at the same time by name.
void sort_rows(std::vector<RunRow>& rows);

/// Returns what the rules found in a few words: "VanishingGradient",
/// "advice: Overfit" if that is all, "no issue", "judging"; empty if no rule
/// has judged the run.
std::string findings_text(const RunRow& row);

/// Returns the rows as a table. Columns that are the same for every run, such
/// as the attempt of runs that never restarted, are left out. `wall_seconds` is
/// the time now.
std::string run_list_text(std::span<const RunRow> rows, double wall_seconds);

/// Returns the rows as a JSON object with the array `runs`, indented.
std::string run_list_json(std::span<const RunRow> rows);

}  // namespace smdebug
