// Measures the time of rules that judge statistics in memory (T20 of
// docs/performance.md), one by one and the default rules together, including
// the runner's selection of tensors. Names are as long as those of real layers;
// no rule fires.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "smdebug/rules/builtin_rules.h"
#include "smdebug/rules/runner.h"

#include "rules/engine/step_builder_testing.h"

namespace smdebug {
namespace {

using Given = std::map<std::string, std::string>;

constexpr int kTensors = 100;
constexpr int kWorkers = 2;
constexpr int kStepsBefore = 3;  // that some rules compare with
constexpr int kRows = 64, kUnits = 64;

// Statistics for which no rule fires; `scale` makes those of two steps differ.
TensorStatistics healthy(double scale) {
  TensorStatistics statistics;
  statistics.count = kRows * kUnits;
  statistics.zeros = 3;
  statistics.min = 0;
  statistics.max = 0.5 * scale;
  statistics.mean = 0.1 * scale;
  statistics.m2 = 40 * scale;
  statistics.sum_abs = 400 * scale;
  statistics.sum_squares = 41 * scale;
  return statistics;
}

// A step with `kTensors` of two workers.
StepBuilder one_step(const std::string& kind, double scale) {
  StepBuilder step(0);
  for (int i = 0; i < kTensors / kWorkers; ++i) {
    for (int worker = 0; worker < kWorkers; ++worker) {
      step.with_statistics(
              "gradient/ResNet_layer4.1.conv" + std::to_string(i) + kind,
              healthy(scale))
          .of_shape({kRows, kUnits})
          .from_worker("worker_" + std::to_string(worker));
    }
  }
  return step;
}

void RuleOverStatistics(benchmark::State& state, const char* name,
                        const char* kind, const Given& given) {
  std::vector<std::unique_ptr<Rule>> rules;
  rules.push_back(*make_builtin_rule(name, given));
  RuleRunner runner(std::move(rules));
  runner.on_collections(
      0, std::vector<TensorGroup>{{"gradients", {"^gradient"}, {}}});
  StepBuilder even = one_step(kind, 1), odd = one_step(kind, 0.9);
  StepView steps[] = {even.view(), odd.view()};
  Step step = 0;
  const auto show = [&] {
    StepView& next = steps[step % 2];
    next.step.global = next.step.mode_step = ++step;
    runner.on_step(next);
  };
  for (int i = 0; i < kStepsBefore; ++i) show();
  for (auto _ : state) show();
  if (!runner.is_judging()) state.SkipWithError("the rule has ended");
  if (runner.verdicts().front().observations_judged == 0) {
    state.SkipWithError("the rule has judged nothing");
  }
  state.SetItemsProcessed(state.iterations() * kTensors);
}

const Given kGradients = {{"collection_names", "gradients"}};

BENCHMARK_CAPTURE(RuleOverStatistics, VanishingGradient, "VanishingGradient",
                  ".weight", Given{});
BENCHMARK_CAPTURE(RuleOverStatistics, ExplodingTensor, "ExplodingTensor",
                  ".weight", Given{});
BENCHMARK_CAPTURE(RuleOverStatistics, AllZero, "AllZero", ".weight",
                  kGradients);
BENCHMARK_CAPTURE(RuleOverStatistics, TensorVariance, "TensorVariance",
                  ".weight",
                  Given{{"collection_names", "gradients"},
                        {"max_threshold", "10"},
                        {"min_threshold", "1e-9"}});
BENCHMARK_CAPTURE(RuleOverStatistics, ReplicasDiffer, "ReplicasDiffer",
                  ".weight", kGradients);
BENCHMARK_CAPTURE(RuleOverStatistics, UnchangedTensor, "UnchangedTensor",
                  ".weight", kGradients);
BENCHMARK_CAPTURE(RuleOverStatistics, DeadRelu, "DeadRelu", "_relu_output_0",
                  Given{});
BENCHMARK_CAPTURE(RuleOverStatistics, SaturatedActivation,
                  "SaturatedActivation", "_tanh_input_0", Given{});

// The parameters, gradients and activations of a step of two workers, without a
// loss: a rule would soon find that one does not fall.
StepBuilder step_of_training(double scale) {
  constexpr int kLayers = 25;
  StepBuilder step(0);
  for (int layer = 0; layer < kLayers; ++layer) {
    const std::string path = "layer4." + std::to_string(layer);
    for (const std::string& name :
         {"ResNet_" + path + ".weight", "ResNet_" + path + ".bias",
          "gradient/ResNet_" + path + ".weight",
          "gradient/ResNet_" + path + ".bias", path + "_relu_output_0"}) {
      for (int worker = 0; worker < kWorkers; ++worker) {
        step.with_statistics(name, healthy(scale))
            .of_shape({kRows, kUnits})
            .from_worker("worker_" + std::to_string(worker));
      }
    }
  }
  return step;
}

void DefaultRulesTogether(benchmark::State& state) {
  RuleRunner runner(*make_builtin_rules({}));
  runner.on_collections(
      0, std::vector<TensorGroup>{{"gradients", {"^gradient"}, {}},
                                  {"weights", {"^(?!gradient).*weight"}, {}},
                                  {"biases", {"^(?!gradient).*bias"}, {}},
                                  {"relu_output", {"relu_output"}, {}}});
  StepBuilder even = step_of_training(1), odd = step_of_training(0.9);
  StepView steps[] = {even.view(), odd.view()};
  Step step = 0;
  for (auto _ : state) {
    StepView& next = steps[step % 2];
    next.step.global = next.step.mode_step = ++step;
    runner.on_step(next);
  }
  std::size_t judging = 0;
  for (const Verdict& verdict : runner.verdicts()) {
    if (verdict.status == RuleStatus::issues_found) {
      const std::string found = verdict.rule + ": " + verdict.message;
      state.SkipWithError(found.c_str());
    }
    judging += verdict.observations_judged > 0;
  }
  state.counters["judging"] = static_cast<double>(judging);
  state.SetItemsProcessed(
      static_cast<std::int64_t>(state.iterations() * steps[0].tensors.size()));
}
BENCHMARK(DefaultRulesTogether);

}  // namespace
}  // namespace smdebug
