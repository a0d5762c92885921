#include "smdebug/report/verdict_text.h"

#include <algorithm>

#include <fmt/format.h>

#include "smdebug/base/escape.h"

#include "report/json_parts.h"
#include "report/text_table.h"
#include "report/wording.h"

namespace smdebug {
namespace {

constexpr std::size_t kEvidenceShown = 8;

std::string evidence_text(std::span<const Evidence> evidence) {
  TextTable table(
      {"tensor", "worker", ">step", "what", ">value", "", ">threshold"});
  for (const Evidence& one :
       evidence.first(std::min(evidence.size(), kEvidenceShown))) {
    table.add({one.tensor, one.worker, step_number_text(one.step), one.quantity,
               number_text(one.value), one.relation,
               one.threshold ? number_text(*one.threshold) : ""});
  }
  std::string text = table.text("    ");
  if (evidence.size() > kEvidenceShown) {
    text += fmt::format("    and {} more\n", evidence.size() - kEvidenceShown);
  }
  return text;
}

}  // namespace

std::string rule_title(const Verdict& verdict, std::span<const Verdict> among) {
  if (std::ranges::count(among, verdict.rule, &Verdict::rule) < 2 ||
      verdict.parameters.empty()) {
    return verdict.rule;
  }
  std::string given;
  for (const auto& [name, text] : verdict.parameters) {
    given += fmt::format("{}{}={}", given.empty() ? "" : ", ", name, text);
  }
  return fmt::format("{} ({})", verdict.rule, given);
}

std::string verdict_text(const Verdict& verdict) {
  const bool is_advice = verdict.severity == Severity::advice;
  std::string text = fmt::format(
      "{}: {}{}\n  {}\n", verdict.rule, rule_status_name(verdict.status),
      is_advice ? " (advice)" : "", printable_lines(verdict.message));
  if (!verdict.evidence.empty()) text += evidence_text(verdict.evidence);
  if (!verdict.cause.empty()) {
    text += fmt::format("  usual cause: {}\n", printable_lines(verdict.cause));
  }
  if (!verdict.advice.empty()) {
    text += fmt::format("  advice: {}\n", printable_lines(verdict.advice));
  }
  return text;
}

std::string verdicts_text(std::span<const Verdict> verdicts) {
  TextTable table({"", "", ""});
  for (const Verdict& verdict : verdicts) {
    table.add({rule_title(verdict, verdicts),
               std::string(rule_status_name(verdict.status)), verdict.message});
  }
  return table.text("  ");
}

std::string action_text(const ActionResult& result) {
  std::string_view status = action_status_name(result.status);
  if (result.status == ActionStatus::not_repeated) status = "not repeated";
  return fmt::format("{}{}{}: {}: {}", result.action,
                     result.target.empty() ? "" : " ", printable(result.target),
                     status, printable(result.message));
}

std::string verdict_json(const Verdict& verdict) {
  return to_json(verdict).dump();
}

std::vector<std::string> verdicts_json(std::span<const Verdict> verdicts) {
  std::vector<std::string> lines(verdicts.size());
  std::ranges::transform(verdicts, lines.begin(), verdict_json);
  return lines;
}

}  // namespace smdebug
