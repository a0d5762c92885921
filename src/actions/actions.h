#pragma once

// The actions one by one, with what they speak through as an argument, so that
// tests can answer in its place. `make_action` (make_action.cc) gives them the
// real thing.

#include <memory>

#include "smdebug/actions/action.h"

#include "net/http.h"
#include "net/mail.h"

namespace smdebug {

// SIGTERM, then SIGKILL, for the training that `settings.stop_training` knows;
// where it knows none, the one job in the cloud whose name begins with the
// request's target.
std::unique_ptr<Action> make_stop_action(ActionRequest request,
                                         const ActionSettings& settings,
                                         const HttpClient& http);

// A mail over SMTP (email_action.cc).
std::unique_ptr<Action> make_email_action(ActionRequest request,
                                          const ActionSettings& settings,
                                          const MailClient& mail);

// A JSON document by POST, signed where there is a secret: the alert to a
// webhook, or a text message to a gateway (webhook_action.cc).
std::unique_ptr<Action> make_webhook_action(ActionRequest request,
                                            const ActionSettings& settings,
                                            const HttpClient& http);

// An email or a text message through the topic that the original library uses
// (topic_action.cc).
std::unique_ptr<Action> make_topic_action(ActionRequest request,
                                          const ActionSettings& settings,
                                          const HttpClient& http);

// A program that reads the alert (command_action.cc).
std::unique_ptr<Action> make_command_action(ActionRequest request,
                                            const ActionSettings& settings);

const Clock& clock_of(const ActionSettings& settings);

}  // namespace smdebug
