#pragma once

// `RuleHarness` runs one built-in rule over handmade steps and returns its
// verdict. For tests only.

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "smdebug/rules/builtin_rules.h"
#include "smdebug/rules/runner.h"

#include "rules/engine/step_builder_testing.h"

namespace smdebug {

class RuleHarness {
 public:
  explicit RuleHarness(std::string_view name,
                       const std::map<std::string, std::string>& given = {})
      : runner_(made(name, given)) {
    runner_.on_collections(
        0, std::vector<TensorGroup>{{"gradients", {"^gradient/"}, {}},
                                    {"losses", {"[Ll]oss"}, {}},
                                    {"weights", {"^(?!gradient).*weight"}, {}},
                                    {"biases", {"^(?!gradient).*bias"}, {}}});
  }

  // Replaces the default collections of the run.
  RuleHarness& in_a_run_with(std::vector<TensorGroup> collections) {
    runner_.on_collections(0, collections);
    return *this;
  }

  // Reports the facts of a worker.
  RuleHarness& knows(const RunFacts& facts, std::string_view worker) {
    runner_.on_facts(0, worker, facts);
    return *this;
  }

  // Notes samples of a worker.
  void notes(std::span<const ScalarSeriesView> series,
             std::string_view worker) {
    runner_.on_scalars(0, worker, series);
  }

  // Returns whether the rule has fired by now.
  bool fires_at(StepBuilder step) {
    runner_.on_step(step.view());
    return verdict().status == RuleStatus::issues_found;
  }

  // Returns whether the rule has fired by that time, in seconds.
  bool fires_at_time(double wall_seconds) {
    runner_.on_tick(wall_seconds);
    return verdict().status == RuleStatus::issues_found;
  }

  // Returns the step at which the rule fires in a run of ten steps that are
  // `interval` apart; -1 if it does not. Each facts apply from their step on.
  Step fires_with(Step interval, const std::vector<RunFacts>& all,
                  std::string_view worker = "worker_0") {
    for (Step step = 0; step < 10 * interval; step += interval) {
      for (const RunFacts& facts : all) {
        if (facts.step == step) knows(facts, worker);
      }
      if (fires_at(StepBuilder(step).with_scalar("Loss", 1))) return step;
    }
    return -1;
  }

  const Verdict& finish() {
    for (std::size_t run = 0; run <= runner_.other_runs().size(); ++run) {
      runner_.on_run_end(run);
    }
    return verdict();
  }

  const Verdict& verdict() const { return runner_.verdicts().front(); }

 private:
  static std::vector<std::unique_ptr<Rule>> made(
      std::string_view name, const std::map<std::string, std::string>& given) {
    std::vector<std::unique_ptr<Rule>> rules;
    auto rule = make_builtin_rule(name, given);
    if (rule) rules.push_back(*std::move(rule));
    return rules;
  }

  RuleRunner runner_;
};

}  // namespace smdebug
