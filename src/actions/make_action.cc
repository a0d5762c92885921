#include "smdebug/actions/action.h"
#include "smdebug/base/try.h"

#include "actions/actions.h"
#include "base/environment.h"
#include "base/strings.h"
#include "base/text_file.h"
#include "net/aws_credentials.h"

namespace smdebug {
namespace {

Error no_transport(const ActionRequest& request, const char* variable) {
  return {Error::Code::invalid_config,
          "action " + std::string(action_kind_name(request.kind)) + "=" +
              shown_target(request) + ": set " + variable +
              ", or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or "
              "AWS_PROFILE, to send it through AWS"};
}

// The URL itself, or the one in the environment or in the file "@PATH": on the
// command line, other users of the machine can read it.
Result<std::string> webhook_url(const std::string& target,
                                const ActionSettings& settings) {
  if (!target.empty() && !target.starts_with('@')) return target;
  std::string source = "SMDEBUG_WEBHOOK_URL";
  std::string text = settings.webhook_url;
  if (!target.empty()) {
    source = "the file '" + target.substr(1) + "'";
    auto file = read_text_file(target.substr(1));
    if (!file) {
      return Error{Error::Code::invalid_config,
                   "action webhook: " + file.error().message +
                       "; webhook=@FILE takes the path of a file with the "
                       "URL"};
    }
    text = *std::move(file);
  }
  std::string url(trimmed(text));
  if (url.empty() && target.empty()) {
    return Error{Error::Code::invalid_config,
                 "action webhook: SMDEBUG_WEBHOOK_URL should contain one URL "
                 "that begins with http:// or https://, and is not set; "
                 "webhook=@FILE reads the URL from a file"};
  }
  if (!parse_action("webhook=" + url) || url.starts_with('@')) {
    return Error{Error::Code::invalid_config,
                 "action webhook: " + source +
                     " should contain one URL that begins with http:// or "
                     "https://"};
  }
  return url;
}

}  // namespace

const Clock& clock_of(const ActionSettings& settings) {
  return settings.clock ? *settings.clock : system_clock();
}

ActionSettings action_settings_from_environment(Logger& logger) {
  ActionSettings settings;
  settings.smtp_url = environment_text("SMDEBUG_SMTP_URL");
  settings.smtp_user = environment_text("SMDEBUG_SMTP_USER");
  settings.smtp_password = environment_text("SMDEBUG_SMTP_PASSWORD");
  settings.email_from = environment_text("SMDEBUG_EMAIL_FROM");
  settings.webhook_url = environment_text("SMDEBUG_WEBHOOK_URL");
  settings.webhook_secret = environment_text("SMDEBUG_WEBHOOK_SECRET");
  settings.sms_webhook = environment_text("SMDEBUG_SMS_WEBHOOK");
  const auto seconds = [&](const char* name, std::chrono::milliseconds usual) {
    const auto fallback =
        std::chrono::duration_cast<std::chrono::seconds>(usual);
    const int given =
        environment_number(name, static_cast<int>(fallback.count()), logger);
    return given > 0 ? std::chrono::seconds(given) : usual;
  };
  settings.network_timeout =
      seconds("SMDEBUG_ACTION_TIMEOUT", settings.network_timeout);
  settings.command_timeout =
      seconds("SMDEBUG_COMMAND_TIMEOUT", settings.command_timeout);
  return settings;
}

Result<std::unique_ptr<Action>> make_action(ActionRequest request,
                                            const ActionSettings& settings) {
  switch (request.kind) {
    case ActionKind::stop:
      return make_stop_action(std::move(request), settings, http_client());
    case ActionKind::webhook: {
      SMD_TRY(request.target, webhook_url(request.target, settings));
      return make_webhook_action(std::move(request), settings, http_client());
    }
    case ActionKind::command:
      return make_command_action(std::move(request), settings);
    case ActionKind::email:
      if (!settings.smtp_url.empty()) {
        return make_email_action(std::move(request), settings, mail_client());
      }
      if (!has_aws_credentials()) {
        return no_transport(request, "SMDEBUG_SMTP_URL (smtp://host:25)");
      }
      return make_topic_action(std::move(request), settings, http_client());
    case ActionKind::sms:
      if (!settings.sms_webhook.empty()) {
        return make_webhook_action(std::move(request), settings, http_client());
      }
      if (!has_aws_credentials()) {
        return no_transport(request,
                            "SMDEBUG_SMS_WEBHOOK (the URL of a gateway)");
      }
      return make_topic_action(std::move(request), settings, http_client());
  }
  return Error{Error::Code::internal, "an action of an unknown kind"};
}

}  // namespace smdebug
