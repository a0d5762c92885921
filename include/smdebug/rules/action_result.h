#pragma once

// What was done about a verdict. Made by `actions`, shown by `report`; here,
// beside the verdict, because neither knows the other.

#include <span>
#include <string>
#include <string_view>

namespace smdebug {

// Spelled as on disk: never rename.
enum class ActionStatus {
  begun,         // it is being done, or was when its process died
  done,          // it succeeded
  failed,        // it was tried; `message` says what went wrong
  not_repeated,  // it had been done before, so it was not done again
};

/// Returns "begun", "done", "failed" or "not_repeated".
std::string_view action_status_name(ActionStatus status);

struct ActionResult {
  std::string rule;    // whose verdict it was
  std::string action;  // "webhook"
  std::string target;  // to whom, without what may be secret; may be empty
  ActionStatus status = ActionStatus::begun;
  std::string message;  // one sentence
};

}  // namespace smdebug
