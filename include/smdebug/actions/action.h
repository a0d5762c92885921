#pragma once

// An `Action` reacts to a verdict: it ends the training or sends a
// notification. It never throws, takes a bounded time, and reports failure as a
// message that affects nothing else. `perform_once` (perform_once.h) and
// `RuleWatch` call it at most once per verdict.

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

namespace [[gnu::visibility("default")]] smdebug {

// The input of an action.
struct Alert {
  std::string run;  // where the run is
  double wall_seconds = 0;
  Verdict verdict;
};

/// Returns the alert as a JSON object on one line: the body of a webhook and
/// the standard input of a command (docs/actions.md). Its member `event` has
/// the shape of the cloud's state-change event.
std::string alert_json(const Alert& alert);

class Action {
 public:
  virtual ~Action() = default;

  const ActionRequest& request() const { return request_; }

  /// Performs the action and returns one sentence about the result. Actions
  /// other than `stop` may be called on any thread and concurrently.
  virtual Result<std::string> perform(const Alert& alert) = 0;

 protected:
  explicit Action(ActionRequest request) : request_(std::move(request)) {}

 private:
  ActionRequest request_;
};

// Settings shared by all actions of a program.
struct ActionSettings {
  std::string smtp_url;  // "smtp://host:25"; empty: send through the cloud
  std::string smtp_user, smtp_password;
  std::string email_from;      // empty: smdebug@<host>
  std::string webhook_url;     // of a webhook without a target
  std::string webhook_secret;  // empty: requests are not signed
  std::string sms_webhook;     // empty: send through the cloud
  // Per network attempt; up to three are made.
  std::chrono::milliseconds network_timeout = std::chrono::seconds(10);
  // For a command, which is then killed.
  std::chrono::milliseconds command_timeout = std::chrono::seconds(60);
  // Ends the training that writes the run. Fails with `not_found` if none is
  // known on this machine; the cloud is then searched for a job. Empty: there
  // is no such training.
  std::function<Result<StopOutcome>()> stop_training;
  const Clock* clock = nullptr;  // null: system_clock()
};

/// Reads SMDEBUG_SMTP_URL, SMDEBUG_SMTP_USER, SMDEBUG_SMTP_PASSWORD,
/// SMDEBUG_EMAIL_FROM, SMDEBUG_WEBHOOK_URL, SMDEBUG_WEBHOOK_SECRET,
/// SMDEBUG_SMS_WEBHOOK, and the seconds in SMDEBUG_ACTION_TIMEOUT and
/// SMDEBUG_COMMAND_TIMEOUT.
ActionSettings action_settings_from_environment(Logger& logger);

/// Creates the action of a request. Fails with `invalid_config` if it could
/// never be performed: an email or text message without a configured server and
/// without cloud credentials. Sends nothing.
Result<std::unique_ptr<Action>> make_action(ActionRequest request,
                                            const ActionSettings& settings);

}  // namespace smdebug
