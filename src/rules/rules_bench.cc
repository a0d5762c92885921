// What a rule costs that judges statistics which are in memory already (T20 of
// docs/performance.md), the runner's choice of tensors included. Names are as
// long as those of real layers; nothing fires.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "smdebug/rules/builtin_rules.h"
#include "smdebug/rules/runner.h"

#include "rules/observed_step.h"

namespace smdebug {
namespace {

using Given = std::map<std::string, std::string>;

constexpr int kTensors = 100;
constexpr int kWorkers = 2;

TensorStatistics healthy() {
  TensorStatistics statistics;
  statistics.count = 4096;
  statistics.zeros = 3;
  statistics.min = -0.5;
  statistics.max = 0.5;
  statistics.mean = 0.001;
  statistics.m2 = 40;
  statistics.sum_abs = 400;
  statistics.sum_squares = 41;
  return statistics;
}

// Half of the tensors of a step that holds `kTensors` of two workers.
ObservedStep one_step() {
  ObservedStep step(0);
  for (int i = 0; i < kTensors / kWorkers; ++i) {
    for (int worker = 0; worker < kWorkers; ++worker) {
      step.with_statistics(
              "gradient/ResNet_layer4.1.conv" + std::to_string(i) + ".weight",
              healthy())
          .from_worker("worker_" + std::to_string(worker));
    }
  }
  return step;
}

void RuleOverStatistics(benchmark::State& state, const char* name,
                        const Given& given) {
  std::vector<std::unique_ptr<Rule>> rules;
  rules.push_back(*make_builtin_rule(name, given));
  RuleRunner runner(std::move(rules));
  runner.on_collections(
      0, std::vector<TensorGroup>{{"gradients", {"^gradient"}, {}}});
  ObservedStep made = one_step();
  StepView step = made.view();
  for (auto _ : state) {
    ++step.step.global;
    ++step.step.mode_step;
    runner.on_step(step);
  }
  if (!runner.is_judging()) state.SkipWithError("the rule has ended");
  if (runner.verdicts().front().observations_judged == 0) {
    state.SkipWithError("the rule has judged nothing");
  }
  state.SetItemsProcessed(state.iterations() * kTensors);
}

const Given kGradients = {{"collection_names", "gradients"}};

BENCHMARK_CAPTURE(RuleOverStatistics, VanishingGradient, "VanishingGradient",
                  Given{});
BENCHMARK_CAPTURE(RuleOverStatistics, ExplodingTensor, "ExplodingTensor",
                  Given{});
BENCHMARK_CAPTURE(RuleOverStatistics, AllZero, "AllZero", kGradients);
BENCHMARK_CAPTURE(RuleOverStatistics, TensorVariance, "TensorVariance",
                  Given{{"collection_names", "gradients"},
                        {"max_threshold", "10"},
                        {"min_threshold", "1e-9"}});
BENCHMARK_CAPTURE(RuleOverStatistics, ReplicasDiffer, "ReplicasDiffer",
                  kGradients);

}  // namespace
}  // namespace smdebug
