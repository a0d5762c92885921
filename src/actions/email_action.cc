// Sends an email over SMTP: the verdict as text, and the alert as an attachment
// for programs.

#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "smdebug/base/clock.h"
#include "smdebug/base/escape.h"
#include "smdebug/base/try.h"

#include "actions/actions.h"
#include "base/base64.h"
#include "base/environment.h"
#include "net/hmac.h"

namespace smdebug {
namespace {

constexpr std::size_t kEvidenceShown = 20;

std::string base64(std::string_view text) {
  std::string encoded;
  append_base64(std::as_bytes(std::span(text.data(), text.size())), encoded);
  return encoded;
}

// Returns lines of 76 characters (RFC 2045 §6.8).
std::string base64_lines(std::string_view text) {
  const std::string encoded = base64(text);
  std::string lines;
  for (std::size_t i = 0; i < encoded.size(); i += 76) {
    lines += encoded.substr(i, 76) + "\r\n";
  }
  return lines;
}

// Encodes text that may not be ASCII (RFC 2047), in words of less than 75
// characters that do not split a character of UTF-8.
std::string header_text(std::string_view text) {
  constexpr std::size_t kBytesPerWord = 42;
  std::string words;
  while (!text.empty()) {
    std::size_t size = std::min(text.size(), kBytesPerWord);
    while (size < text.size() && size > 0 &&
           (static_cast<unsigned char>(text[size]) & 0xc0) == 0x80) {
      --size;
    }
    words += (words.empty() ? "" : "\r\n ") +
             ("=?utf-8?B?" + base64(text.substr(0, size)) + "?=");
    text.remove_prefix(size);
  }
  return words;
}

std::string body_text(const Alert& alert) {
  const Verdict& verdict = alert.verdict;
  std::string text = fmt::format(
      "{}\n\n{}\n\nrun   {}\nstep  {} ({} {})\n",
      printable(verdict.rule) + " fired.", printable_lines(verdict.message),
      printable(alert.run), verdict.step.global, mode_name(verdict.step.mode),
      verdict.step.mode_step);
  for (std::size_t i = 0; i < std::min(verdict.evidence.size(), kEvidenceShown);
       ++i) {
    const Evidence& one = verdict.evidence[i];
    text += fmt::format("  {}: {} {:.4g}", printable(one.tensor),
                        printable(one.quantity), one.value);
    if (one.threshold) {
      text += fmt::format(" {} {:.4g}", one.relation, *one.threshold);
    }
    text += "\n";
  }
  if (verdict.evidence.size() > kEvidenceShown) {
    text += fmt::format("  and {} more\n",
                        verdict.evidence.size() - kEvidenceShown);
  }
  if (!verdict.advice.empty()) {
    text += "\n" + printable_lines(verdict.advice) + "\n";
  }
  return text;
}

std::string part(std::string_view type, std::string_view disposition,
                 std::string_view content) {
  return fmt::format(
      "Content-Type: {}; charset=utf-8\r\n"
      "Content-Transfer-Encoding: base64\r\n"
      "Content-Disposition: {}\r\n\r\n{}\r\n",
      type, disposition, base64_lines(content));
}

class EmailAction : public Action {
 public:
  EmailAction(ActionRequest request, const ActionSettings& settings,
              const MailClient& mail)
      : Action(std::move(request)), settings_(settings), mail_(mail) {}

  Result<std::string> perform(const Alert& alert) override {
    Mail mail;
    mail.from = settings_.email_from.empty() ? "smdebug@" + host_name()
                                             : settings_.email_from;
    mail.to = {request().target};
    mail.timeout = settings_.network_timeout;
    mail.message = message(mail.from, alert);
    SMD_CHECK_OK(mail_.send(
        {settings_.smtp_url, settings_.smtp_user, settings_.smtp_password},
        mail));
    return "sent to " + shown_target(request());
  }

 private:
  std::string message(const std::string& from, const Alert& alert) const {
    const std::string json = alert_json(alert);
    const std::string id = hex_text(sha256(json)).substr(0, 32);
    const std::string boundary = "smdebug-" + id;
    return fmt::format(
        "From: {}\r\nTo: {}\r\nSubject: {}\r\nDate: {}\r\n"
        "Message-ID: <{}@smdebug>\r\nMIME-Version: 1.0\r\n"
        "Content-Type: multipart/mixed; boundary=\"{}\"\r\n\r\n"
        "--{}\r\n{}--{}\r\n{}--{}--\r\n",
        from, request().target,
        header_text("smdebug: " + printable(alert.verdict.rule) + " fired in " +
                    printable(alert.run)),
        utc_text(alert.wall_seconds, "%a, %d %b %Y %H:%M:%S +0000"), id,
        boundary, boundary, part("text/plain", "inline", body_text(alert)),
        boundary,
        part("application/json", "attachment; filename=\"verdict.json\"", json),
        boundary);
  }

  const ActionSettings settings_;
  const MailClient& mail_;
};

}  // namespace

std::unique_ptr<Action> make_email_action(ActionRequest request,
                                          const ActionSettings& settings,
                                          const MailClient& mail) {
  return std::make_unique<EmailAction>(std::move(request), settings, mail);
}

}  // namespace smdebug
