#include "rules/engine/finding.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include <fmt/format.h>

#include "base/strings.h"

namespace smdebug {
namespace {

double badness(const Evidence& evidence) {
  const double threshold = evidence.threshold.value_or(0);
  const bool is_too_small = evidence.relation.starts_with('<');
  const double larger = is_too_small ? threshold : evidence.value;
  const double smaller = is_too_small ? evidence.value : threshold;
  if (smaller > 0) return larger / smaller;
  return larger > 0 ? std::numeric_limits<double>::infinity() : 1;
}

}  // namespace

Outcome fail_if_too_few(std::int64_t count, std::string_view singular,
                        std::int64_t needed) {
  if (count >= needed) return no_finding();
  return Error{Error::Code::not_found,
               "nothing to judge: " +
                   too_few_text(static_cast<std::uint64_t>(count), singular,
                                static_cast<std::uint64_t>(needed))};
}

void sort_worst_first(std::vector<Evidence>& evidence) {
  std::ranges::stable_sort(evidence, std::ranges::greater(), badness);
}

std::string short_number(double value) { return fmt::format("{:.2g}", value); }

std::string not_finite_text(double value) {
  return std::isnan(value) ? "nan" : fmt::format("{:g}", value);
}

std::string tensor_text(std::string_view name, std::string_view worker) {
  if (worker.empty() || worker == "worker_0") return std::string(name);
  return fmt::format("{} ({})", name, worker);
}

Evidence evidence_of(const Observation& observation, const StepId& step) {
  Evidence evidence;
  evidence.tensor = observation.name;
  evidence.worker = observation.worker;
  evidence.step = step;
  return evidence;
}

TensorCount count_tensors(std::span<const Evidence> evidence) {
  std::set<std::string_view> tensors, workers;
  for (const Evidence& one : evidence) {
    tensors.insert(one.tensor);
    workers.insert(one.worker);
  }
  return {tensors.size(), workers.size()};
}

std::string others_text(const TensorCount& found, std::string_view clause) {
  if (found.tensors > 1 && found.workers > 1) {
    return fmt::format("; {}, on {} workers", clause, found.workers);
  }
  if (found.tensors > 1) return fmt::format("; {}", clause);
  if (found.workers > 1) {
    return fmt::format("; the same on {} workers", found.workers);
  }
  return "";
}

void set_advice(Finding& finding, const Advice& advice) {
  finding.cause = advice.cause;
  finding.advice = advice.advice;
  finding.kind = advice.when;
  finding.severity = advice.severity;
}

}  // namespace smdebug
