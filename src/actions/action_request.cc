#include "smdebug/actions/action_request.h"

#include <algorithm>
#include <array>
#include <optional>

#include "smdebug/base/escape.h"

#include "base/json.h"
#include "base/strings.h"
#include "net/http.h"

namespace smdebug {
namespace {

constexpr std::array kKinds = {ActionKind::stop, ActionKind::email,
                               ActionKind::sms, ActionKind::webhook,
                               ActionKind::command};
constexpr const char* kAccepted =
    "stop, stop=PREFIX, email=ADDRESS, sms=NUMBER, webhook=URL, webhook=@FILE, "
    "webhook or command=PROGRAM";

// Checks only the syntax. Whether the mailbox exists, only the mail server
// knows.
bool is_address(std::string_view text) {
  const auto at = text.find('@');
  const bool has_blank = text.find_first_of(" <>,;") != text.npos;
  return is_one_line(text) && !has_blank && at != text.npos && at > 0 &&
         at + 1 < text.size() && text.find('@', at + 1) == text.npos;
}

bool is_phone_number(std::string_view text) {  // E.164
  return text.size() >= 2 && text.size() <= 16 && text.front() == '+' &&
         std::ranges::all_of(text.substr(1),
                             [](char c) { return c >= '0' && c <= '9'; });
}

bool is_web_address(const std::string& text) {
  return (text.starts_with("http://") || text.starts_with("https://")) &&
         is_one_line(text) && split_url(text).ok();
}

// Only the kind: a mistyped target may still contain a secret.
std::string shown_action(std::string_view text) {
  const auto end = text.find_first_of("=:/@ ");
  return printable(text.substr(0, end)) + (end == text.npos ? "" : "=…");
}

// A wrong target as far as it is no secret: of a URL the scheme, of anything
// else the first letter, because a token may be in the place of an address.
std::string shown_wrong_target(std::string_view target) {
  const auto is_lower = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto is_of_number = [](char c) {
    return (c >= '0' && c <= '9') ||
           std::string_view("+-() ").find(c) != std::string_view::npos;
  };
  constexpr std::size_t kLongestScheme = 8;
  constexpr std::size_t kLongestNumber = 20;
  const auto colon = target.find(":/");
  if (colon <= kLongestScheme &&
      std::ranges::all_of(target.substr(0, colon), is_lower)) {
    const auto rest = target.find_first_not_of(":/", colon);
    return std::string(target.substr(0, rest)) +
           (rest == target.npos ? "" : "…");
  }
  if (target.size() <= kLongestNumber &&
      std::ranges::all_of(target, is_of_number))
    return std::string(target);
  const std::string_view first = target.substr(0, 1);
  return (is_one_line(first) && first < "\x7f" ? std::string(first) : "") + "…";
}

Error no_action(std::string_view text, const std::string& why) {
  return {Error::Code::invalid_argument,
          "action '" + shown_action(text) + "': " + why};
}

std::optional<ActionKind> find_kind(std::string_view name) {
  for (const ActionKind kind : kKinds) {
    if (action_kind_name(kind) == name) return kind;
  }
  return std::nullopt;
}

// Returns what is wrong with the target, or nothing.
std::optional<std::string> complaint_about(const ActionRequest& request) {
  switch (request.kind) {
    case ActionKind::stop:
      return std::nullopt;
    case ActionKind::email:
      if (is_address(request.target)) return std::nullopt;
      return "expected an address such as ann@example.com";
    case ActionKind::sms:
      if (is_phone_number(request.target)) return std::nullopt;
      return "expected a phone number such as +4912345678";
    case ActionKind::webhook:
      if (request.target.size() > 1 && request.target.front() == '@') {
        return std::nullopt;  // a file, see `make_action`
      }
      if (is_web_address(request.target)) return std::nullopt;
      return "expected a URL that begins with http:// or https:// and names a "
             "host, @FILE for a "
             "file that contains one, or 'webhook' without '=' for the one in "
             "SMDEBUG_WEBHOOK_URL";
    case ActionKind::command:
      if (!request.target.empty()) return std::nullopt;
      return "expected a program";
  }
  return std::nullopt;
}

// Finds a member by its name in lower case. The last of several counts.
const std::string* find_text(const Json& entry, std::string_view key) {
  const std::string* found = nullptr;
  for (const Json::Member& member : *entry.as_object()) {
    if (lower_case(member.key) == key) found = member.value.as_string();
  }
  return found;
}

std::optional<ActionRequest> find_action(const Json& entry) {
  if (!entry.as_object()) return std::nullopt;
  const bool has_only_texts =
      std::ranges::all_of(*entry.as_object(), [](const Json::Member& member) {
        return member.value.as_string() != nullptr;
      });
  const std::string* const name = find_text(entry, "name");
  if (!has_only_texts || !name) return std::nullopt;
  const std::string word = lower_case(*name);
  const auto kind = word == "stoptraining" ? ActionKind::stop : find_kind(word);
  if (!kind) return std::nullopt;

  const std::string* target = nullptr;
  if (*kind == ActionKind::stop) {
    target = find_text(entry, "training_job_prefix");
    return ActionRequest{*kind, target ? *target : ""};
  }
  if (*kind == ActionKind::webhook) target = find_text(entry, "url");
  if (*kind == ActionKind::command) target = find_text(entry, "command");
  if (!target) target = find_text(entry, "endpoint");
  if (!target || target->empty() || !is_one_line(*target)) return std::nullopt;
  ActionRequest request{*kind, *target};
  // Targets of the original's actions are kept as they are.
  if (*kind == ActionKind::webhook && complaint_about(request))
    return std::nullopt;
  return request;
}

// "TOKEN=x notify.sh --key y" is "notify.sh …": variables and arguments may be
// secrets.
std::string program_of(const std::string& command) {
  std::string_view rest = trimmed(command);
  while (true) {
    const std::string_view word = rest.substr(0, rest.find_first_of(" \t\n"));
    const bool is_assignment = word.find('=') != word.npos;
    const std::string_view after = trimmed(rest.substr(word.size()));
    if (is_assignment && after.empty()) return "…";
    if (!is_assignment) {
      return printable(word) + (after.empty() ? "" : " …");
    }
    rest = after;
  }
}

// Configurations of the cloud nest the string in another one, with \" for ".
std::string without_backslashes(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) ++i;
    plain += text[i];
  }
  return plain;
}

