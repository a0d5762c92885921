#pragma once

// Writes histograms and scalars for TensorBoard, one growing file per mode
// (docs/format.md "TensorBoard files"). It gets the messages that `StepWriter`
// turns into the run, on the same thread.
//
// It never fails: the first failure is latched and logged. After that it writes
// nothing, while `StepWriter` continues to write the run.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "smdebug/base/logger.h"
#include "smdebug/base/result.h"
#include "smdebug/core/mode.h"
#include "smdebug/store/storage.h"

#include "capture/message.h"
#include "capture/tensorboard_file.h"
#include "reduce/histogram.h"

namespace smdebug {

class TensorBoardWriter {
 public:
  // `none`: counts bytes but writes no files.
  enum class Files { written, none };

  // `name` has the fields that name a file of this process. Beyond `max_bytes`
  // the oldest file is removed, and each file ends at a fourth of it.
  TensorBoardWriter(std::shared_ptr<Storage> storage, Files files,
                    const TensorBoardFileName& name,
                    std::optional<std::uint64_t> max_bytes, Logger& logger);

  void begin_step(double wall_seconds, const StepId& step);

  // Adds one message of a tensor. Reads its elements before it returns.
  void add(const Message& message);

  // Adds the step to the file of its mode. Returns its size in bytes.
  std::uint64_t end_step();

  // Publishes what was added, at the end of the run.
  void close();

  // Discards what is not published yet.
  void abandon();

  // The size of the files that were written and not removed.
  std::uint64_t kept_bytes() const { return kept_bytes_; }

  // The first failure and its step. Any thread.
  std::optional<Error> failure() const;

 private:
  void count(const Message& message);
  void add_histogram(const Message& message);
  void add_number(const Message& message);
  Status flush();
  Status limit_size();
  void discard_step();
  void check(const Status& status);

  const Files files_;
  Logger& logger_;
  const std::shared_ptr<Storage> storage_;
  const std::optional<std::uint64_t> max_bytes_;
  std::vector<TensorBoardFile> modes_;  // by `mode_index`
  struct EndedFile {
    std::string key;
    std::uint64_t bytes = 0;
  };
  std::deque<EndedFile> ended_;  // only if there is a limit
  std::uint64_t kept_bytes_ = 0;

  double wall_seconds_ = 0;
  StepId step_;
  HistogramCounter counter_;  // of the tensor being added
  std::string records_;       // not passed to the storage yet
  std::uint64_t bytes_ = 0;   // of the step, passed to the storage

  bool has_failed_ = false;
  mutable std::mutex mutex_;  // guards what follows
  std::optional<Error> failure_;
};

}  // namespace smdebug
