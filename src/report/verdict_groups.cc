#include "smdebug/report/verdict_groups.h"

#include <algorithm>
#include <iterator>
#include <numeric>

#include <fmt/format.h>

#include "smdebug/report/diagnosis.h"
#include "smdebug/report/verdict_text.h"

#include "report/text_table.h"
#include "report/wording.h"

namespace smdebug {
namespace {

constexpr std::size_t kReasonsShown = 3;
constexpr std::size_t kDiagnosesShown = 3;
constexpr std::string_view kNothingToJudge = "nothing to judge: ";

std::string titles(std::span<const Verdict> group,
                   std::span<const Verdict> among) {
  std::string names;
  for (const Verdict& verdict : group) {
    names += (names.empty() ? "" : ", ") + rule_title(verdict, among);
  }
  return names;
}

// The message behind the name of the rule.
std::string named_message(const Verdict& verdict,
                          std::span<const Verdict> among) {
  std::string text = one_line(verdict.message);
  const std::string name = rule_title(verdict, among);
  // The message of a rule in Python names it.
  return text.starts_with(name + ": ") || text.starts_with("rule " + name + " ")
             ? text
             : name + ": " + text;
}

// One line per verdict, and one for those beyond `shown`.
void add_each(const std::string& title, std::span<const Verdict> group,
              std::span<const Verdict> among, std::size_t shown,
              std::vector<SummaryLine>& lines) {
  const std::size_t n = std::min(group.size(), shown);
  for (const Verdict& verdict : group.first(n)) {
    lines.push_back({title, named_message(verdict, among)});
  }
  if (group.size() > n) {
    lines.push_back({title,
                     fmt::format("and {} more: {}", group.size() - n,
                                 titles(group.subspan(n), among)),
                     1});
  }
}

// "DeadRelu at step 4, WrongMode at step 30, or both".
std::string rivals_text(std::span<const Diagnosis> diagnoses,
                        std::span<const Verdict> among) {
  std::string text;
  for (const Diagnosis& one : diagnoses)
    text += onset_text(one.cause, among) + ", ";
  return text + (diagnoses.size() == 2 ? "or both" : "or several of them");
}

// Why: the usual cause of a finding that explains all, else the candidates.
std::string why_text(std::span<const Diagnosis> diagnoses,
                     std::span<const Verdict> among) {
  if (diagnoses.empty()) return "";
  if (diagnoses.size() > 1) return rivals_text(diagnoses, among);
  const Verdict& cause = diagnoses.front().cause;
  return cause.cause.empty() ? "" : "likely " + one_line(cause.cause);
}

// The first evidence, if the message does not name it already.
std::string further_evidence(const Diagnosis& diagnosis) {
  const std::string text = evidence_text(diagnosis);
  if (text.empty()) return "";
  const std::string& tensor = diagnosis.cause.evidence.front().tensor;
  const bool is_known =
      diagnosis.cause.message.find(tensor) != std::string::npos;
  return is_known ? "" : text;
}

// The lines below the messages of the findings.
struct FindingParts {
  std::string consequences, evidence, why, what_to_try;

