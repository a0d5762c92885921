#pragma once

// Distinguishes random initial weights from trained ones by the distribution of
// their elements. Initial weights are uniform, normal or constant; training
// gives them tails.

#include <optional>

#include "smdebug/core/statistics.h"

namespace smdebug {

// Returns whether weights look as if no update has changed them much; none for
// fewer elements than show it.
std::optional<bool> look_untrained(const TensorStatistics& weights);

// Returns whether weights have larger elements than random initial ones. False
// for fewer elements than show it.
bool have_tails(const TensorStatistics& weights);

}  // namespace smdebug
