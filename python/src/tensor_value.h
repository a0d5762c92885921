#pragma once

// Converts a tensor's elements to Python objects, for readers of runs and of
// single event files.

#include <nanobind/nanobind.h>

#include "smdebug/read/tensor.h"

namespace smdebug {

/// (dtype's name, shape, elements): an array of bytes of the caller's own, or a
/// list of strings. smdebug/trials/tensor.py makes numpy arrays from them.
nanobind::tuple value_parts(const TensorValue& value);

}  // namespace smdebug
