#include "rules/engine/evidence.h"

#include <algorithm>
#include <limits>

namespace smdebug {
namespace {

double badness(const Evidence& evidence) {
  const double threshold = evidence.threshold.value_or(0);
  const bool is_too_small = evidence.relation.starts_with('<');
  const double larger = is_too_small ? threshold : evidence.value;
  const double smaller = is_too_small ? evidence.value : threshold;
  if (smaller > 0) return larger / smaller;
  return larger > 0 ? std::numeric_limits<double>::infinity() : 1;
}

}  // namespace

void sort_worst_first(std::vector<Evidence>& evidence) {
  std::ranges::stable_sort(evidence, std::ranges::greater(), badness);
}

}  // namespace smdebug
