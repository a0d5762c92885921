#pragma once

// Converts elements of any dtype to doubles, one after the other. Used by the
// scalar version of the kernel, the reductions that need elements, and the
// kernel for rare dtypes.

#include <cstddef>

#include "smdebug/core/dtype.h"

namespace smdebug {

// Writes the values of `count` contiguous elements to `out`. `data` need not
// be aligned. Complex elements become their absolute value, bool 0 or 1, and
// strings NaN. 64-bit integers are rounded to the nearest double.
void elements_to_doubles(DType dtype, const void* data, std::size_t count,
                         double* out);

}  // namespace smdebug
