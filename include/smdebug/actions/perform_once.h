#pragma once

// Performs an action at most once for a rule's verdict, whoever asks and in
// whatever process: a record beside the run says that it was begun and how it
// ended (docs/actions.md). A restart of the training is a new attempt, and has
// records of its own.

#include <cstdint>
#include <string>

#include "smdebug/actions/action.h"
#include "smdebug/base/clock.h"
#include "smdebug/rules/action_result.h"
#include "smdebug/store/storage.h"

namespace smdebug {

// Where the record lies.
struct RecordPlace {
  Storage* storage = nullptr;  // the run's; null: no record is kept
  std::string rule;            // as `rule_key` has it
  std::uint64_t attempt = 0;   // of the training, from 1; 0: not known
  const Clock* clock = nullptr;
};

/// The name of a rule in the files beside a run: letters, digits, '_' and '-';
/// a second rule of the same name has "_2" behind it.
std::string rule_key(const std::string& rule, std::size_t earlier_of_the_name);

/// Does it, unless the record says that it was done, or was begun and may have
/// been: the result is `not_repeated` then, and says by whom and when. What
/// failed is tried again. Where the record cannot be written the action is
/// performed all the same, and the result says so. Any thread.
ActionResult perform_once(Action& action, const Alert& alert,
                          const RecordPlace& place);

}  // namespace smdebug
