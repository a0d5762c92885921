#pragma once

// An `Action` does one thing about a verdict: it ends the training, or tells
// somebody. It never throws, takes a bounded time, and its failure is a
// sentence, never the end of anything else. Who calls it at most once per
// verdict is `perform_once` (perform_once.h) and `RuleWatch`.

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "smdebug/actions/action_request.h"
#include "smdebug/actions/stop_process.h"
#include "smdebug/base/clock.h"
#include "smdebug/base/logger.h"
#include "smdebug/base/result.h"
#include "smdebug/rules/verdict.h"

namespace smdebug {

// What an action is told.
struct Alert {
  std::string run;  // where the run is
  double wall_seconds = 0;
  Verdict verdict;
};

/// Returns the alert as a JSON object on one line: what a webhook is sent and a
/// command reads from its standard input (docs/actions.md). Its member `event`
/// has the shape of the cloud's state-change event.
std::string alert_json(const Alert& alert);

class Action {
 public:
  virtual ~Action() = default;

  const ActionRequest& request() const { return request_; }

  /// Does it, and returns one sentence that says what was done. Actions other
  /// than `stop` may be called on any thread, at the same time as others.
  virtual Result<std::string> perform(const Alert& alert) = 0;

 protected:
  explicit Action(ActionRequest request) : request_(std::move(request)) {}

 private:
  ActionRequest request_;
};

// What the actions of a program have in common.
struct ActionSettings {
  std::string smtp_url;  // "smtp://host:25"; empty: mail goes through the cloud
  std::string smtp_user, smtp_password;
  std::string email_from;      // empty: smdebug@<host>
  std::string webhook_secret;  // empty: requests are not signed
  std::string sms_webhook;     // empty: messages go through the cloud
  // For one try over the network; three are made where it may help.
  std::chrono::milliseconds network_timeout = std::chrono::seconds(10);
  // For a command, which is killed then.
  std::chrono::milliseconds command_timeout = std::chrono::seconds(60);
  // Ends the training that writes the run. Fails with `not_found` where none
  // is known on this machine; a job in the cloud is looked for then. Empty:
  // there is none.
  std::function<Result<StopOutcome>()> stop_training;
  const Clock* clock = nullptr;  // null: system_clock()
};

/// Reads SMDEBUG_SMTP_URL, SMDEBUG_SMTP_USER, SMDEBUG_SMTP_PASSWORD,
/// SMDEBUG_EMAIL_FROM, SMDEBUG_WEBHOOK_SECRET, SMDEBUG_SMS_WEBHOOK, and the
/// seconds in SMDEBUG_ACTION_TIMEOUT and SMDEBUG_COMMAND_TIMEOUT.
ActionSettings action_settings_from_environment(Logger& logger);

/// Makes the action of a request. Fails with `invalid_config` where it could
/// never be performed: an email or a text message without a server of ours and
/// without an account in the cloud. Nothing is sent, and nobody is asked.
Result<std::unique_ptr<Action>> make_action(ActionRequest request,
                                            const ActionSettings& settings);

}  // namespace smdebug
