#pragma once

// The statistics files of a run, for `RunIndex`: it asks for the index file of
// one step after the other, and gets the content of those that are packed.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "smdebug/base/result.h"
#include "smdebug/store/storage.h"

#include "format/file_names.h"
#include "format/statistics_file.h"

namespace smdebug {

class PackedSteps {
 public:
  // Lists the files. If that fails, no step is packed, and the folder counts as
  // a file that could not be read.
  explicit PackedSteps(const Storage& storage);

  // Returns the content of an index file of `bytes` bytes, if a statistics file
  // has it. Call it in ascending order of steps: a file is read when its first
  // step is asked for, and released after its last one.
  std::optional<IndexFile> find(const StepFileName& name, std::uint64_t bytes);

  // The keys of the files that could not be read so far, with the reasons.
  const std::map<std::string, std::string>& broken() const { return broken_; }

 private:
  struct Listed {
    std::string key;
    StatisticsFileName name;
  };
  // A file that has been read: the bytes that its table refers to.
  struct Open {
    Bytes bytes;
    StatisticsFile file;
    std::size_t next = 0;  // of its steps
  };

  Result<Open> read(const std::string& key) const;

  const Storage& storage_;
  std::vector<Listed> files_;  // that of a later attempt first
  std::map<std::string, Open> open_;
  std::map<std::string, std::string> broken_;
};

}  // namespace smdebug
