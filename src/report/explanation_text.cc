// Formats an explanation as text and JSON.

#include <fmt/format.h>

#include "smdebug/base/escape.h"
#include "smdebug/report/explanation.h"

#include "base/suggestions.h"
#include "report/json_parts.h"
#include "report/text_table.h"
#include "report/wording.h"

namespace smdebug {
namespace {

// The answer about all steps already counts them.
std::string range_text(const Explanation& explanation) {
  return fmt::format(", from {} to {}", *explanation.first_saved,
                     *explanation.last_saved);
}

std::string headline(const Explanation& explanation) {
  const bool was_saved = explanation.was_saved.value_or(false);
  const std::string tensor = printable(explanation.tensor);
  const std::string answer = printable(explanation.answer);
  if (!explanation.step) {
    return tensor + ": " + answer +
           (explanation.saved_steps > 0 ? range_text(explanation) : "") + "\n";
  }
  return fmt::format("{} was {}saved at {}: {}\n", tensor,
                     was_saved ? "" : "not ", step_text(*explanation.step),
                     answer);
}

std::string yes_or_no(const std::optional<bool>& answer) {
  if (!answer) return "?";
  return *answer ? "yes" : "no";
}

std::string table_text(const Explanation& explanation) {
  TextTable table({"collection", "matched by", "saved", "when", "form"});
  for (const Explanation::Membership& member : explanation.memberships) {
    table.add({member.collection, member.reason, yes_or_no(member.is_saved),
               member.schedule, member.saved_as});
  }
  return table.text();
}

Json to_json(const Explanation::Membership& member) {
  Json json;
  json["collection"] = member.collection;
  json["reason"] = member.reason;
  json["is_saved"] = Json(member.is_saved);
  json["schedule"] = member.schedule;
  json["saved_as"] = member.saved_as;
  json["is_due"] = Json(member.is_due);
  json["due_before"] = Json(member.due_before);
  json["due_after"] = Json(member.due_after);
  return json;
}

}  // namespace

std::string explanation_text(const Explanation& explanation) {
  std::string text = headline(explanation);
  if (!explanation.memberships.empty()) text += table_text(explanation);
  if (explanation.step && explanation.saved_steps > 0) {
    text += "saved at " + count_text(explanation.saved_steps, "step") +
            range_text(explanation) + "\n";
  }
  if (!explanation.nearest_names.empty()) {
    text += fmt::format("similar names: {}\n",
                        quoted_list(explanation.nearest_names));
  }
  return text;
}

std::string explanation_json(const Explanation& explanation) {
  Json json;
  json["run"] = explanation.run;
  json["tensor"] = explanation.tensor;
  json["step"] = explanation.step ? to_json(*explanation.step) : Json();
  json["was_saved"] = Json(explanation.was_saved);
  json["answer"] = explanation.answer;
  json["collections"] = Json::Array();
  for (const Explanation::Membership& member : explanation.memberships)
    json["collections"].append(to_json(member));
  json["saved_steps"] = explanation.saved_steps;
  json["first_saved"] = Json(explanation.first_saved);
  json["last_saved"] = Json(explanation.last_saved);
  json["nearest_names"] = to_json(explanation.nearest_names);
  return json.dump(JsonStyle::indented) + "\n";
}

}  // namespace smdebug
