#pragma once

// The location of each file in a run, and the fields of its name, for writers
// and readers. docs/format.md shows the tree.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "smdebug/core/mode.h"

namespace smdebug {

inline constexpr std::string_view kClaimKey = "claim.smd";
// The last process that could not claim the run.
inline constexpr std::string_view kRefusedKey = "refused.smd";
inline constexpr std::string_view kEndMarkerKey = "training_job_end.ts";
inline constexpr std::string_view kRunFileKey = "run.json";
inline constexpr std::string_view kProgressKey = "progress.json";
inline constexpr std::string_view kIndexPrefix = "index/";
inline constexpr std::string_view kEventsPrefix = "events/";
inline constexpr std::string_view kCollectionsPrefix = "collections/000000000/";
inline constexpr std::string_view kFactsPrefix = "facts/";
inline constexpr std::string_view kSeriesPrefix = "series/";
inline constexpr std::string_view kStatisticsPrefix = "statistics/";
inline constexpr std::string_view kAttemptsPrefix = "attempts/";
inline constexpr std::string_view kTensorboardPrefix = "tensorboard/";
// Marks of the steps on which rules fired (docs/actions.md).
inline constexpr std::string_view kFiredPrefix = "rules/fired/";

std::string event_file_key(Step step, std::string_view worker);
std::string index_file_key(Step step, std::string_view worker);
std::string collections_file_key(std::string_view worker);
std::string facts_file_key(Step step, std::string_view worker);
// The claim of one worker, if the workers are separate processes.
std::string worker_claim_key(std::string_view worker);
// The folder of the steps of an attempt that a later one has written again:
// "attempts/1". 0 is an attempt that `run.json` does not record.
std::string attempt_folder(std::uint64_t number);

struct StepFileName {
  Step step = 0;
  std::string worker;  // device names decoded

  friend bool operator==(const StepFileName&, const StepFileName&) = default;
};

// Parses the key of an index or event file. Returns nothing for other names.
std::optional<StepFileName> parse_step_file_key(std::string_view key);

// Returns the worker of a collections file, if it is one.
std::optional<std::string> parse_collections_file_key(std::string_view key);

// Parses the key of a facts file. Returns nothing for other names.
std::optional<StepFileName> parse_facts_file_key(std::string_view key);

// Returns the step that a mark of a rule that fired names. Returns nothing for
// other names.
std::optional<Step> parse_fired_file_key(std::string_view key);

// The name of a file of scalar series: its worker, its first and last step, and
// how many such files the worker had written before, because two of them may
// have the same steps.
struct SeriesFileName {
  std::string worker;
  Step first = 0;
  Step last = 0;
  std::uint64_t number = 0;

  friend bool operator==(const SeriesFileName&,
                         const SeriesFileName&) = default;
};
std::string series_file_key(const SeriesFileName& name);
// Parses such a key. Returns nothing for other names.
std::optional<SeriesFileName> parse_series_file_key(std::string_view key);

// The name of a statistics file: the worker, the number of the attempt that
// wrote it, and its first and last step.
struct StatisticsFileName {
  std::string worker;
  std::uint64_t attempt = 0;
  Step first = 0;
  Step last = 0;

  friend bool operator==(const StatisticsFileName&,
                         const StatisticsFileName&) = default;
};
std::string statistics_file_key(const StatisticsFileName& name);
// Parses such a key. Returns nothing for other names.
std::optional<StatisticsFileName> parse_statistics_file_key(
    std::string_view key);

// Whether smdebug or the original writes files of this name into a run,
// unfinished ones (".tmp") included. The user may keep other files in the
// folder.
bool is_run_file_key(std::string_view key);

}  // namespace smdebug
