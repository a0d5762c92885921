// Measures the time that capture takes in the training step (T5 of
// docs/performance.md), and that a saved step takes on the write thread (T10).
// Files are recycled; otherwise the allocation of memory would dominate.

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <benchmark/benchmark.h>

#include "smdebug/capture/session.h"

namespace smdebug {
namespace {

constexpr int kTensors = 400;

class Run {
 public:
  explicit Run(std::size_t elements, const std::string& reductions = {})
      : folder_(std::filesystem::temp_directory_path() /
                ("smdebug_bench_" + std::to_string(std::rand()))),
        values_(elements, 1.5f),
        shape_{static_cast<std::int64_t>(elements)} {
    SessionOptions options;
    options.config.out_dir = folder_;
    options.config.save_all = true;
    SaveConfigMode every_step;
    every_step.save_interval = 1;
    options.config.save_config = SaveConfig(every_step);
    if (!reductions.empty()) {
      options.config.reduction_config.emplace();
      options.config.reduction_config->ops =
          *ReductionConfig::parse_ops(reductions);
    }
    options.framework = pytorch_framework();
    session_ = *Session::create(std::move(options));
    for (int i = 0; i < kTensors; ++i)
      slots_.push_back(
          session_->tensor("layer" + std::to_string(i) + ".weight"));
  }
  ~Run() {
    (void)session_->close();
    std::filesystem::remove_all(folder_);
  }

  Session& session() { return *session_; }
  void put_all() {
    const TensorView view{DType::float32,
                          reinterpret_cast<const std::byte*>(values_.data()),
                          shape_,
                          {}};
    for (const TensorSlot& slot : slots_) slot.put(view);
  }
  // Waits as a training does that computes its next step: a flush would wake
  // the writer once more.
  void await_writer() {
    const std::uint64_t steps = session_->status().steps_saved;
    while (session_->status().steps_published < steps)
      std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  void recycle() {
    (void)session_->flush();
    if (!std::filesystem::exists(folder_ / "events")) return;
    // As in a run, remove the folders of steps but keep their parent folders.
    for (const char* kept : {"events", "index/000000000"}) {
      for (const auto& entry :
           std::filesystem::directory_iterator(folder_ / kept))
        std::filesystem::remove_all(entry);
    }
  }

 private:
  std::filesystem::path folder_;
  std::vector<float> values_;
  std::vector<std::int64_t> shape_;
  std::unique_ptr<Session> session_;
  std::vector<TensorSlot> slots_;
};

// Time per tensor of `put` alone, the writer idle.
void PutTensor(benchmark::State& state) {
  Run run(static_cast<std::size_t>(state.range(0)) / sizeof(float));
  for (auto _ : state) {
    state.PauseTiming();
    run.session().begin_step();
    state.ResumeTiming();
    run.put_all();
    state.PauseTiming();
    run.session().end_step();
    run.recycle();
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * kTensors);
}
BENCHMARK(PutTensor)->Arg(256)->Arg(2048)->Arg(16384);

// Time per tensor where nothing is due.
void PutNothingDue(benchmark::State& state) {
  Run run(64);
  run.session().begin_step();
  run.session().end_step();
  for (auto _ : state) run.put_all();
  state.SetItemsProcessed(state.iterations() * kTensors);
}
BENCHMARK(PutNothingDue);

// Time per scalar, in steps that save nothing.
void NoteScalar(benchmark::State& state) {
  Run run(64);
  run.session().begin_step();
  run.session().end_step();
  const ScalarSlot loss = run.session().scalar("loss");
  for (auto _ : state) {
    for (int i = 0; i < kTensors; ++i) loss.note(i);
  }
  state.SetItemsProcessed(state.iterations() * kTensors);
}
BENCHMARK(NoteScalar);

// CPU time of the write thread: per step without tensors but one, and per
// small record.
void WriteStep(benchmark::State& state) {
  Run run(64, state.range(0) == 0 ? "" : "min,max,mean,l1,l2,sum,std,abs_max");
  double cpu_seconds = 0;
  for (auto _ : state) {
    const double before = run.session().cost().writer_cpu_seconds;
    run.session().begin_step();
    run.put_all();
    run.session().end_step();
    (void)run.session().flush();
    const double spent = run.session().cost().writer_cpu_seconds - before;
    state.SetIterationTime(spent);
    cpu_seconds += spent;
    run.recycle();
  }
  const double records = kTensors * (state.range(0) == 0 ? 1.0 : 8.0);
  state.counters["us_per_record"] =
      cpu_seconds * 1e6 / (records * static_cast<double>(state.iterations()));
}
BENCHMARK(WriteStep)->Arg(0)->Arg(1)->UseManualTime();

void WriteStepOfOneTensor(benchmark::State& state) {
  Run run(64);
  const TensorSlot only = run.session().tensor("only");
  const float value = 1;
  const TensorView view{
      DType::float32, reinterpret_cast<const std::byte*>(&value), {}, {}};
  for (auto _ : state) {
    const double before = run.session().cost().writer_cpu_seconds;
    run.session().begin_step();
    only.put(view);
    run.session().end_step();
    run.await_writer();
    state.SetIterationTime(run.session().cost().writer_cpu_seconds - before);
    run.recycle();
  }
}
BENCHMARK(WriteStepOfOneTensor)->UseManualTime();

}  // namespace
}  // namespace smdebug
