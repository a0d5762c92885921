#pragma once

// Writes histograms and scalars for TensorBoard, one file per step and mode
// (docs/format.md "TensorBoard files"). It gets the messages that `StepWriter`
// turns into the run, on the same thread.
//
// It never fails: the first failure is latched and logged. After that it writes
// nothing, while `StepWriter` continues to write the run.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "smdebug/base/logger.h"
#include "smdebug/base/result.h"
#include "smdebug/core/mode.h"
#include "smdebug/store/storage.h"

#include "capture/message.h"
#include "reduce/histogram.h"

namespace smdebug {

class TensorBoardWriter {
 public:
  // `none`: counts bytes but writes no files.
  enum class Files { written, none };

  // `writer` is part of each file name, because processes may share the folder.
  TensorBoardWriter(std::shared_ptr<Storage> storage, Files files,
                    std::string writer, Logger& logger);

  void begin_step(double wall_seconds, const StepId& step);

  // Adds one message of a tensor. Reads its elements before it returns.
  void add(const Message& message);

  // Publishes the step's file, unless it is empty. Returns its size in bytes.
  std::uint64_t end_step();

  // Discards the open step.
  void abandon();

  // The first failure and its step. Any thread.
  std::optional<Error> failure() const;

 private:
  void count(const Message& message);
  void add_histogram(const Message& message);
  void add_number(const Message& message);
  Status flush();
  Status publish();
  void check(const Status& status);

  const std::shared_ptr<Storage> storage_;
  const Files files_;
  const std::string writer_;
  Logger& logger_;

  double wall_seconds_ = 0;
  StepId step_;
  HistogramCounter counter_;  // of the tensor being added
  std::string records_;       // not passed to the storage yet
  std::unique_ptr<ObjectWriter> file_;
  std::uint64_t bytes_ = 0;  // of the step, passed to the storage

  bool has_failed_ = false;
  mutable std::mutex mutex_;  // guards what follows
  std::optional<Error> failure_;
};

}  // namespace smdebug
