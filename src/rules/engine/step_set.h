#pragma once

#include <vector>

#include "smdebug/core/mode.h"

namespace smdebug {

// A set of steps. Successive steps take the memory of one.
class StepSet {
 public:
  // Returns whether the step is new.
  bool add(Step step);

 private:
  struct Range {
    Step first, last;
  };
  std::vector<Range> ranges_;  // sorted, with a gap between two
};

}  // namespace smdebug
