#pragma once

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

 private:
  bool insert(Step step);

  struct Range {
    Step first, last;
  };
  std::vector<Range> ranges_;  // sorted, with a gap between two
};

}  // namespace smdebug
