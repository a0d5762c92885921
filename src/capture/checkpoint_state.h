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

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "smdebug/base/logger.h"
#include "smdebug/core/mode.h"
#include "smdebug/store/storage.h"

#include "base/json.h"
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
  // configured, which costs one failed open. `logger` must outlive it.
  static std::unique_ptr<CheckpointState> open(Logger& logger);

  // The latest entry of earlier sessions, if any.
  const std::optional<RecordedSteps>& recorded() const { return recorded_; }

  // Writes the counts if the files have changed since the last call. Call it
  // between two steps. Visits at most `kMaxFiles` files of the folder.
  void record_if_changed(const StepCounts& counts,
                         std::optional<Step> last_saved);

  static constexpr std::size_t kMaxFiles = 10000;

 private:
  struct File {
    std::string path;  // relative to the folder
    std::uint64_t bytes = 0;
    friend auto operator<=>(const File&, const File&) = default;
  };

  CheckpointState(std::string folder, std::shared_ptr<Storage> storage,
                  Logger& logger);

  void load();
  void read_entry(const Json& state);
  std::vector<File> list_files();
  void warn_once(const std::string& what);

  const std::string folder_;
  const std::shared_ptr<Storage> storage_;
  Logger& logger_;
  bool has_warned_ = false;
  std::vector<File> files_;
  Json states_ = Json::Array();
  std::optional<RecordedSteps> recorded_;
};

}  // namespace smdebug
