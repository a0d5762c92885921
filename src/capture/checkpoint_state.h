#pragma once

// Steps go on counting where an interrupted training left off: whenever the
// files in the training's checkpoint folder have changed, the step counters
// are noted beside them, in `metadata.json`, and the next session resumes
// there. The file is the original's: either library resumes the other.
//
// Only where a checkpoint folder is configured (docs/format.md
// "metadata.json"). Whatever is missing, broken or in the way is said once in
// the log and never fails anything.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "smdebug/base/logger.h"
#include "smdebug/core/mode.h"
#include "smdebug/store/storage.h"

#include "base/json.h"
#include "capture/step_counter.h"

namespace smdebug {

// One entry of `metadata.json`.
struct NotedSteps {
  std::int64_t training_run = 0;  // grows by one with each session
  std::optional<Step> last_saved;
  StepCounts counts;
};

class CheckpointState {
 public:
  // Reads the configuration that CHECKPOINT_CONFIG_FILE_PATH names, and what
  // earlier sessions noted. Null where no checkpoint folder is configured,
  // which costs one failed open. `logger` outlives it.
  static std::unique_ptr<CheckpointState> open(Logger& logger);

  // The furthest that earlier sessions noted; none where nothing was.
  const std::optional<NotedSteps>& noted() const { return noted_; }

  // Between two steps: notes the counters if the files have changed since the
  // last call. Walks the folder, `kMaxFiles` of it at most.
  void note_if_changed(const StepCounts& counts,
                       std::optional<Step> last_saved);

  static constexpr std::size_t kMaxFiles = 10000;

 private:
  struct File {
    std::string path;  // below the folder
    std::uint64_t bytes = 0;
    friend auto operator<=>(const File&, const File&) = default;
  };

  CheckpointState(std::string folder, std::shared_ptr<Storage> storage,
                  Logger& logger);

  void load();
  void take(const Json& state);
  std::vector<File> walk();
  void say_once(const std::string& what);

  const std::string folder_;
  const std::shared_ptr<Storage> storage_;
  Logger& logger_;
  bool has_complained_ = false;
  std::vector<File> files_;
  Json states_ = Json::Array();
  std::optional<NotedSteps> noted_;
};

}  // namespace smdebug
