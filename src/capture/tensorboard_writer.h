#pragma once

// Writes what TensorBoard shows of a run: histograms of tensors, and numbers,
// one file per step and mode (docs/format.md "TensorBoard files"). It sees the
// messages that `StepWriter` turns into the run, on the same thread.
//
// It never fails: the first failure is latched and logged, and from then on
// nothing more goes to TensorBoard while the run itself is written on.

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
  // `none`: nothing reaches the storage, everything is counted.
  enum class Files { written, none };

  // `writer` is in each file's name: processes may share the folder.
  TensorBoardWriter(std::shared_ptr<Storage> storage, Files files,
                    std::string writer, Logger& logger);

  void begin_step(double wall_seconds, const StepId& step);

  // Takes one message of a tensor and looks at its elements at once.
  void add(const Message& message);

  // Publishes the step's file, if there is anything in it. Returns its bytes.
  std::uint64_t end_step();

  // Forgets the open step.
  void abandon();

  // The first failure and its step. Any thread.
  std::optional<Error> failure() const;

 private:
  void count(const Message& message);
  void add_histogram(const Message& message);
  void add_number(const Message& message);
  Status hand_over();
  Status publish();
  void check(const Status& status);

  const std::shared_ptr<Storage> storage_;
  const Files files_;
  const std::string writer_;
  Logger& logger_;

  double wall_seconds_ = 0;
  StepId step_;
  HistogramCounter counter_;  // of the tensor that is coming in
  std::string records_;       // not handed over yet
  std::unique_ptr<ObjectWriter> file_;
  std::uint64_t bytes_ = 0;  // of the step, handed over

  bool has_failed_ = false;
  mutable std::mutex mutex_;  // guards what follows
  std::optional<Error> failure_;
};

}  // namespace smdebug
