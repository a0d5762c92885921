#pragma once

// Performs an action at most once for a rule's verdict, across all processes: a
// record beside the run states that it was begun and how it ended
// (docs/actions.md). A restart of the training is a new attempt with its own
// records.

#include <cstdint>
#include <string>

#include "smdebug/actions/action.h"
#include "smdebug/base/clock.h"
#include "smdebug/rules/verdict.h"
#include "smdebug/store/storage.h"

namespace [[gnu::visibility("default")]] smdebug {

// The location of the record.
struct RecordPlace {
  Storage* storage = nullptr;  // the run's; null: no record is kept
  std::string rule;            // a result of `rule_key`
  std::uint64_t attempt = 0;   // of the training, from 1; 0: not known
  const Clock* clock = nullptr;
};

/// Returns the name of a rule in the files beside a run: letters, digits, '_'
/// and '-'. A second rule of the same name has the suffix "_2".
std::string rule_key(const std::string& rule, std::size_t earlier_of_the_name);

/// Performs the action, unless its record states that it was or may have been
/// done: then the result is `not_repeated` and names the process and the time.
/// Retries failed actions. If the record cannot be written, performs the action
/// and adds this to the message. Any thread.
ActionResult perform_once(Action& action, const Alert& alert,
                          const RecordPlace& place);

}  // namespace smdebug
