#pragma once

// How a tensor's elements leave for Python. Who reads a run and who reads one
// event file give them the same way.

#include <nanobind/nanobind.h>

#include "smdebug/read/tensor.h"

namespace smdebug {

/// (dtype's name, shape, elements): an array of bytes of the caller's own, or a
/// list of texts. smdebug/trials/tensor.py makes numpy's array of them.
nanobind::tuple value_parts(const TensorValue& value);

}  // namespace smdebug
