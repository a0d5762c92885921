#include "smdebug/report/diagnosis.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "smdebug/core/mode.h"
#include "smdebug/report/verdict_text.h"

#include "report/cause_table.h"
#include "report/json_parts.h"
#include "report/wording.h"

namespace smdebug {
namespace {

bool has_fired(const Verdict& verdict) {
  return verdict.status == RuleStatus::issues_found;
}

bool is_advice(const Verdict& verdict) {
  return verdict.severity == Severity::advice;
}

// One rule that fires twice, with other parameters or another preset.
bool is_repetition(const Verdict& first, const Verdict& second) {
  return first.rule == second.rule && first.kind == second.kind;
}

// A finding without a step, such as a slow start, is listed last.
std::tuple<Step, CausePlace, std::size_t> place_of(const Verdict& finding) {
  const Step step = finding.step.global;
  return {step < 0 ? std::numeric_limits<Step>::max() : step,
          cause_place(finding),
          finding.position.value_or(std::numeric_limits<std::size_t>::max())};
}

// The findings of a run in the order of their onset, and which explains which,
// directly or over others.
class FindingGraph {
 public:
  explicit FindingGraph(std::span<const Verdict> verdicts) {
    std::ranges::copy_if(verdicts, std::back_inserter(all_), has_fired);
    std::ranges::stable_sort(all_, {}, place_of);
    explains_.resize(all_.size(), std::vector<bool>(all_.size()));
    for (std::size_t i = 0; i < all_.size(); ++i) {
      for (std::size_t j = 0; j < all_.size(); ++j) {
        explains_[i][j] = explains(all_[i], all_[j]) ||
                          (i < j && is_repetition(all_[i], all_[j]));
      }
    }
    for (std::size_t k = 0; k < all_.size(); ++k) follow_through(k);
  }

  // The root of each finding; of several, the first that is no advice. Advice
  // that explains nothing has none.
  std::vector<std::optional<std::size_t>> roots() const {
    std::vector<std::optional<std::size_t>> roots(all_.size());
    for (std::size_t j = 0; j < all_.size(); ++j) {
      if (!is_advice(all_[j])) roots[j] = root_of(j);
    }
    // Advice follows a cause that another finding has; the rest is listed last.
    for (std::size_t j = 0; j < all_.size(); ++j) {
      if (!is_advice(all_[j])) continue;
      const std::size_t root = root_of(j);
      if (std::ranges::find(roots, std::optional(root)) != roots.end())
        roots[j] = root;
    }
    return roots;
  }

  const std::vector<Verdict>& all() const { return all_; }

 private:
  void follow_through(std::size_t k) {
    for (std::size_t i = 0; i < all_.size(); ++i) {
      for (std::size_t j = 0; explains_[i][k] && j < all_.size(); ++j) {
        if (explains_[k][j]) explains_[i][j] = true;
      }
    }
  }

  bool is_root(std::size_t j) const {
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (i != j && explains_[i][j] && !(explains_[j][i] && j < i))
        return false;
    }
    return true;
  }

  std::size_t root_of(std::size_t j) const {
    std::optional<std::size_t> advice;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      const bool is_candidate = i == j || explains_[i][j];
      if (!is_candidate || !is_root(i)) continue;
      if (i == j || !is_advice(all_[i])) return i;
      if (!advice) advice = i;
    }
    return advice.value_or(j);
  }

  std::vector<Verdict> all_;
  std::vector<std::vector<bool>> explains_;
};

// Names only the global step: the message has that of the mode.
std::string when_text(const StepId& step) {
  return step.global < 0 ? "before the first step"
                         : fmt::format("at step {}", step.global);
}

std::string place_text(const Verdict& cause) {
  std::string place = "at " + step_text(cause.step);
  if (!cause.evidence.empty() && !cause.evidence.front().tensor.empty()) {
    place += ", in " + cause.evidence.front().tensor;
  }
  return place;
}

Json finding_json(const Verdict& finding) {
  return Json::Object{
      {"rule", finding.rule},
      {"kind", finding.kind.empty() ? Json() : Json(finding.kind)},
      {"severity", severity_name(finding.severity.value_or(Severity::serious))},
      {"step", to_json(finding.step)},
      {"message", finding.message}};
}

Json to_json(const Diagnosis& diagnosis) {
  Json consequences = Json::Array();
  for (const Verdict& one : diagnosis.consequences) {
    consequences.append(finding_json(one));
  }
  const Verdict& cause = diagnosis.cause;
  return Json::Object{
      {"cause", finding_json(cause)},
      {"confidence", confidence_text(diagnosis)},
      {"consequences", std::move(consequences)},
      {"evidence", cause.evidence.empty()
                       ? Json()
                       : smdebug::to_json(cause.evidence.front())},
      {"try", cause.advice}};
}

Json kinds_json(std::span<const std::string_view> kinds) {
  Json array = Json::Array();
  for (const std::string_view kind : kinds) array.append(kind);
  return array;
}

}  // namespace

