#pragma once

// The statistics files of a run, for `RunIndex`: it asks for the index file of
// one step after the other, and gets the rows of those that are packed.

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "smdebug/base/result.h"
#include "smdebug/store/storage.h"

#include "format/file_names.h"
#include "format/statistics_file.h"
#include "index/run_table.h"

namespace smdebug {

// A statistics file in memory.
struct PackedFile {
  Bytes bytes;  // that `table` refers to
  StatisticsFile table;
  PackedIds ids = {};
  std::size_t next = 0;  // of its steps
};

// A step, and the file with its rows.
struct PackedStep {
  std::shared_ptr<PackedFile> file;
  const StatisticsFile::StepRows* rows = nullptr;
};

class PackedSteps {
 public:
  // Lists the files. If that fails, no step is packed, and the folder counts as
  // a file that could not be read.
  explicit PackedSteps(const Storage& storage);

  // Returns the rows of an index file of `bytes` bytes, if a statistics file
  // has them. Call it in ascending order of steps: a file is read shortly
  // before its first step is asked for, several at once, and released after its
  // last one.
  std::optional<PackedStep> find(const StepFileName& name, std::uint64_t bytes);

  // The keys of the files that could not be read so far, with the reasons.
  const std::map<std::string, std::string>& broken() const { return broken_; }

 private:
  struct Listed {
    std::string key;
    StatisticsFileName name;
    std::shared_ptr<PackedFile> file = {};  // null: not read yet
  };

  // Reads the files whose steps come next.
  void read_next();

  const Storage& storage_;
  std::vector<Listed> files_;  // that of a later attempt first
  std::map<std::string, std::string> broken_;
};

}  // namespace smdebug
