#pragma once

// The codes of an `IndexEntry`.

#include <cstdint>

#include "smdebug/core/dtype.h"
#include "smdebug/core/reduction.h"

namespace smdebug {

inline constexpr std::uint8_t kValueCode = 0;

// The count of a missing row: the file has no valid statistics for the entry.
inline constexpr std::uint64_t kNoRow = UINT64_MAX;

inline std::uint8_t code_of(ReductionOp op) {
  return static_cast<std::uint8_t>(1 + 2 * static_cast<unsigned>(op.reduction) +
                                   (op.abs ? 1 : 0));
}

inline std::uint8_t code_of(DType dtype) {
  return static_cast<std::uint8_t>(static_cast<unsigned>(dtype) + 1);
}

}  // namespace smdebug
