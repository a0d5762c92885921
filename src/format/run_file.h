#pragma once

// The files that describe a run as a whole (docs/format.md): `run.json`,
// written at the first step and replaced at the end of the run, and
// `claim.smd`, which names the process that writes the run.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "smdebug/base/result.h"
#include "smdebug/core/mode.h"

#include "base/environment.h"

namespace smdebug {

// A start of the training in this folder. A restart is a new attempt.
struct RunAttempt {
  std::string host;
  std::int64_t process_id = 0;
  double started_seconds = 0;           // since the epoch
  std::optional<double> ended_seconds;  // none: running, or killed
  std::vector<std::string> command;
  std::map<std::string, std::string> versions;     // "python" -> "3.11.7"
  std::map<std::string, std::string> environment;  // rank, world size, seeds
  // The first step that this attempt wrote. It overwrites the later steps of
  // older attempts.
  std::optional<Step> first_step;
  // Filled at the end.
  std::string status;  // "running", "finished", or an error sentence
  std::string raised;  // the exception that ended the training; empty: none did
  std::map<std::string, double> cost;  // "step_thread_seconds" -> 0.02
};

struct RunFile {
  int version = 1;
  std::string smdebug_version;
  std::string framework;
  std::string configuration_json;              // the finalized configuration
  std::vector<std::string> saved_collections;  // by name
  std::vector<RunAttempt> attempts;
};

std::string write_run_file(const RunFile& run);

// Fails with `corrupt`. Members that are missing or have another type keep
// their defaults.
Result<RunFile> parse_run_file(std::string_view text);

// The owner of a run. A later process may take over the run of one that has
// ended.
std::string write_claim(const ProcessMark& owner);

// Returns nothing for an invalid file, and for the empty one of the original.
std::optional<ProcessMark> parse_claim(std::string_view text);

}  // namespace smdebug
