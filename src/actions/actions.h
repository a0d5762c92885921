#pragma once

// Creates each kind of action with its network client as an argument, so that
// tests can pass their own. `make_action` (make_action.cc) passes the real
// clients.

#include <memory>

#include "smdebug/actions/action.h"

#include "net/http.h"
#include "net/mail.h"

namespace smdebug {

// Calls `settings.stop_training`. If no training is known, stops the only job
// in the cloud whose name begins with the request's target (stop_action.cc).
std::unique_ptr<Action> make_stop_action(ActionRequest request,
                                         const ActionSettings& settings,
                                         const HttpClient& http);

// Sends an email over SMTP (email_action.cc).
std::unique_ptr<Action> make_email_action(ActionRequest request,
                                          const ActionSettings& settings,
                                          const MailClient& mail);

// Posts a JSON document, signed if there is a secret: the alert to a webhook,
// or a text message to a gateway (webhook_action.cc).
std::unique_ptr<Action> make_webhook_action(ActionRequest request,
                                            const ActionSettings& settings,
                                            const HttpClient& http);

// Sends an email or a text message through the topic that the original library
// uses (topic_action.cc).
std::unique_ptr<Action> make_topic_action(ActionRequest request,
                                          const ActionSettings& settings,
                                          const HttpClient& http);

// Runs a program that reads the alert (command_action.cc).
std::unique_ptr<Action> make_command_action(ActionRequest request,
                                            const ActionSettings& settings);

const Clock& clock_of(const ActionSettings& settings);

}  // namespace smdebug
