#pragma once

#include <cstdint>
#include <vector>

#include "smdebug/core/mode.h"

namespace smdebug {

// A set of steps. Successive steps take the memory of one.
class StepSet {
 public:
  // Returns whether the step is new.
  bool add(Step step) {
    if (ranges_.empty() || step != ranges_.back().last + 1) return insert(step);
    ranges_.back().last = step;
    return true;
  }

  // Adds the steps of another set. Returns how many of them are new.
  std::uint64_t add(const StepSet& other) {
    std::uint64_t added = 0;
    for (const Range& range : other.ranges_) {
      for (Step step = range.first; step <= range.last; ++step)
        added += add(step);
    }
    return added;
  }

 private:
  bool insert(Step step);

  struct Range {
    Step first, last;
  };
  std::vector<Range> ranges_;  // sorted, with a gap between two
};

}  // namespace smdebug
