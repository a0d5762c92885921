#pragma once

// The actions that a user requests for rules that fire, parsed from one of
// three places: the command line (`--action webhook=URL`), the action string of
// a rule, and the parameters of a cloud rule (`action_json`). `action.h`
// creates the actions themselves.

#include <string>
#include <string_view>
#include <vector>

#include "smdebug/base/result.h"

namespace [[gnu::visibility("default")]] smdebug {

// Spelled as on the command line: never rename.
enum class ActionKind { stop, email, sms, webhook, command };

/// Returns "stop", "email", "sms", "webhook" or "command".
std::string_view action_kind_name(ActionKind kind);

struct ActionRequest {
  ActionKind kind = ActionKind::stop;
  // stop: the prefix of the name of the cloud's training job, empty for the
  // training that writes the run · email: an address · sms: a phone number ·
  // webhook: a URL, "@" and the path of a file that contains it, or empty for
  // the URL in SMDEBUG_WEBHOOK_URL · command: a shell command.
  std::string target;

  friend bool operator==(const ActionRequest&, const ActionRequest&) = default;
};

/// Returns the target without secrets: only the host of a URL, and only the
/// program of a command.
std::string shown_target(const ActionRequest& request);

/// Parses "stop", "stop=PREFIX", "email=ADDRESS", "sms=NUMBER", "webhook=URL",
/// "webhook=@FILE", "webhook" or "command=PROGRAM". Fails with
/// `invalid_argument`, listing these forms, without the target, which may be
/// secret.
Result<ActionRequest> parse_action(std::string_view text);

struct ParsedActions {
  std::vector<ActionRequest> actions;
  std::vector<std::string> refused;  // one message per skipped entry
};

/// Parses an action string: an object or a list of objects in JSON,
///
///     {"name": "stoptraining", "training_job_prefix": PREFIX}
///     {"name": "email" | "sms", "endpoint": TEXT}
///     {"name": "webhook", "url": TEXT}
///     {"name": "command", "command": TEXT}
///
/// The prefix is optional. Names and keys are case-insensitive; values are kept
/// verbatim. Quotes may be escaped with backslashes, as in the cloud's
/// configurations. Blank text contains no action. Entries that are not valid
/// actions are skipped and listed in `refused`. Fails with `invalid_argument`
/// for text that is not JSON.
Result<ParsedActions> parse_action_string(std::string_view text);

}  // namespace smdebug