  std::size_t lines() const {
    return static_cast<std::size_t>(!consequences.empty()) + !why.empty() +
           !what_to_try.empty();
  }
};

FindingParts parts_of(std::span<const Diagnosis> diagnoses,
                      std::span<const Verdict> among) {
  const Diagnosis& first = diagnoses.front();
  return {consequences_text(first, among), further_evidence(first),
          why_text(diagnoses, among), one_line(first.cause.advice)};
}

// A further diagnosis takes one line.
std::string further_text(const Diagnosis& diagnosis,
                         std::span<const Verdict> among) {
  std::string text = named_message(diagnosis.cause, among);
  const std::string consequences = consequences_text(diagnosis, among);
  return consequences.empty() ? text : text + "; also: " + consequences;
}

// Advice that is no cause: at most `left` lines, the last of which names all
// that follow.
void add_advice(std::span<const Verdict> group, std::span<const Verdict> among,
                std::size_t left, std::vector<SummaryLine>& lines) {
  if (group.empty() || left == 0) return;
  if (group.size() > 1 && left == 1) {
    lines.push_back({"advice", titles(group, among), 1});
  } else {
    add_each("advice", group, among, left > group.size() ? 2 : 1, lines);
  }
}

// The verdicts that the diagnoses contain.
std::size_t findings_in(std::span<const Diagnosis> diagnoses) {
  return std::accumulate(diagnoses.begin(), diagnoses.end(), std::size_t{0},
                         [](std::size_t n, const Diagnosis& one) {
                           return n + 1 + one.consequences.size();
                         });
}

void add_findings(std::span<const Verdict> verdicts,
                  std::vector<SummaryLine>& lines) {
  const std::vector<Diagnosis> diagnoses = diagnose(verdicts);
  const auto fired = verdicts_in(VerdictGroup::fired, verdicts);
  const std::size_t issues = findings_in(diagnoses);
  const std::span<const Verdict> advice = std::span(fired).subspan(issues);
  if (diagnoses.empty()) {
    add_advice(advice, verdicts, kFindingLines, lines);
    if (!advice.empty() && !advice.front().advice.empty())
      lines.push_back({"try", one_line(advice.front().advice), 3});
    return;
  }
  const FindingParts parts = parts_of(diagnoses, verdicts);
  std::size_t left = kFindingLines - 1 - parts.lines();
  lines.push_back({"found", named_message(diagnoses.front().cause, verdicts)});
  if (!parts.consequences.empty())
    lines.push_back({"", "also: " + parts.consequences, 1});
  if (!parts.evidence.empty() && left > 0 && diagnoses.size() == 1) {
    lines.push_back({"", parts.evidence, 5});
    --left;
  }
  for (std::size_t i = 1; i < diagnoses.size() && left > 0; ++i, --left) {
    lines.push_back({"found", further_text(diagnoses[i], verdicts), 4});
  }
  if (!parts.why.empty()) lines.push_back({"cause", parts.why, 1});
  if (!parts.what_to_try.empty())
    lines.push_back({"try", parts.what_to_try, 1});
  add_advice(advice, verdicts, left, lines);
}

// Of a single default rule with too little data, the reason; of several, the
// names and where their reasons are.
void add_too_little(std::span<const Verdict> verdicts,
                    std::vector<SummaryLine>& lines) {
  const auto group = verdicts_in(VerdictGroup::too_little, verdicts);
  if (group.empty()) return;
  std::string text = titles(group, verdicts);
  text += group.size() == 1 ? ": " + reason_text(group.front().message)
                            : "; 'smdebug check RUN' shows why";
  lines.push_back({"too little", text, 4});
}

// Returns "TreeDepth judged nothing", "2 rules judged nothing", or nothing.
std::string unjudged_text(std::span<const Verdict> verdicts) {
  std::vector<Verdict> unjudged =
      verdicts_in(VerdictGroup::too_little, verdicts);
  std::ranges::copy(verdicts_in(VerdictGroup::not_applicable, verdicts),
                    std::back_inserter(unjudged));
  if (unjudged.empty()) return "";
  const std::string rules = unjudged.size() == 1
                                ? rule_title(unjudged.front(), verdicts)
                                : count_text(unjudged.size(), "rule");
  return rules + " judged nothing";
}

}  // namespace

VerdictGroup group_of(const Verdict& verdict) {
  switch (verdict.status) {
    case RuleStatus::issues_found:
      return VerdictGroup::fired;
    case RuleStatus::no_issues_found:
      return VerdictGroup::clean;
    case RuleStatus::error:
      if (!verdict.lacks_data) return VerdictGroup::failed;
      return verdict.observations_found > 0 ? VerdictGroup::too_little
                                            : VerdictGroup::not_applicable;
    case RuleStatus::in_progress:
    case RuleStatus::stopping:
    case RuleStatus::stopped:
      break;
  }
  return VerdictGroup::unfinished;
}

std::string rule_failure_text(const Verdict& verdict) {
  return named_message(verdict, std::span(&verdict, 1));
}

std::vector<Verdict> verdicts_in(VerdictGroup group,
                                 std::span<const Verdict> verdicts) {
  std::vector<Verdict> found;
  std::ranges::copy_if(
      in_order_of_cause(verdicts), std::back_inserter(found),
      [&](const Verdict& verdict) { return group_of(verdict) == group; });
  return found;
}

bool is_nothing_to_judge(std::string_view message) {
  return message.starts_with(kNothingToJudge);
}

std::string reason_text(std::string_view message) {
  if (is_nothing_to_judge(message))
    message.remove_prefix(kNothingToJudge.size());
  return one_line(std::string(message));
}

std::string rules_in(VerdictGroup group, std::span<const Verdict> verdicts) {
  return titles(verdicts_in(group, verdicts), verdicts);
}

std::string outcome_text(std::span<const Verdict> verdicts,
                         bool are_default_rules) {
  const auto fired = verdicts_in(VerdictGroup::fired, verdicts);
  const std::size_t issues = findings_in(diagnose(verdicts));
  if (issues == 1) return rule_title(fired.front(), verdicts) + " fired";
  if (issues > 1) return fmt::format("{} rules fired", issues);
  const auto has = [&](VerdictGroup group) {
    return std::ranges::find(verdicts, group, group_of) != verdicts.end();
  };
  if (has(VerdictGroup::failed)) return "a rule failed";
  std::string unjudged = are_default_rules ? "" : unjudged_text(verdicts);
  if (has(VerdictGroup::clean)) {
    return (fired.empty() ? "nothing found"
                          : "nothing found, except for advice") +
           (unjudged.empty() ? "" : ", but " + unjudged);
  }
  if (!fired.empty()) return "advice";
  if (!unjudged.empty()) return unjudged;
  if (has(VerdictGroup::too_little)) return "too little to judge";
  if (has(VerdictGroup::unfinished)) return "not judged to the end";
  return "nothing to judge";
}

std::vector<SummaryLine> summary_lines(std::span<const Verdict> verdicts,
                                       bool are_default_rules) {
  std::vector<SummaryLine> lines;
  add_findings(verdicts, lines);
  std::vector<Verdict> failed = verdicts_in(VerdictGroup::failed, verdicts);
  if (!are_default_rules) {
    for (const auto group :
         {VerdictGroup::too_little, VerdictGroup::not_applicable}) {
      std::ranges::copy(verdicts_in(group, verdicts),
                        std::back_inserter(failed));
    }
  }
  add_each("no verdict", failed, verdicts, kReasonsShown, lines);
  for (const Verdict& verdict : verdicts) {
    if (!verdict.note.empty()) lines.push_back({"note", verdict.note, 3});
  }
  if (are_default_rules) add_too_little(verdicts, lines);
  if (const std::string clean = rules_in(VerdictGroup::clean, verdicts);
      !clean.empty()) {
    lines.push_back({"no issue", clean, 5});
  }
  if (const std::string left = rules_in(VerdictGroup::unfinished, verdicts);
      !left.empty()) {
    lines.push_back({"unfinished", left, 5});
  }
  return lines;
}

std::vector<SummaryLine> diagnosis_lines(std::span<const Verdict> verdicts) {
  const std::vector<Diagnosis> diagnoses = diagnose(verdicts);
  std::vector<SummaryLine> lines;
  if (diagnoses.empty()) return lines;
  for (const Diagnosis& one : diagnoses) {
    std::string text = onset_text(one.cause, verdicts);
    if (const std::string also = consequences_text(one, verdicts);
        !also.empty())
      text += "; also: " + also;
    lines.push_back({confidence_text(one), text});
    if (lines.size() == kDiagnosesShown) break;
  }
  const FindingParts parts = parts_of(diagnoses, verdicts);
  if (!parts.evidence.empty()) lines.push_back({"evidence", parts.evidence});
  if (diagnoses.size() == 1 && !parts.why.empty())
    lines.push_back({"cause", parts.why});
  if (!parts.what_to_try.empty()) lines.push_back({"try", parts.what_to_try});
  return lines;
}

void leave_out(std::vector<SummaryLine>& lines, std::size_t limit,
               int least_rank) {
  while (lines.size() > limit) {
    // Of several lines of one rank, the last.
    const auto last =
        std::prev(std::ranges::max_element(lines.rbegin(), lines.rend(), {},
                                           &SummaryLine::rank)
                      .base());
    if (last->rank < least_rank) return;
    lines.erase(last);
  }
}

std::string summary_table(std::vector<SummaryLine> lines, std::size_t limit) {
  leave_out(lines, limit);
  TextTable table({"", ""});
  std::string before;
  for (const SummaryLine& line : lines) {
    table.add({line.title == before ? "" : line.title, line.text});
    before = line.title;
  }
  return table.text("  ");
}

}  // namespace smdebug
