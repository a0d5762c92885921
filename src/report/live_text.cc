#include "smdebug/report/live_text.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "smdebug/base/escape.h"
#include "smdebug/report/diagnosis.h"
#include "smdebug/report/verdict_groups.h"

#include "report/wording.h"

namespace smdebug {
namespace {

// The rules see each step a moment after the training has saved it.
constexpr double kLagWorthTelling = 1;  // seconds

// So that they fit on a screen with the summary.
constexpr std::size_t kFindingsShown = 2;

std::string rules_at_work(std::span<const Verdict> verdicts) {
  const auto n = static_cast<std::uint64_t>(
      std::ranges::count(verdicts, RuleStatus::in_progress, &Verdict::status));
  return count_text(n, "rule");
}

// Whether one of `earlier` explains the finding.
bool is_explained(const Verdict& finding, std::span<const Verdict> earlier) {
  std::vector<Verdict> all(earlier.begin(), earlier.end());
  all.push_back(finding);
  const auto is_the_finding = [&](const Verdict& other) {
    return other.rule == finding.rule && other.kind == finding.kind &&
           other.parameters == finding.parameters;
  };
  return std::ranges::any_of(diagnose(all), [&](const Diagnosis& one) {
    return std::ranges::any_of(one.consequences, is_the_finding);
  });
}

// How many of `findings` came without an earlier one that explains them.
std::size_t count_unexplained(std::span<const Verdict> findings) {
  std::size_t n = 0;
  for (std::size_t i = 0; i < findings.size(); ++i)
    n += !is_explained(findings[i], findings.first(i));
  return n;
}

}  // namespace

std::string start_text(const std::string& location,
                       std::span<const Verdict> verdicts) {
  return fmt::format("recording to '{}', {}", printable(location),
                     rules_at_work(verdicts));
}

std::string status_text(const LiveStatus& status,
                        std::span<const Verdict> verdicts) {
  std::string text =
      status.step < 0 ? "no step yet" : fmt::format("step {}", status.step);
  if (status.steps_per_second.value_or(0) > 0) {
    text += fmt::format(", {:.3g} steps/s", *status.steps_per_second);
  }
  if (status.loss)
    text += ", loss " + loss_text(status.loss->value, status.loss->mode);
  text += ", " + rules_at_work(verdicts);
  if (status.lag_steps > 0 && status.lag_seconds >= kLagWorthTelling) {
    text += fmt::format(
        ", {} ({:.1f} s) behind the training",
        count_text(static_cast<std::uint64_t>(status.lag_steps), "step"),
        status.lag_seconds);
  }
  if (const auto fired = rules_in(VerdictGroup::fired, verdicts);
      !fired.empty()) {
    text += ", " + printable(fired) + " fired";
  }
  return text;
}

std::string finding_text(const Verdict& finding,
                         std::span<const Verdict> earlier) {
  if (is_explained(finding, earlier)) return "";
  const std::size_t shown = count_unexplained(earlier);
  if (shown >= kFindingsShown) return "";
  std::string text = fmt::format(
      "{}: {}{}: {}\n", finding.rule, rule_status_name(finding.status),
      finding.severity == Severity::advice ? " (advice)" : "",
      printable(one_line(finding.message)));
  if (shown == 0 && !finding.advice.empty())
    text += "  advice: " + printable(one_line(finding.advice)) + "\n";
  return text;
}

}  // namespace smdebug
