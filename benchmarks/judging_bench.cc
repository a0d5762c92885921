// Measures the time of rules inside the training step (T21 of
// docs/performance.md), and over the index files of a run on disk (T22). Runs
// are written to the temporary folder.

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "smdebug/capture/session.h"
#include "smdebug/monitor/run_monitor.h"
#include "smdebug/read/trial.h"
#include "smdebug/rules/builtin_rules.h"
#include "smdebug/rules/runner.h"

namespace smdebug {
namespace {

constexpr int kTensors = 100;

std::vector<std::unique_ptr<Rule>> vanishing_gradient() {
  std::vector<std::unique_ptr<Rule>> rules;
  rules.push_back(*make_builtin_rule("VanishingGradient", {}));
  return rules;
}

class SilentLog : public Logger {
 public:
  void log(LogLevel, std::string_view) override {}
};

// A training whose gradients are small; only their statistics are saved.
class Training {
 public:
  explicit Training(const std::string& name)
      : folder_(std::filesystem::temp_directory_path() / name),
        values_(16, 0.5f),
        shape_{16} {
    std::filesystem::remove_all(folder_);
    SessionOptions options;
    options.config.out_dir = folder_;
    options.config.include_collections = {"gradients"};
    SaveConfigMode every_step;
    every_step.save_interval = 1;
    options.config.save_config = SaveConfig(every_step);
    options.config.reduction_config.emplace().summary = true;
    options.framework = pytorch_framework();
    options.logger = &silent_;
    session_ = *Session::create(std::move(options));
    for (int i = 0; i < kTensors; ++i) {
      slots_.push_back(session_->gradient(
          "ResNet", "layer4.1.conv" + std::to_string(i) + ".weight"));
    }
  }
  ~Training() {
    (void)session_->close();
    std::filesystem::remove_all(folder_);
  }

  Session& session() { return *session_; }
  std::string folder() const { return folder_; }

  void put_gradients() {
    const TensorView view{DType::float32,
                          reinterpret_cast<const std::byte*>(values_.data()),
                          shape_,
                          {}};
    for (const TensorSlot& slot : slots_) slot.put(view);
  }

 private:
  std::filesystem::path folder_;
  std::vector<float> values_;
  std::vector<std::int64_t> shape_;
  SilentLog silent_;
  std::unique_ptr<Session> session_;
  std::vector<TensorSlot> slots_;
};

// From the first gradient to the moment at which the optimizer may act, with
// (1) and without (0) a rule: the difference is the rule's.
void StepWithRule(benchmark::State& state) {
  Training training("smdebug_judging_bench_step");
  Session& session = training.session();
  RuleRunner runner(vanishing_gradient());
  if (state.range(0) == 1) session.set_sink(&runner);
  for (auto _ : state) {
    state.PauseTiming();
    session.begin_step();
    state.ResumeTiming();
    training.put_gradients();
    session.before_update();
    state.PauseTiming();
    session.end_step();
    (void)session.flush();
    state.ResumeTiming();
  }
  session.set_sink(nullptr);
  state.SetItemsProcessed(state.iterations() * kTensors);
}
BENCHMARK(StepWithRule)->Arg(0)->Arg(1)->Iterations(2000);

// A run of so many steps, opened and judged to its end.
void JudgeRunFromDisk(benchmark::State& state) {
  Training training("smdebug_judging_bench_run");
  for (int step = 0; step < state.range(0); ++step) {
    training.session().begin_step();
    training.put_gradients();
    training.session().end_step();
  }
  if (!training.session().close()) state.SkipWithError("the run is torn");
  for (auto _ : state) {
    auto monitor = *RunMonitor::create(training.folder(), vanishing_gradient());
    const auto judged = monitor->poll();
    const MonitorResult& result = monitor->finish("Completed");
    if (!judged || result.verdicts.front().observations_judged !=
                       static_cast<std::uint64_t>(state.range(0) * kTensors)) {
      state.SkipWithError("not every observation was judged");
    }
  }
  state.SetItemsProcessed(state.iterations() * state.range(0) * kTensors);
}
BENCHMARK(JudgeRunFromDisk)
    ->Arg(10'000)
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime();

}  // namespace
}  // namespace smdebug
