#pragma once

// The numbers that dtypes have on disk: those of TensorFlow's `DataType`.

#include <cstdint>
#include <optional>

#include "smdebug/core/dtype.h"

namespace smdebug {

// Returns the number of `dtype`: 0 for `string`, as the original wrote it,
// TensorFlow's DT_STRING for `bytes`.
std::uint32_t dtype_number(DType dtype);

// Returns the number of the quantized type that is stored as `dtype`; none
// where there is none. TensorFlow's qint32 and quint16 were written as the
// integers themselves.
std::optional<std::uint32_t> quantized_dtype_number(DType dtype);

// Returns the dtype of a number, or none. The quantized types are read as the
// integers that hold them.
std::optional<DType> find_dtype_number(std::uint64_t number);

}  // namespace smdebug
