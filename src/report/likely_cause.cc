#include "smdebug/report/likely_cause.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include <fmt/format.h>

#include "smdebug/core/mode.h"

#include "report/json_parts.h"
#include "report/wording.h"

namespace smdebug {
namespace {

bool has_fired(const Verdict& verdict) {
  return verdict.status == RuleStatus::issues_found;
}

bool is_cause(const Verdict& verdict) {
  return has_fired(verdict) && verdict.severity != Severity::advice;
}

// Verdicts that name no tensor of their step come last within it.
bool comes_before(const Verdict& a, const Verdict& b) {
  const auto place = [](const Verdict& verdict) {
    const bool fired = has_fired(verdict);
    return std::tuple(
        !fired, !is_cause(verdict), fired ? verdict.step.global : 0,
        fired
            ? verdict.position.value_or(std::numeric_limits<std::size_t>::max())
            : 0);
  };
  return place(a) < place(b);
}

}  // namespace

std::vector<Verdict> in_order_of_cause(std::span<const Verdict> verdicts) {
  std::vector<Verdict> ordered(verdicts.begin(), verdicts.end());
  std::ranges::stable_sort(ordered, comes_before);
  return ordered;
}

const Verdict* likely_cause(std::span<const Verdict> verdicts) {
  if (std::ranges::count_if(verdicts, is_cause) < 2) return nullptr;
  return &*std::ranges::min_element(verdicts, comes_before);
}

std::string likely_cause_text(std::span<const Verdict> verdicts) {
  const Verdict* cause = likely_cause(verdicts);
  if (!cause) return "";
  std::string place = "at " + step_text(cause->step);
  if (!cause->evidence.empty() && !cause->evidence.front().tensor.empty()) {
    place += ", in " + cause->evidence.front().tensor;
  }
  return fmt::format("{} {}, the first of {} rules that fired", cause->rule,
                     place, std::ranges::count_if(verdicts, is_cause));
}

Json likely_cause_json(std::span<const Verdict> verdicts) {
  const Verdict* cause = likely_cause(verdicts);
  if (!cause) return Json();
  const bool has_tensor = !cause->evidence.empty();
  return Json::Object{
      {"rule", cause->rule},
      {"step", to_json(cause->step)},
      {"tensor", has_tensor ? Json(cause->evidence.front().tensor) : Json()},
      {"text", likely_cause_text(verdicts)}};
}

}  // namespace smdebug
