#pragma once

// Fixtures for tests of actions: a verdict of a rule that fired, and its time.

#include <string>
#include <vector>

#include "smdebug/actions/action.h"

namespace smdebug {

// The start time of tests of actions: 2015-08-30.
inline constexpr double kStartSeconds = 1440938160;

inline Verdict fired_verdict(const std::string& rule = "VanishingGradient") {
  Verdict verdict;
  verdict.rule = rule;
  verdict.status = RuleStatus::issues_found;
  verdict.step.global = 6;
  verdict.message = "gradient/fc: mean |g| 1e-09 is below 1e-07 at step 6";
  verdict.advice = "raise the learning rate";
  verdict.evidence = {
      {"gradient/fc", "worker_0", verdict.step, "mean |g|", 1e-9, "<", 1e-7}};
  verdict.steps_judged = 7;
  return verdict;
}

inline Alert fired_alert() { return {"/runs/a", 1440938160, fired_verdict()}; }

}  // namespace smdebug
