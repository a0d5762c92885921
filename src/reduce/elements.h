#pragma once

// What an element of each dtype is worth as a double. The plain reading of
// every dtype, one element after the other: the scalar twin, the reductions
// that need elements, and the kernel's rare dtypes use it.

#include <cstddef>

#include "smdebug/core/dtype.h"

namespace smdebug {

// Writes the values of `count` contiguous elements to `out`. `data` need not
// be aligned. Complex elements give their absolute value, bool 0 or 1, 64-bit
// integers round to the nearest double. Strings have no value: NaN.
void elements_to_doubles(DType dtype, const void* data, std::size_t count,
                         double* out);

}  // namespace smdebug
