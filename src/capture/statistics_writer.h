#pragma once

// Writes the statistics files of a worker: the content of its index files, many
// steps in one, for readers over a network (docs/format.md, "Statistics
// files"). `StepWriter` passes each index file on the write thread.

#include <memory>
#include <string>
#include <string_view>

#include "smdebug/base/result.h"
#include "smdebug/core/mode.h"
#include "smdebug/store/storage.h"

#include "format/statistics_file.h"

namespace smdebug {

class StatisticsWriter {
 public:
  StatisticsWriter(std::shared_ptr<Storage> storage, std::string worker);

  // Notes an index file that was published, and writes a statistics file if
  // there are enough of them. Fails as the storage.
  Status published(Step step, std::string_view index_file);

  // Writes the last file if that saves requests. Fails as the storage.
  Status close();

 private:
  Status write();
  // As `run.json` gives it, which the first worker has written by then.
  std::uint64_t attempt() const;

  const std::shared_ptr<Storage> storage_;
  const std::string worker_;
  StatisticsFileBuilder builder_;
};

}  // namespace smdebug
