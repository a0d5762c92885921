#pragma once

// The status of a rule as whoever judges a run keeps it beside the run
// (docs/actions.md). Read by `actions`, shown by `report`; here, because
// neither knows the other.

#include <string>

#include "smdebug/core/mode.h"

namespace smdebug {

struct RecordedStatus {
  std::string key;            // the file's name without its ending: "AllZero_2"
  std::string rule;           // "AllZero"
  std::string status;         // "InProgress", ...
  std::string message;        // the verdict's sentence
  std::string last_modified;  // UTC: "2026-11-21T03:07:24Z"
  Step last_step = -1;        // the last one that was judged
  Step lag_steps = 0;
  double lag_seconds = 0;
};

}  // namespace smdebug
