#pragma once

// The files that a watch keeps beside a run (docs/actions.md): who watches a
// rule, its status, and an event for each change of it. Each is written whole;
// what cannot be written is returned, and nothing is tried again.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "smdebug/actions/rule_watch.h"

#include "actions/process_mark.h"

namespace smdebug {

class RuleFiles {
 public:
  RuleFiles(std::shared_ptr<Storage> storage, std::uint64_t attempt,
            const Clock& clock)
      : storage_(std::move(storage)), attempt_(attempt), clock_(clock) {}

  // Takes the rule for this process; returns who has it already.
  Result<std::optional<ProcessMark>> claim(const std::string& key) const;
  Status release(const std::string& key) const;

  Status write_status(const std::string& key, const Verdict& verdict,
                      const WatchProgress& progress,
                      std::span<const ActionResult> actions) const;
  Status write_event(const std::string& key, const Verdict& verdict,
                     const WatchProgress& progress) const;

 private:
  std::shared_ptr<Storage> storage_;
  std::uint64_t attempt_;
  const Clock& clock_;
};

// The file that says who watches a rule.
std::string watcher_key(const std::string& key);

}  // namespace smdebug
