#include "capture/scalar_chunk.h"

#include <algorithm>

namespace smdebug {

std::vector<ScalarSeries> series_of(const ScalarChunk& chunk) {
  std::vector<ScalarSeries> all(chunk.names.size());
  for (const NotedScalar& noted : chunk.noted)
    all[noted.series].samples.push_back({noted.step, noted.value});
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].name = *chunk.names[i];
    sort_samples(all[i].samples);
  }
  std::erase_if(all, [](const ScalarSeries& one) {
    return one.samples.empty() || one.name.empty();
  });
  std::ranges::sort(all, {}, &ScalarSeries::name);
  return all;
}

}  // namespace smdebug
