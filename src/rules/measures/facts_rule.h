#pragma once

// `FactsRule` judges the facts of a training, worker by worker, once the step
// is complete in which they were reported. The base of rules that need no
// tensors.

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "smdebug/rules/rule.h"

#include "rules/engine/coming_facts.h"

namespace smdebug {

class FactsRule : public Rule {
 public:
  // Facts need no tensor; requesting losses ensures that steps are saved.
  RuleNeeds needs() const override {
    return {{{.collections = {"losses"}, .regexes = {}}}};
  }

  void on_facts(std::string_view worker, const RunFacts& facts) override {
    coming_[std::string(worker)].add(facts);
  }

  Outcome on_step(const RuleStep& step) override {
    if (step.step.global == last_.global) return no_finding();
    last_ = step.step;
    return judge_until(last_.global);
  }

 protected:
  // Returns what is wrong with the facts of a worker.
  virtual std::optional<Finding> judge(const RunFacts& facts,
                                       std::string_view worker) = 0;

  // Judges the facts that are left when the run ends.
  std::optional<Finding> judge_rest() { return judge_until(last_.global + 1); }

  const StepId& last_step() const { return last_; }

 private:
  // Takes the facts of the steps before `step`, and judges them.
  std::optional<Finding> judge_until(Step step) {
    for (auto& [worker, coming] : coming_) {
      while (const auto facts = coming.take_before(step)) {
        if (auto found = judge(*facts, worker)) return found;
      }
    }
    return std::nullopt;
  }

  std::map<std::string, ComingFacts, std::less<>> coming_;  // by worker
  StepId last_;
};

}  // namespace smdebug
