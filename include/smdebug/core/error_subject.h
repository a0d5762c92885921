#pragma once

// `ErrorSubject` names the tensor, worker and step that an `Error` is about, so
// that a binding can raise a typed exception with them as attributes.

#include <string>

#include "smdebug/core/mode.h"

namespace [[gnu::visibility("default")]] smdebug {

/// Only the fields that the error's detail needs are set.
struct ErrorSubject {
  std::string tensor;
  std::string worker;
  Step step = 0;  // of `mode`
  Mode mode = Mode::global;
  Step last_step = -1;  // of `mode`, in a run that has ended; -1: none
};

}  // namespace smdebug
