#pragma once

// What the tests of actions share: a verdict, and a clock that never waits.
// Nothing but tests uses it.

#include <mutex>
#include <string>
#include <vector>

#include "smdebug/actions/action.h"
#include "smdebug/base/clock.h"

namespace smdebug {

class PatientClock : public Clock {
 public:
  double wall_seconds() const override { return 1440938160; }  // 2015-08-30
  std::chrono::nanoseconds monotonic() const override {
    const std::lock_guard lock(mutex_);
    return now_;
  }
  void sleep_for(std::chrono::nanoseconds time) const override {
    const std::lock_guard lock(mutex_);
    now_ += time;
  }

 private:
  mutable std::mutex mutex_;
  mutable std::chrono::nanoseconds now_{0};
};

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
