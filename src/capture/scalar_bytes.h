#pragma once

// How a reduction of a tensor is stored: as one element of a float dtype.

#include <cstddef>
#include <span>

#include "smdebug/core/dtype.h"

namespace smdebug {

// The dtype that a reduction of a `dtype` tensor is stored in: its own for
// float16, bfloat16, float32 and float64; float32 for complex64 and the float8
// kinds; float64 for everything else.
DType reduced_dtype(DType dtype);

// Writes `value` as one element of `dtype`, which `reduced_dtype` gave, to
// `bytes`, rounding to nearest even; returns how many bytes it takes.
std::size_t scalar_bytes(DType dtype, double value,
                         std::span<std::byte, 8> bytes);

}  // namespace smdebug
