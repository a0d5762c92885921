#pragma once

// `run.json`: what a run is, beside its tensors (docs/format.md "run.json").
// Written at the first step and replaced when the run ends.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "smdebug/base/result.h"
#include "smdebug/core/mode.h"

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
  // The first step this attempt wrote; what an older one wrote from there on
  // is overwritten.
  std::optional<Step> first_step;
  // Filled at the end.
  std::string status;  // "running", "finished", or an error sentence
  std::map<std::string, double> cost;  // "step_thread_seconds" -> 0.02
};

struct RunFile {
  int version = 1;
  std::string smdebug_version;
  std::string framework;
  std::string configuration_json;              // the finalized configuration
  std::vector<std::string> saved_collections;  // of those, by name
  std::vector<RunAttempt> attempts;
};

std::string write_run_file(const RunFile& run);

// Fails with `corrupt`. Members that are missing or of another type keep
// their defaults.
Result<RunFile> parse_run_file(std::string_view text);

}  // namespace smdebug
