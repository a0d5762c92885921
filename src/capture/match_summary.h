#pragma once

// What the first saved step matched, in words: the moment at which a user can
// still mend a pattern that finds nothing.

#include <string>
#include <vector>

#include "capture/slot_table.h"

namespace smdebug {

struct MatchSummary {
  std::string text;                   // one line per saved collection
  std::vector<std::string> warnings;  // what found nothing, nearest names
};

MatchSummary summarize_matches(const SlotTable& slots);

}  // namespace smdebug
