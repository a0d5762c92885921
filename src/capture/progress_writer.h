#pragma once

// Keeps `progress.json` of a run up to date: the small file that `smdebug ls`
// reads instead of the index (docs/format.md). `StepWriter` reports each
// published step on the write thread. The file is written at the first one,
// then at most every 30 s, and at the end.
//
// It never fails: the first failure is logged, and the run is written on.

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "smdebug/base/clock.h"
#include "smdebug/base/logger.h"
#include "smdebug/capture/session_status.h"
#include "smdebug/core/mode.h"
#include "smdebug/core/run_progress.h"
#include "smdebug/store/storage.h"

namespace smdebug {

struct WriteCounts;

class ProgressWriter {
 public:
  // `start` has the fields that do not change. `clock` and `logger` must
  // outlive it.
  ProgressWriter(std::shared_ptr<Storage> storage, RunProgress start,
                 const Clock& clock, Logger& logger);

  // Notes the mean of a loss in the open step. `tensor` must stay valid until
  // `published`.
  void note_loss(std::string_view tensor, double value);

  // Call it when the files of `step` are published. Writes the file if that is
  // due.
  void published(const StepId& step, const WriteCounts& counts,
                 std::uint64_t dropped_tensors, std::uint64_t dropped_bytes);

  // Writes the file if it is older than `kProgressInterval`, for readers that
  // cannot see this process.
  void beat();

  // Forgets the losses of the open step.
  void abandon() { pending_.clear(); }

  // Writes the file if it is out of date: no step will follow.
  void close();

  // Writes the file for the last time, to `storage`. Call it when the write
  // thread has ended.
  void finish(Storage& storage, const SessionStatus& status);

 private:
  struct PendingLoss {
    std::string_view tensor;
    double value = 0;
  };

  void count(const StepId& step);
  void take_losses(const StepId& step);
  void write(Storage& storage);

  const std::shared_ptr<Storage> storage_;
  const Clock& clock_;
  Logger& logger_;
  RunProgress progress_;
  std::vector<PendingLoss> pending_;
  std::optional<std::chrono::nanoseconds> written_at_;  // none: never
  bool is_out_of_date_ = false;
  bool has_failed_ = false;
};

}  // namespace smdebug
