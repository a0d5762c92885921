#pragma once

// The elements of a tensor as text, abbreviated to fit on a line.

#include <string>

#include "smdebug/read/tensor.h"

namespace smdebug {

// Returns the elements in C order: "[1, 2, 3]", or the first and last few of a
// long one.
std::string elements_text(const TensorValue& value);

}  // namespace smdebug
