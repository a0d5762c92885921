// Measures the bytes per second of a copy, a copy with statistics, and only
// statistics, for tensors from a few cache lines to more than any cache.

#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include <benchmark/benchmark.h>

#include "smdebug/core/dtype.h"
#include "smdebug/reduce/statistics_kernel.h"

namespace smdebug {
namespace {

constexpr std::size_t kAlignment = 64;

// Two buffers of the same size, touched, the first one with elements in it.
class Buffers {
 public:
  explicit Buffers(std::size_t bytes)
      : from_(bytes + kAlignment), to_(bytes + kAlignment) {}

  std::byte* from() { return aligned(from_); }
  std::byte* to() { return aligned(to_); }

 private:
  static std::byte* aligned(std::vector<std::byte>& bytes) {
    const auto address = reinterpret_cast<std::uintptr_t>(bytes.data());
    return bytes.data() + (kAlignment - address % kAlignment) % kAlignment;
  }

  std::vector<std::byte> from_;
  std::vector<std::byte> to_;
};

template <typename T>
void fill(std::byte* at, std::size_t bytes) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal(0, 100);
  for (std::size_t i = 0; i < bytes; i += sizeof(T)) {
    const T value = static_cast<T>(normal(random));
    std::memcpy(at + i, &value, sizeof(T));
  }
}

// A bfloat16 is the upper half of a float32.
template <>
void fill<std::uint16_t>(std::byte* at, std::size_t bytes) {
  std::vector<std::byte> floats(2 * bytes);
  fill<float>(floats.data(), floats.size());
  for (std::size_t i = 0; i < bytes; i += 2) {
    std::memcpy(at + i, &floats[2 * i + 2], 2);
  }
}

void report(benchmark::State& state) {
  state.SetBytesProcessed(state.iterations() * state.range(0));
  state.SetLabel(statistics_kernel_target());
}

void copy_alone(benchmark::State& state) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  Buffers buffers(bytes);
  fill<float>(buffers.from(), bytes);
  for (auto _ : state) {
    std::memcpy(buffers.to(), buffers.from(), bytes);
    benchmark::ClobberMemory();
  }
  report(state);
}

template <typename T, DType kDType, CopyStores kStores>
void copy_and_statistics(benchmark::State& state) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  Buffers buffers(bytes);
  fill<T>(buffers.from(), bytes);
  for (auto _ : state) {
    benchmark::DoNotOptimize(copy_with_statistics(
        kDType, buffers.from(), bytes / sizeof(T), buffers.to(), kStores));
    benchmark::ClobberMemory();
  }
  report(state);
}

template <typename T, DType kDType>
void statistics_alone(benchmark::State& state) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  Buffers buffers(bytes);
  fill<T>(buffers.from(), bytes);
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        statistics_of(kDType, buffers.from(), bytes / sizeof(T)));
  }
  report(state);
}

// Every block has a NaN: the careful path.
void statistics_beside_nan(benchmark::State& state) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  Buffers buffers(bytes);
  fill<float>(buffers.from(), bytes);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (std::size_t i = 0; i < bytes; i += 2048) {
    std::memcpy(buffers.from() + i, &nan, sizeof(nan));
  }
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        statistics_of(DType::float32, buffers.from(), bytes / sizeof(float)));
  }
  report(state);
}

void all_sizes(benchmark::internal::Benchmark* benchmark) {
  for (const std::int64_t bytes : {40, 256, 2 << 10, 16 << 10, 256 << 10,
                                   1 << 20, 4 << 20, 16 << 20, 64 << 20}) {
    benchmark->Arg(bytes);
  }
}

BENCHMARK(copy_alone)->Apply(all_sizes);
BENCHMARK(copy_and_statistics<float, DType::float32, CopyStores::normal>)
    ->Apply(all_sizes);
BENCHMARK(copy_and_statistics<float, DType::float32, CopyStores::streaming>)
    ->Apply(all_sizes);
BENCHMARK(statistics_alone<float, DType::float32>)->Apply(all_sizes);
BENCHMARK(statistics_alone<double, DType::float64>)->Arg(256 << 10);
BENCHMARK(statistics_alone<std::uint16_t, DType::bfloat16>)->Arg(256 << 10);
BENCHMARK(statistics_alone<std::uint16_t, DType::float16>)->Arg(256 << 10);
BENCHMARK(statistics_alone<std::int64_t, DType::int64>)->Arg(256 << 10);
BENCHMARK(statistics_beside_nan)->Arg(256 << 10);

}  // namespace
}  // namespace smdebug
