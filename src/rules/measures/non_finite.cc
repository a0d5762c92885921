#include "rules/measures/non_finite.h"

#include <array>
#include <cmath>
#include <cstddef>

#include "smdebug/base/try.h"
#include "smdebug/reduce/statistics_kernel.h"

#include "reduce/gather.h"
#include "rules/measures/quantity.h"

namespace smdebug {
namespace {

// Reductions that are NaN or infinite only if an element is. `prod` and the
// moments can overflow on finite elements.
constexpr std::array kTellingReductions = {Reduction::mean, Reduction::sum,
                                           Reduction::l1,   Reduction::l2,
                                           Reduction::min,  Reduction::max};

NonFinite from_statistics(const TensorStatistics& statistics) {
  NonFinite found;
  found.counts = NonFinite::Counts{statistics.nan, statistics.positive_inf,
                                   statistics.negative_inf};
  found.has_nan = statistics.nan > 0;
  found.has_inf = statistics.positive_inf + statistics.negative_inf > 0;
  return found;
}

// Returns none if no saved reduction proves anything.
std::optional<NonFinite> from_reductions(const Observation& observation) {
  std::optional<NonFinite> found;
  for (const bool abs : {false, true}) {
    for (const Reduction reduction : kTellingReductions) {
      const ReductionOp op = {reduction, abs};
      const auto value = saved_reduction(observation, op);
      if (!value) continue;
      if (!found) found.emplace();
      if (!std::isfinite(*value) && found->seen_in.empty()) {
        found->seen_in = reduction_op_name(op);
      }
      found->has_nan |= std::isnan(*value);
      found->has_inf |= std::isinf(*value);
    }
  }
  return found;
}

bool is_wanted(const TensorStatistics& statistics, bool only_nan) {
  return only_nan ? statistics.nan > 0 : statistics.has_non_finite();
}

}  // namespace

Result<std::optional<NonFinite>> find_non_finite(
    const Observation& observation) {
  if (!is_floating(observation.dtype)) return std::optional<NonFinite>();
  if (observation.statistics) {
    return std::optional(from_statistics(*observation.statistics));
  }
  if (auto found = from_reductions(observation)) return found;
  SMD_TRY(const auto statistics, full_statistics(observation));
  if (!statistics) return std::optional<NonFinite>();
  return std::optional(from_statistics(*statistics));
}

std::optional<std::vector<std::int64_t>> first_non_finite(
    const TensorView& view, bool only_nan) {
  constexpr std::size_t kBlock = 1024;
  const std::size_t element_bytes = dtype_bytes(view.dtype);
  std::vector<std::byte> block(kBlock * element_bytes);
  Gather gather(view);
  std::int64_t position = -1;
  std::int64_t before = 0;
  while (const std::size_t count = gather.next(block.data(), kBlock)) {
    const auto wanted = [&](std::size_t first, std::size_t length) {
      return is_wanted(
          statistics_of(view.dtype, block.data() + first * element_bytes,
                        length),
          only_nan);
    };
    if (wanted(0, count)) {
      std::size_t i = 0;
      while (!wanted(i, 1)) ++i;
      position = before + static_cast<std::int64_t>(i);
      break;
    }
    before += static_cast<std::int64_t>(count);
  }
  if (position < 0) return std::nullopt;
  std::vector<std::int64_t> index(view.shape.size());
  for (std::size_t i = index.size(); i-- > 0;) {
    index[i] = position % view.shape[i];
    position /= view.shape[i];
  }
  return index;
}

}  // namespace smdebug
