// Posts a JSON document. The header X-Smdebug-Signature is the HMAC-SHA256 of
// the body under the user's secret and authenticates the sender.
// X-Smdebug-Delivery is the same in every attempt to deliver one alert, so that
// the receiver can ignore repetitions.

#include <fmt/format.h>

#include "smdebug/base/clock.h"

#include "actions/actions.h"
#include "base/json.h"
#include "net/hmac.h"

namespace smdebug {
namespace {

constexpr int kTries = 3;
constexpr std::chrono::seconds kFirstWait(1);

// Returns true if a retry may succeed: there was no response, or the server had
// a temporary error.
bool is_worth_a_retry(const Result<HttpResponse>& answer) {
  if (!answer) return answer.error().code == Error::Code::unavailable;
  return answer->status >= 500 || answer->status == 429;
}

class WebhookAction : public Action {
 public:
  WebhookAction(ActionRequest request, const ActionSettings& settings,
                const HttpClient& http)
      : Action(std::move(request)), settings_(settings), http_(http) {}

  Result<std::string> perform(const Alert& alert) override {
    const HttpRequest post = request_of(alert);
    auto wait = kFirstWait;
    for (int tried = 1;; ++tried) {
      const auto answer = http_.send(post);
      if (answer && answer->is_success()) {
        return fmt::format("{} answered {}", shown_url(post.url),
                           answer->status);
      }
      if (tried == kTries || !is_worth_a_retry(answer)) {
        return failure(post.url, answer, tried);
      }
      clock_of(settings_).sleep_for(wait);
      wait *= 2;
    }
  }

 private:
  HttpRequest request_of(const Alert& alert) const {
    const bool is_text_message = request().kind == ActionKind::sms;
    HttpRequest post;
    post.method = "POST";
    post.url = is_text_message ? settings_.sms_webhook : request().target;
    post.timeout = settings_.network_timeout;
    post.body = is_text_message ? text_message(alert) : alert_json(alert);
    post.headers = {
        {"Content-Type", "application/json"},
        {"User-Agent", "smdebug"},
        {"X-Smdebug-Delivery", hex_text(sha256(post.body)).substr(0, 32)}};
    if (!settings_.webhook_secret.empty()) {
      post.headers.push_back(
          {"X-Smdebug-Signature",
           "sha256=" +
               hex_text(hmac_sha256(settings_.webhook_secret, post.body))});
    }
    return post;
  }

  std::string text_message(const Alert& alert) const {
    return Json(Json::Object{{"to", request().target},
                             {"text", "smdebug: " + alert.verdict.rule + ": " +
                                          alert.verdict.message},
                             {"time", utc_text(alert.wall_seconds)}})
        .dump(JsonStyle::spaced);
  }

  static Error failure(const std::string& url,
                       const Result<HttpResponse>& answer, int tried) {
    const std::string tries =
        tried == 1 ? "" : fmt::format(" (tried {} times)", tried);
    if (!answer) return {answer.error().code, answer.error().message + tries};
    return {Error::Code::io, fmt::format("{} answered {}{}", shown_url(url),
                                         answer->status, tries)};
  }

  const ActionSettings settings_;
  const HttpClient& http_;
};

}  // namespace

std::unique_ptr<Action> make_webhook_action(ActionRequest request,
                                            const ActionSettings& settings,
                                            const HttpClient& http) {
  return std::make_unique<WebhookAction>(std::move(request), settings, http);
}

}  // namespace smdebug
