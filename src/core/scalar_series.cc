#include "smdebug/core/scalar_series.h"

#include <algorithm>

namespace smdebug {

void sort_samples(std::vector<ScalarSample>& samples) {
  const auto step = [](const ScalarSample& one) { return one.step.global; };
  std::ranges::stable_sort(samples, {}, step);
  // Backwards, to keep the last sample of each step.
  const auto same_step = [](const ScalarSample& a, const ScalarSample& b) {
    return a.step.global == b.step.global;
  };
  const auto kept = std::unique(samples.rbegin(), samples.rend(), same_step);
  samples.erase(samples.begin(), kept.base());
}

}  // namespace smdebug
