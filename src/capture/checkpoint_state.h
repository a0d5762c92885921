#pragma once

// Lets a restarted training continue its step numbers. Whenever the files in
// the checkpoint folder have changed, the step counts are written to
// `metadata.json` beside them, and the next session continues from there. The
// file has the original's format, so that either library can continue the
// other's runs.
//
// Active only if a checkpoint folder is configured (docs/format.md
// "metadata.json"). Files that are missing or broken are never an error; the
// first problem is logged.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "smdebug/base/logger.h"
#include "smdebug/base/wait_limit.h"
#include "smdebug/core/mode.h"

#include "base/detachable_logger.h"
#include "capture/session_context.h"

namespace smdebug {

// One entry of `metadata.json`.
struct RecordedSteps {
  std::int64_t training_run = 0;  // grows by one with each session
  std::optional<Step> last_saved;
  StepCounts counts;
};

class CheckpointState {
 public:
  // Reads the configuration that CHECKPOINT_CONFIG_FILE_PATH names, and the
  // entries of earlier sessions. Returns null if no checkpoint folder is
  // configured, which costs one failed open. `logger` must outlive it. A folder
  // that does not respond within `limit` is not used any more.
  static std::unique_ptr<CheckpointState> open(Logger& logger,
                                               const WaitLimit& limit = {});
  ~CheckpointState();

  // The latest entry of earlier sessions, if any.
  const std::optional<RecordedSteps>& recorded() const { return recorded_; }

  // Writes the counts if the files have changed since the last call. Call it
  // between two steps. Visits at most `kMaxFiles` files of the folder.
  void record_if_changed(const StepCounts& counts,
                         std::optional<Step> last_saved);

  static constexpr std::size_t kMaxFiles = 10000;

 private:
  class Folder;

  CheckpointState(std::shared_ptr<DetachableLogger> logger,
                  const WaitLimit& limit)
      : logger_(std::move(logger)), limit_(limit) {}
  // Calls `work` within the limit. Returns whether it has ended.
  bool call(std::function<void()> work);

  const std::shared_ptr<DetachableLogger> logger_;
  const WaitLimit limit_;
  bool is_stuck_ = false;
  std::shared_ptr<Folder> folder_;  // also of a thread that was abandoned
  std::optional<RecordedSteps> recorded_;
};

}  // namespace smdebug
