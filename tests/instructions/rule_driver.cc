// Repeats a hot path, so that test_instruction_counts.py can count its
// instructions: passes statistics of gradients in memory to a rule.
//
//     smdebug_rule_instruction_driver RULE STEPS TENSORS

#include <cstdlib>
#include <string>
#include <vector>

#include "smdebug/rules/builtin_rules.h"
#include "smdebug/rules/runner.h"

#include "rules/engine/step_builder_testing.h"

using namespace smdebug;

int main(int, char** argv) {
  const int steps = std::atoi(argv[2]);
  const int tensors = std::atoi(argv[3]);

  std::vector<std::unique_ptr<Rule>> rules;
  rules.push_back(*make_builtin_rule(argv[1], {}));
  RuleRunner runner(std::move(rules));
  runner.on_collections(
      0, std::vector<TensorGroup>{{"gradients", {"^gradient"}, {}}});
  TensorStatistics healthy;
  healthy.count = 100;
  healthy.sum_abs = 50;
  StepBuilder made(0);
  for (int i = 0; i < tensors; ++i) {
    made.with_statistics("gradient/layer" + std::to_string(i) + ".weight",
                         healthy);
  }
  StepView step = made.view();
  for (; step.step.global < steps; ++step.step.global) runner.on_step(step);
  return runner.is_judging() ? 0 : 1;
}
