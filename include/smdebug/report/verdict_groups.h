#pragma once

// Sorts verdicts by what they mean to a reader, and lists them in few lines,
// for the summary of a training (run_summary.h).

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "smdebug/rules/verdict.h"

namespace [[gnu::visibility("default")]] smdebug {

enum class VerdictGroup {
  fired,           // found an issue
  failed,          // an error ended the rule
  too_little,      // found its tensors, but too few to judge
  not_applicable,  // the run has none of its tensors
  clean,           // judged and found nothing
  unfinished,      // in progress, or canceled
};

VerdictGroup group_of(const Verdict& verdict);

/// Returns the verdicts of a group, in the order of a report (diagnosis.h).
std::vector<Verdict> verdicts_in(VerdictGroup group,
                                 std::span<const Verdict> verdicts);

/// Returns why a rule failed, with its name, on one line.
std::string rule_failure_text(const Verdict& verdict);

/// Returns whether this is the message of a rule that could not judge.
bool is_nothing_to_judge(std::string_view message);

/// Returns, on one line, why a rule could not judge: its message without
/// "nothing to judge: ".
std::string reason_text(std::string_view message);

/// Returns the rules of a group: "DeadRelu, TreeDepth"; empty if there are
/// none.
std::string rules_in(VerdictGroup group, std::span<const Verdict> verdicts);

/// Returns the result in a few words: "VanishingGradient fired", "nothing
/// found", "too little to judge". `are_default_rules` as in `summary_lines`:
/// rules that the user named and that judged nothing are counted.
std::string outcome_text(std::span<const Verdict> verdicts,
                         bool are_default_rules = true);

// A line of a summary. If a summary has too many, those of the highest rank are
// left out first.
struct SummaryLine {
  std::string title;
  std::string text;
  int rank = 0;
};

// With the causes, their consequences, and what to try.
inline constexpr std::size_t kFindingLines = 5;

/// Returns what the rules found: the diagnoses in at most `kFindingLines`
/// lines, then what else the rules said. `are_default_rules`: rules that do not
/// apply are left out; otherwise the user named the rules, and each that could
/// not judge has a line with the reason.
std::vector<SummaryLine> summary_lines(std::span<const Verdict> verdicts,
                                       bool are_default_rules);

/// Returns the diagnoses without the messages of the verdicts, for reports that
/// list those anyway.
std::vector<SummaryLine> diagnosis_lines(std::span<const Verdict> verdicts);

/// Removes lines until `limit` are left, those of the highest rank first, none
/// below `least_rank`.
void leave_out(std::vector<SummaryLine>& lines, std::size_t limit,
               int least_rank = 0);

/// Returns `lines` as a table of at most `limit` lines.
std::string summary_table(std::vector<SummaryLine> lines, std::size_t limit);

}  // namespace smdebug
