#pragma once

// What a user asks to be done when a rule fires, parsed from the three places
// where it is written: the command line (`--action webhook=URL`), the action
// string of a rule, and the parameters of a cloud rule (`action_json`).
// `action.h` makes the actions themselves.

#include <string>
#include <string_view>
#include <vector>

#include "smdebug/base/result.h"

namespace smdebug {

// Spelled as on the command line: never rename.
enum class ActionKind { stop, email, sms, webhook, command };

/// Returns "stop", "email", "sms", "webhook" or "command".
std::string_view action_kind_name(ActionKind kind);

struct ActionRequest {
  ActionKind kind = ActionKind::stop;
  // stop: how the name of the cloud's training job begins, empty for the
  // training that writes the run · email: an address · sms: a phone number ·
  // webhook: a URL · command: what the shell is to run.
  std::string target;

  friend bool operator==(const ActionRequest&, const ActionRequest&) = default;
};

/// Returns the target without what may be secret: of a URL, the server alone.
std::string shown_target(const ActionRequest& request);

/// Parses "stop", "email=ADDRESS", "sms=NUMBER", "webhook=URL" or
/// "command=PROGRAM". Fails with `invalid_argument`, saying what is accepted.
Result<ActionRequest> parse_action(std::string_view text);

struct ParsedActions {
  std::vector<ActionRequest> actions;
  std::vector<std::string> refused;  // a sentence for each entry left out
};

/// Parses an action string: an object or a list of objects in JSON,
///
///     {"name": "stoptraining", "training_job_prefix": PREFIX}
///     {"name": "email" | "sms", "endpoint": TEXT}
///     {"name": "webhook", "url": TEXT}
///     {"name": "command", "command": TEXT}
///
/// The prefix may be missing. Names and keys count in any case, values are
/// kept as they are; quotes may stand behind backslashes, as the cloud's
/// configurations write them. Blank text lists nothing. An entry that is none
/// of these is left out and told. Fails with `invalid_argument` for text that
/// is not JSON.
Result<ParsedActions> parse_action_string(std::string_view text);

}  // namespace smdebug
