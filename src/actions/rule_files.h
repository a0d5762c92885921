#pragma once

// The files that actions keep beside a run (docs/actions.md): the process that
// monitors a rule, the status of the rule, and one event per change of status.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "smdebug/actions/rule_watch.h"
#include "smdebug/rules/verdict.h"

#include "base/environment.h"
#include "base/json.h"

namespace smdebug {

// A mark of a process and the record of an action have a few lines; a longer
// file is not one of them.
inline constexpr std::uint64_t kMaxMarkBytes = 1 << 20;

// Returns the cloud's text for a status: at most 1024 bytes.
std::string status_details(const Verdict& verdict);

// Returns a change of status as the cloud's event "SageMaker Training Job State
// Change" (EventBridge), so that existing handlers can read it.
// `training_status` is "InProgress", "Completed", "Failed" or "Stopped". The
// variable TRAINING_JOB_NAME names the job; the default is the last part of
// the run's location.
Json rule_event(const std::string& run, const Verdict& verdict,
                std::string_view training_status, double wall_seconds);

// Writes the files. Each function makes one attempt, writes its file as a
// whole, and returns the error if it fails.
class RuleFiles {
 public:
  RuleFiles(std::shared_ptr<Storage> storage, std::uint64_t attempt,
            const Clock& clock)
      : storage_(std::move(storage)), attempt_(attempt), clock_(clock) {}

  // Claims the rule for this process. Returns the owner if a process that may
  // still be running has claimed it before.
  Result<std::optional<ProcessMark>> claim(const std::string& key) const;
  Status release(const std::string& key) const;

  Status write_status(const std::string& key, const Verdict& verdict,
                      const WatchProgress& progress,
                      std::span<const ActionResult> actions) const;
  Status write_event(const std::string& key, const Verdict& verdict,
                     const WatchProgress& progress) const;
  // Marks the step of the verdict for a training that removes old steps.
  Status write_fired(const std::string& key, const Verdict& verdict) const;

 private:
  std::shared_ptr<Storage> storage_;
  std::uint64_t attempt_;
  const Clock& clock_;
};

// Returns the key of the file that names the owner of a rule.
std::string watcher_key(const std::string& key);

}  // namespace smdebug
