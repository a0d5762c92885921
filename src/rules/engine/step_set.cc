#include "rules/engine/step_set.h"

#include <algorithm>

namespace smdebug {

bool StepSet::insert(Step step) {
  const auto after = std::ranges::upper_bound(ranges_, step, {}, &Range::first);
  const auto before = after == ranges_.begin() ? ranges_.end() : after - 1;
  const bool has_before = before != ranges_.end();
  if (has_before && step <= before->last) return false;
  const bool joins_before = has_before && before->last + 1 == step;
  const bool joins_after = after != ranges_.end() && after->first - 1 == step;
  if (joins_before && joins_after) {
    before->last = after->last;
    ranges_.erase(after);
  } else if (joins_before) {
    before->last = step;
  } else if (joins_after) {
    after->first = step;
  } else {
    ranges_.insert(after, {step, step});
  }
  return true;
}

}  // namespace smdebug
