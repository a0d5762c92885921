// Measures the time and memory of reading a run (T12 to T16 of
// docs/performance.md): opening it, refreshing it, and reading values. Runs are
// written to the temporary folder; names are as long as those of real layers.

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include <benchmark/benchmark.h>
#include <malloc.h>

#include "smdebug/read/trial.h"
#include "smdebug/store/open_storage.h"

#include "index/run_index.h"
#include "index/written_run_testing.h"

namespace smdebug {
namespace {

std::string layer(int number) {
  return "layer4.1.conv" + std::to_string(number) + ".weight";
}

// A run of `steps` steps with `tensors` tensors of 16 elements each, which
// has not ended. Written once, removed when the program ends.
class BenchRun {
 public:
  BenchRun(int steps, int tensors)
      : folder_(std::filesystem::temp_directory_path() /
                ("smdebug_read_bench_" + std::to_string(next_folder_++))),
        run_((std::filesystem::remove_all(folder_),
              *open_storage(folder_.string()))),
        tensors_(tensors) {
    run_.put_collections("worker_0", 1);
    for (int step = 0; step < steps; ++step) add_step();
  }
  ~BenchRun() { std::filesystem::remove_all(folder_); }

  void add_step() {
    WrittenStep step{{next_, Mode::train, next_}};
    for (int i = 0; i < tensors_; ++i) {
      step.tensors.push_back(
          {layer(i), std::vector<float>(16, static_cast<float>(next_)), true});
    }
    run_.put_step(step);
    ++next_;
  }

  const std::shared_ptr<Storage>& storage() const { return run_.storage(); }
  int entries() const { return static_cast<int>(next_) * tensors_; }

 private:
  std::filesystem::path folder_;
  WrittenRun run_;
  int tensors_;
  Step next_ = 0;
  static inline int next_folder_ = 0;
};

BenchRun& run_of(int steps, int tensors) {
  static std::map<std::pair<int, int>, std::unique_ptr<BenchRun>> runs;
  auto& run = runs[{steps, tensors}];
  if (!run) run = std::make_unique<BenchRun>(steps, tensors);
  return *run;
}

std::unique_ptr<Trial> open(const BenchRun& run) {
  TrialOptions options;
  options.timeout = std::chrono::nanoseconds(0);
  return *Trial::open(run.storage(), options);
}

double per_entry(double all, const BenchRun& run) {
  return all / static_cast<double>(run.entries());
}

// Steps, tensors.
void OpenRun(benchmark::State& state) {
  const BenchRun& run = run_of(static_cast<int>(state.range(0)),
                               static_cast<int>(state.range(1)));
  for (auto _ : state) benchmark::DoNotOptimize(open(run));
  state.SetItemsProcessed(state.iterations() * run.entries());
}
BENCHMARK(OpenRun)
    ->Args({250, 400})
    ->Args({1000, 100})
    ->Args({10'000, 1})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

std::size_t allocated_bytes() {
  const struct mallinfo2 heap = mallinfo2();
  return heap.uordblks + heap.hblkhd;
}

void MemoryOfIndex(benchmark::State& state) {
  const BenchRun& run = run_of(static_cast<int>(state.range(0)),
                               static_cast<int>(state.range(1)));
  double bytes = 0;
  for (auto _ : state) {
    const std::size_t before = allocated_bytes();
    RunIndex index(run.storage(), {}, {});
    if (!index.refresh({}).ok()) return state.SkipWithError("not readable");
    bytes = static_cast<double>(allocated_bytes() - before);
  }
  state.counters["bytes_per_entry"] = per_entry(bytes, run);
}
BENCHMARK(MemoryOfIndex)
    ->Args({250, 400})
    ->Args({1000, 100})
    ->Args({10'000, 1})
    ->Iterations(1);

// A query to a run that has not ended and has no new files.
void RefreshWithNothingNew(benchmark::State& state) {
  const auto trial = open(run_of(static_cast<int>(state.range(0)), 1));
  for (auto _ : state) benchmark::DoNotOptimize(trial->refresh().ok());
}
BENCHMARK(RefreshWithNothingNew)->Arg(100)->Arg(10'000);

void RefreshWithOneNewStep(benchmark::State& state) {
  BenchRun run(static_cast<int>(state.range(0)), 1);
  const auto trial = open(run);
  for (auto _ : state) {
    state.PauseTiming();
    run.add_step();
    state.ResumeTiming();
    benchmark::DoNotOptimize(trial->refresh().ok());
  }
}
BENCHMARK(RefreshWithOneNewStep)
    ->Arg(100)
    ->Arg(10'000)
    ->Iterations(200)
    ->Unit(benchmark::kMicrosecond);

void WarmValue(benchmark::State& state) {
  const auto trial = open(run_of(250, 400));
  Tensor tensor = *trial->tensor(layer(7));
  for (auto _ : state) {
    benchmark::DoNotOptimize(tensor.value({100, Mode::train}).ok());
  }
}
BENCHMARK(WarmValue);

void ValuesOfTenThousandSteps(benchmark::State& state) {
  const auto trial = open(run_of(10'000, 1));
  trial->set_refreshing(false);
  Tensor tensor = *trial->tensor(layer(0));
  for (auto _ : state) {
    if (!tensor.values()) return state.SkipWithError("not readable");
  }
  state.SetItemsProcessed(state.iterations() * 10'000);
}
BENCHMARK(ValuesOfTenThousandSteps)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace smdebug