// An entry of an action string without its texts, which may be secrets.
std::string shown_entry(const Json& entry) {
  if (!entry.as_object()) return "an entry that is not an object";
  std::string keys;
  for (const Json::Member& member : *entry.as_object()) {
    keys += (keys.empty() ? "'" : ", '") + printable(member.key) + "'";
  }
  const std::string* const name = find_text(entry, "name");
  return (name ? "'" + shown_action(*name) + "' " : "an object ") +
         (keys.empty() ? "without keys" : "with the keys " + keys);
}

}  // namespace

std::string_view action_kind_name(ActionKind kind) {
  switch (kind) {
    case ActionKind::stop:
      return "stop";
    case ActionKind::email:
      return "email";
    case ActionKind::sms:
      return "sms";
    case ActionKind::webhook:
      return "webhook";
    case ActionKind::command:
      return "command";
  }
  return "stop";
}

std::string shown_target(const ActionRequest& request) {
  if (request.kind == ActionKind::webhook && !request.target.empty() &&
      !request.target.starts_with('@')) {
    return shown_url(request.target);
  }
  if (request.kind == ActionKind::command) return program_of(request.target);
  return printable(request.target);
}

Result<ActionRequest> parse_action(std::string_view text) {
  const auto equals = text.find('=');
  const std::string_view name = text.substr(0, equals);
  const auto kind = find_kind(name);
  if (!kind) {
    return no_action(text, std::string("unknown action; use ") + kAccepted);
  }
  ActionRequest request{*kind, ""};
  if (equals != text.npos) request.target = text.substr(equals + 1);
  const bool is_in_environment =
      *kind == ActionKind::webhook && equals == text.npos;
  if (is_in_environment) return request;
  if (const auto complaint = complaint_about(request)) {
    return Error{Error::Code::invalid_argument,
                 "action '" + std::string(name) +
                     (equals == text.npos ? "" : "=") +
                     shown_wrong_target(request.target) + "': " + *complaint};
  }
  return request;
}

Result<ParsedActions> parse_action_string(std::string_view text) {
  ParsedActions parsed;
  if (trimmed(text).empty()) return parsed;
  auto json = Json::parse(text);
  if (!json) {
    auto unescaped = Json::parse(without_backslashes(text));
    if (!unescaped) {
      return Error{Error::Code::invalid_argument,
                   "the action string is not JSON: " + json.error().message};
    }
    json = std::move(unescaped);
  }
  const Json::Array single = {*json};
  for (const Json& entry : json->as_array() ? *json->as_array() : single) {
    if (auto action = find_action(entry)) {
      parsed.actions.push_back(*std::move(action));
    } else {
      parsed.refused.push_back(
          "not an action: " + shown_entry(entry) +
          "; use stoptraining, email or sms with endpoint, webhook with a "
          "url that begins with http:// or https://, or command with command");
    }
  }
  return parsed;
}

}  // namespace smdebug
