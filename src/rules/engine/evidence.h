#pragma once

// The order in which a verdict lists its evidence.

#include <vector>

#include "smdebug/rules/verdict.h"

namespace smdebug {

// Puts the tensor first that is furthest beyond its threshold, as a factor:
// ten times too large is as bad as ten times too small. Thresholds are not
// negative. Equals keep their order.
void sort_worst_first(std::vector<Evidence>& evidence);

}  // namespace smdebug
