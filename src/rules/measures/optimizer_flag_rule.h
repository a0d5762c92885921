#pragma once

// `OptimizerFlagRule` judges a flag in the facts of each optimizer. The adapter
// has compared gradients, bit for bit, over five updates in a row, so there is
// no threshold here.

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "smdebug/rules/rule.h"

#include "rules/engine/coming_facts.h"

namespace smdebug {

// A flag, and the sentences about an optimizer that has it.
struct OptimizerFlag {
  std::optional<bool> OptimizerFacts::*value;
  std::string_view message;   // follows the optimizer and ": "
  std::string_view quantity;  // of the evidence, before " of SGD"
  double found = 0;           // the quantity of an optimizer with the flag
  double least = 0;           // and the least of one without it
  // The condition under which an adapter knows the flag: "acted twice".
  std::string_view enough;
  std::string_view adapters;  // that know it: "hooks for PyTorch and Keras"
};

class OptimizerFlagRule : public Rule {
 public:
  // Both live as long as the program.
  OptimizerFlagRule(const OptimizerFlag& flag, const Advice& advice)
      : flag_(flag), advice_(advice) {}

  RuleNeeds needs() const override;
  void on_facts(std::string_view name, const RunFacts& facts) override;
  Outcome on_step(const RuleStep& step) override;
  Outcome finish() override;
  std::string not_judged() const override;

 private:
  struct Worker {
    RunFacts facts;
    ComingFacts coming;

    void take_facts(Step step);
  };

  Outcome judge(Step step);
  void add(std::optional<Finding>& finding, const RunFacts& facts,
           std::size_t optimizer, std::string_view worker) const;

  const OptimizerFlag& flag_;
  const Advice& advice_;
  std::map<std::string, Worker, std::less<>> workers_;
  StepId last_;
};

}  // namespace smdebug
