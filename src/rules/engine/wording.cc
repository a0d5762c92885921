#include "rules/engine/wording.h"

#include <fmt/format.h>

namespace smdebug {

std::string short_number(double value) { return fmt::format("{:.2g}", value); }

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

void set_advice(Finding& finding, const Advice& advice) {
  finding.cause = advice.cause;
  finding.advice = advice.advice;
  finding.severity = advice.severity;
}

}  // namespace smdebug
