#pragma once

// Finds the tensors in the arguments and results of a module. The bindings of
// capture number them in the order found.

#include <functional>

#include <nanobind/nanobind.h>

namespace smdebug {

/// Calls `visit` for each tensor in `value`: the value itself, the elements of
/// tuples and lists, the values of dictionaries and other mappings in their
/// order, the fields of dataclasses as they are declared; depth first, 32 deep
/// at most. Ignores everything else. Leaves no Python exception; needs the GIL.
void walk_tensors(nanobind::handle value,
                  const std::function<void(nanobind::handle)>& visit);

}  // namespace smdebug
