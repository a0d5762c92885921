#pragma once

// Reads the statistics of a whole run once, in parts of a few megabytes: from
// its statistics files, and from the index files of the steps that those lack.
// It needs less memory and time than a `Trial`, which can find each value
// again.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "smdebug/base/result.h"
#include "smdebug/read/trial.h"
#include "smdebug/store/storage.h"

#include "format/statistics_file.h"

namespace smdebug {

// Rows of one worker.
struct StatisticsPart {
  Bytes bytes;  // that `file` refers to
  StatisticsFile file;
  // The steps of `file` that count. Others have changed since, or are in
  // another part.
  std::vector<StatisticsFile::StepRows> steps;
};

class StatisticsScan {
 public:
  // Lists the files of the run at a path or address. Fails as `Trial::open`,
  // with `not_found` if there is no run.
  static Result<std::unique_ptr<StatisticsScan>> open(
      const std::string& location);
  StatisticsScan(const StatisticsScan&) = delete;

  const Storage& storage() const { return *storage_; }

  // Returns the next part, or none at the end. Each step of a worker is in one
  // part; statistics that the run does not store are computed from the values,
  // and are in parts of their own. A part may also have rows without
  // statistics. Fails as `Trial::open`.
  Result<std::optional<StatisticsPart>> next();

  // Files and values that were left out so far.
  const std::vector<Damage>& damage() const { return damage_; }

 private:
  struct ListedStep {
    std::string key;
    std::uint64_t bytes = 0;
    bool is_taken = false;
  };
  struct ListedFile {
    std::string key;
    StatisticsFileName name;
  };
  struct MissingStatistics {
    std::string tensor;
    Mode mode = Mode::global;
    Step mode_step = 0;
  };
  // Sorted as the files: by worker, then by step.
  using WorkerStep = std::pair<std::string, Step>;

  explicit StatisticsScan(std::shared_ptr<const Storage> storage);
  // Returns whether the run has index files.
  Result<bool> list();
  std::optional<StatisticsPart> read_file(const std::string& key);
  std::optional<StatisticsPart> read_index_files();
  Result<std::optional<StatisticsPart>> compute();
  void add_computed(Trial& trial, const WorkerStep& step,
                    const std::vector<MissingStatistics>& missing,
                    StatisticsFileBuilder& builder);
  std::optional<StatisticsPart> part_of(StatisticsFileBuilder& builder);
  void note_missing(const StatisticsPart& part);

  std::shared_ptr<const Storage> storage_;
  std::map<WorkerStep, ListedStep> steps_;
  std::vector<ListedFile> files_;  // to read, the last one first
  // The next index file to read; none before the statistics files are read.
  std::optional<std::map<WorkerStep, ListedStep>::iterator> unpacked_;
  std::map<WorkerStep, std::vector<MissingStatistics>> missing_;
  std::unique_ptr<Trial> trial_;  // reads the values of `missing_`
  std::vector<Damage> damage_;
};

}  // namespace smdebug
