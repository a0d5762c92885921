#pragma once

// The texts that capture writes beside the tensors: the collections file,
// `run.json`, and the log lines about the first saved step.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "smdebug/base/clock.h"
#include "smdebug/capture/session.h"
#include "smdebug/store/storage.h"

#include "capture/slot_table.h"
#include "format/run_file.h"

namespace smdebug {

// Returns the text of the collections file: the plan's collections with the
// names that matched so far.
std::string collections_text(const SlotTable& slots, int num_workers);

// `run.json` of this attempt. Records of older attempts are kept.
class RunRecord {
 public:
  RunRecord(const Storage& storage, const ProcessFacts& process,
            const Framework& framework, const Clock& clock);

  // The number of this attempt, from 1.
  std::uint64_t number() const { return file_.attempts.size(); }

  // Returns the text for the start of the run.
  std::string started(const SlotTable& slots, int num_workers, Step first_step);
  // Returns the text after a change of the plan; nothing if the saved
  // collections are the same.
  std::optional<std::string> replanned(const SlotTable& slots, int num_workers);
  // Returns the text for its end.
  std::string ended(const SessionStatus& status, const SessionCost& cost,
                    double wall_seconds);

 private:
  RunFile file_;
};

// The matches of the first saved step. The user can still correct a pattern
// that matches nothing.
struct MatchSummary {
  std::string text;    // one line per saved collection, with its patterns
  std::string counts;  // "12 of 25 tensors (weights 3, biases 3)"
  std::vector<std::size_t> filled;  // indices of saved collections with tensors
  std::size_t seen = 0;
  std::size_t to_save = 0;  // of those seen
  struct Warning {
    std::string collection;
    std::string subject;  // the collection and its patterns
    std::string text;
    // It is a built-in collection. A loss that is computed without a module,
    // for example, is recorded later than the first saved step.
    bool may_match_later = false;
    // What to say instead if the first saved step has no tensor at all; may be
    // empty.
    std::string of_empty_step = {};
  };
  // Saved collections without a tensor, except those that were skipped.
  std::vector<Warning> warnings;
  // Whether tensors of a saved collection, or all of them, were skipped.
  bool has_skipped = false;
};

// `asked`: the collections that the user named. `at_end`: no step will follow.
MatchSummary summarize_matches(const SlotTable& slots,
                               std::span<const std::string> asked,
                               bool at_end = false);

}  // namespace smdebug
