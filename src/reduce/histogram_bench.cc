// Measures the time of a histogram per element and per tensor, by dtype and by
// the spread of the elements over the bins.

#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include <benchmark/benchmark.h>

#include "smdebug/reduce/statistics_kernel.h"

#include "reduce/histogram.h"

namespace smdebug {
namespace {

// Elements distributed like weights, or over all bins.
enum class Spread { normal, wide };

std::vector<float> floats(std::size_t count, Spread spread) {
  std::mt19937_64 random(1);
  std::normal_distribution<float> normal(0, 0.05f);
  std::uniform_real_distribution<float> exponent(-27, 45);
  std::vector<float> values(count);
  for (float& x : values)
    x = spread == Spread::normal
            ? normal(random)
            : std::exp(exponent(random)) * (random() % 2 == 0 ? 1.0f : -1.0f);
  return values;
}

template <DType dtype, typename T, Spread spread>
void histogram(benchmark::State& state) {
  const auto count = static_cast<std::size_t>(state.range(0));
  const std::vector<float> values = floats(count, spread);
  std::vector<T> elements(count);
  for (std::size_t i = 0; i < count; ++i) {
    if constexpr (sizeof(T) == 2) {  // a bfloat16 is half a float32
      std::memcpy(&elements[i],
                  reinterpret_cast<const std::byte*>(&values[i]) + 2, 2);
    } else {
      elements[i] = static_cast<T>(values[i]);
    }
  }
  const TensorStatistics statistics =
      statistics_of(dtype, elements.data(), count);
  HistogramCounter counter;
  for (auto _ : state) {
    counter.clear();
    counter.add(dtype, elements.data(), count);
    benchmark::DoNotOptimize(counter.histogram(statistics));
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(histogram<DType::float32, float, Spread::normal>)
    ->Arg(100)
    ->Arg(1000)
    ->Arg(1000000);
BENCHMARK(histogram<DType::float32, float, Spread::wide>)->Arg(1000000);
BENCHMARK(histogram<DType::float64, double, Spread::normal>)->Arg(1000000);
BENCHMARK(histogram<DType::float16, std::uint16_t, Spread::normal>)
    ->Arg(1000000);
BENCHMARK(histogram<DType::bfloat16, std::uint16_t, Spread::normal>)
    ->Arg(1000000);
BENCHMARK(histogram<DType::int64, std::int64_t, Spread::wide>)->Arg(1000000);

}  // namespace
}  // namespace smdebug
