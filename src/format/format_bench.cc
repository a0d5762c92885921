// Measures the time of the write thread per small record: encoding it, and
// adding it to the index file.

#include <benchmark/benchmark.h>

#include "format/index_file.h"
#include "format/tensor_record.h"

namespace smdebug {
namespace {

constexpr std::int64_t kRecords = 400;

void BM_EncodeRecord(benchmark::State& state) {
  const std::vector<std::int64_t> shape = {8, 8};
  const TensorRecordEncoder encoder("layer4.1.conv2.weight", DType::float32,
                                    shape);
  const RecordStamp stamp = {1.7e9, {12345, Mode::train, 12345}, "12345"};
  std::string head, tail;
  for (auto _ : state) {
    head.clear();
    tail.clear();
    benchmark::DoNotOptimize(encoder.encode(stamp, head, tail));
  }
}
BENCHMARK(BM_EncodeRecord);

void fill(IndexFileBuilder& builder) {
  const std::string name = json_string("layer4.1.conv2.weight");
  const std::vector<std::int64_t> shape = {8, 8};
  TensorStatistics statistics;
  statistics.count = 64;
  builder.clear();
  for (std::int64_t i = 0; i < kRecords; ++i) {
    const auto start = static_cast<std::uint64_t>(i) * 400;
    builder.add_tensor(name, start, 400, 0x12345678);
    builder.add_statistics(name, DType::float32, shape, statistics);
  }
}

void BM_BuildIndexFile(benchmark::State& state) {
  IndexFileBuilder builder;
  for (auto _ : state) {
    fill(builder);
    benchmark::DoNotOptimize(
        builder.finish(Mode::train, 12345, "events/a/b.tfevents").data());
  }
  state.SetItemsProcessed(state.iterations() * kRecords);
}
BENCHMARK(BM_BuildIndexFile);

void BM_ParseIndexFile(benchmark::State& state) {
  IndexFileBuilder builder;
  fill(builder);
  const auto text = builder.finish(Mode::train, 12345, "events/a/b.tfevents");
  const auto parts = static_cast<IndexParts>(state.range(0));
  for (auto _ : state) {
    benchmark::DoNotOptimize(parse_index_file(text, parts).ok());
  }
  state.SetItemsProcessed(state.iterations() * kRecords);
}
BENCHMARK(BM_ParseIndexFile)
    ->Arg(static_cast<int>(IndexParts::locations))
    ->Arg(static_cast<int>(IndexParts::everything));

}  // namespace
}  // namespace smdebug
