#pragma once

// The locations of runs: the one that `smdebug run` records, and those that
// other sub-commands read.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "smdebug/base/clock.h"
#include "smdebug/base/result.h"
#include "smdebug/base/wait_limit.h"
#include "smdebug/read/trial.h"

#include "command_line.h"
#include "console.h"

namespace smdebug {

// Opens the run at once, without waiting for it to appear. `limit` and
// `first_step` are those of `TrialOptions`. Fails as `Trial::open`, with
// `not_found` if there is no run.
Result<std::unique_ptr<Trial>> open_run(const std::string& location,
                                        const Console& console,
                                        std::optional<WaitLimit> limit = {},
                                        std::optional<Step> first_step = {});

// A folder that no other `smdebug run` takes while this one lives. The
// operating system ends that with the process. File systems without such locks
// ignore it.
class HeldFolder {
 public:
  HeldFolder() = default;
  ~HeldFolder();
  HeldFolder(const HeldFolder&) = delete;

  // Call it once. Returns false if another one holds the folder.
  bool take(const std::string& path);

 private:
  std::string path_;
  int descriptor_ = -1;
};

struct RunLocation {
  std::string path;                  // absolute, or the address of a store
  std::shared_ptr<HeldFolder> held;  // null in a store, which has no such locks
};

// Creates the folder: the one that the user gave, or
// "smdebug-runs/<script>-<time>" below the working directory. Writes and
// removes an object if the user gave the address of a store. Fails with
// `invalid_argument` if it already contains files or another `smdebug run`
// holds it, with `io`, and with `unavailable` if the storage does not respond.
Result<RunLocation> create_run_location(const RunCommand& command,
                                        const Clock& clock);

// Returns whether the storage at `location` responds within a few seconds.
bool responds(const std::string& location);

// Removes the folder if it is empty and its storage responds.
void remove_if_empty(const std::string& location);

// Returns the folder that contains `location`.
std::string parent_of(const std::string& location);

// Returns the name of the script in the trainer's command: "train" for
// "python -u train.py --lr 1"; without a script, the name of the program.
std::string script_name(const std::vector<std::string>& trainer);

}  // namespace smdebug
