#include "smdebug/report/verdict_groups.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "smdebug/report/likely_cause.h"
#include "smdebug/report/verdict_text.h"

#include "report/text_table.h"
#include "report/wording.h"

namespace smdebug {
namespace {

constexpr std::size_t kFindingsShown = 3;
constexpr std::size_t kReasonsShown = 3;
constexpr std::string_view kNothingToJudge = "nothing to judge: ";

bool is_advice(const Verdict& verdict) {
  return verdict.severity == Severity::advice;
}

std::string titles(std::span<const Verdict> group,
                   std::span<const Verdict> among) {
  std::string names;
  for (const Verdict& verdict : group) {
    names += (names.empty() ? "" : ", ") + rule_title(verdict, among);
  }
  return names;
}

// One line per verdict, and one for those beyond `shown`.
void add_each(const std::string& title, std::span<const Verdict> group,
              std::span<const Verdict> among, std::size_t shown,
              std::vector<SummaryLine>& lines) {
  const std::size_t n = std::min(group.size(), shown);
  for (const Verdict& verdict : group.first(n)) {
    // The message of a rule in Python begins with its name.
    std::string text = one_line(verdict.message);
    if (const std::string name = rule_title(verdict, among) + ": ";
        !text.starts_with(name)) {
      text.insert(0, name);
    }
    lines.push_back({title, std::move(text)});
  }
  if (group.size() > n) {
    lines.push_back({title,
                     fmt::format("and {} more: {}", group.size() - n,
                                 titles(group.subspan(n), among)),
                     1});
  }
}

void add_findings(std::span<const Verdict> verdicts,
                  std::vector<SummaryLine>& lines) {
  const auto fired = verdicts_in(VerdictGroup::fired, verdicts);
  const auto advice = std::ranges::find_if(fired, is_advice);
  const auto issues = static_cast<std::size_t>(advice - fired.begin());
  const std::span<const Verdict> all(fired);
  add_each("found", all.first(issues), verdicts, kFindingsShown, lines);
  const std::string cause = likely_cause_text(verdicts);
  if (!cause.empty()) lines.push_back({"cause", cause, 1});
  add_each("advice", all.subspan(issues), verdicts, 1, lines);
  if (!fired.empty() && !fired.front().advice.empty()) {
    lines.push_back({"try", fired.front().advice, 4});
  }
}

// Of a single default rule with too little data, the reason; of several, only
// the names.
void add_too_little(std::span<const Verdict> verdicts,
                    std::vector<SummaryLine>& lines) {
  const auto group = verdicts_in(VerdictGroup::too_little, verdicts);
  if (group.empty()) return;
  std::string text = titles(group, verdicts);
  if (group.size() == 1) text += ": " + reason_text(group.front().message);
  lines.push_back({"too little", text, 6});
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
  const auto issues = static_cast<std::size_t>(
      std::ranges::find_if(fired, is_advice) - fired.begin());
  if (issues == 1) return rule_title(fired.front(), verdicts) + " fired";
  if (issues > 1) return fmt::format("{} rules fired", issues);
  const auto has = [&](VerdictGroup group) {
    return std::ranges::find(verdicts, group, group_of) != verdicts.end();
  };
  if (has(VerdictGroup::failed)) return "a rule failed";
  const std::string unjudged = are_default_rules ? "" : unjudged_text(verdicts);
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

std::string summary_table(std::vector<SummaryLine> lines, std::size_t limit) {
  while (lines.size() > limit) {
    // Of several lines of one rank, the last.
    const auto last = std::ranges::max_element(lines.rbegin(), lines.rend(), {},
                                               &SummaryLine::rank)
                          .base();
    lines.erase(std::prev(last));
  }
  TextTable table({"", ""});
  std::string before;
  for (const SummaryLine& line : lines) {
    table.add({line.title == before ? "" : line.title, line.text});
    before = line.title;
  }
  return table.text("  ");
}

std::string verdict_summary_text(std::span<const Verdict> verdicts) {
  constexpr std::size_t kLimit = 10;
  return outcome_text(verdicts, false) + "\n" +
         summary_table(summary_lines(verdicts, false), kLimit);
}

}  // namespace smdebug