std::vector<Diagnosis> diagnose(std::span<const Verdict> verdicts) {
  const FindingGraph findings(verdicts);
  const auto roots = findings.roots();
  std::vector<std::pair<std::size_t, Diagnosis>> found;  // by root
  // Findings are in the order of their onset, so diagnoses are too.
  for (std::size_t j = 0; j < roots.size(); ++j) {
    if (!roots[j]) continue;
    auto own = std::ranges::find(found, *roots[j],
                                 [](const auto& one) { return one.first; });
    if (own == found.end()) {
      found.push_back({*roots[j], {findings.all()[*roots[j]], {}}});
      own = std::prev(found.end());
      if (is_advice(own->second.cause))
        own->second.cause.severity = Severity::serious;
    }
    if (j != *roots[j]) own->second.consequences.push_back(findings.all()[j]);
  }
  std::vector<Diagnosis> diagnoses;
  for (auto& [root, diagnosis] : found) {
    diagnosis.rivals = found.size();
    diagnoses.push_back(std::move(diagnosis));
  }
  return diagnoses;
}

std::vector<Verdict> in_order_of_cause(std::span<const Verdict> verdicts) {
  const FindingGraph findings(verdicts);
  std::vector<Verdict> ordered;
  for (Diagnosis& diagnosis : diagnose(verdicts)) {
    ordered.push_back(std::move(diagnosis.cause));
    std::ranges::move(diagnosis.consequences, std::back_inserter(ordered));
  }
  const auto roots = findings.roots();
  for (std::size_t j = 0; j < roots.size(); ++j) {
    const bool is_cause =
        std::ranges::find(roots, std::optional(j)) != roots.end();
    if (!roots[j] && !is_cause) ordered.push_back(findings.all()[j]);
  }
  std::ranges::copy_if(verdicts, std::back_inserter(ordered),
                       [](const Verdict& one) { return !has_fired(one); });
  return ordered;
}

std::string confidence_text(const Diagnosis& diagnosis) {
  static constexpr std::array kNumbers = {
      "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"};
  if (diagnosis.rivals < 2) return "likely";
  const std::size_t i = diagnosis.rivals - 2;
  return "one of " + (i < kNumbers.size() ? std::string(kNumbers[i])
                                          : std::to_string(diagnosis.rivals));
}

std::string onset_text(const Verdict& finding, std::span<const Verdict> among) {
  return rule_title(finding, among) + " " + when_text(finding.step);
}

std::string consequences_text(const Diagnosis& diagnosis,
                              std::span<const Verdict> among) {
  std::string text;
  for (const Verdict& one : diagnosis.consequences) {
    text += (text.empty() ? "" : ", ") + onset_text(one, among);
  }
  return text;
}

std::string evidence_text(const Diagnosis& diagnosis) {
  if (diagnosis.cause.evidence.empty()) return "";
  const Evidence& first = diagnosis.cause.evidence.front();
  if (first.tensor.empty()) return "";
  std::string text =
      fmt::format("{} {}: {} {}", first.tensor, when_text(first.step),
                  first.quantity, number_text(first.value));
  if (first.threshold)
    text +=
        fmt::format(" {} {}", first.relation, number_text(*first.threshold));
  return text;
}

std::string likely_cause_text(std::span<const Verdict> verdicts) {
  const std::vector<Diagnosis> diagnoses = diagnose(verdicts);
  const std::size_t fired =
      std::accumulate(diagnoses.begin(), diagnoses.end(), std::size_t{0},
                      [](std::size_t n, const Diagnosis& one) {
                        return n + 1 + one.consequences.size();
                      });
  if (fired < 2) return "";
  const Diagnosis& first = diagnoses.front();
  const std::string where = first.cause.rule + " " + place_text(first.cause);
  if (diagnoses.size() > 1) {
    return fmt::format("{}, the first of {} rules that fired", where, fired);
  }
  return fmt::format(
      "{}, which can explain {}", where,
      fired == 2 ? "the other rule that fired"
                 : fmt::format("the {} other rules that fired", fired - 1));
}

Json likely_cause_json(std::span<const Verdict> verdicts) {
  const std::string text = likely_cause_text(verdicts);
  if (text.empty()) return Json();
  const Verdict cause = diagnose(verdicts).front().cause;
  const bool has_tensor = !cause.evidence.empty();
  return Json::Object{
      {"rule", cause.rule},
      {"step", to_json(cause.step)},
      {"tensor", has_tensor ? Json(cause.evidence.front().tensor) : Json()},
      {"text", text}};
}

Json diagnosis_json(std::span<const Verdict> verdicts) {
  Json array = Json::Array();
  for (const Diagnosis& one : diagnose(verdicts)) array.append(to_json(one));
  return array;
}

std::string diagnosis_json_text(std::span<const Verdict> verdicts) {
  return diagnosis_json(verdicts).dump();
}

std::string cause_table_json() {
  Json table = Json::Array();
  for (const CauseRow& row : cause_rows()) {
    Json effects = Json::Array();
    for (const Effects* group : row.effects) {
      Json rules = Json::Array();
      for (const FindingPattern& pattern : group->findings) {
        rules.append(Json::Object{{"rule", pattern.rule},
                                  {"kinds", kinds_json(pattern.kinds)}});
      }
      effects.append(
          Json::Object{{"name", group->name}, {"findings", std::move(rules)}});
    }
    table.append(Json::Object{{"stage", stage_name(row.stage)},
                              {"rule", row.finding.rule},
                              {"kinds", kinds_json(row.finding.kinds)},
                              {"explains_all_later", row.explains_all_later},
                              {"must_precede", row.must_precede},
                              {"explains", std::move(effects)}});
  }
  return table.dump(JsonStyle::indented) + "\n";
}

}  // namespace smdebug
