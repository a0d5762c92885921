#pragma once

// The statistics kernel: one pass over a tensor that counts, bounds and sums
// it, and on the way copies it if asked. This is the inner loop of capture.
// SIMD, chosen at run time for the CPU at hand; `scalar_statistics` is the
// same in plain C++, the truth that the tests hold the other against.
//
// Accuracy: fp64 lanes about the mean of the previous block of 1024 elements,
// merged by Chan's formula; 1e-11 relative on the adversarial sets of
// statistics_kernel_test.cc.

#include <cstddef>

#include "smdebug/core/statistics.h"
#include "smdebug/core/tensor_view.h"

namespace smdebug {

/// Returns the statistics of `count` contiguous elements. Complex elements
/// count by their absolute value in `max`, `min`, `mean`, `m2` and the sums,
/// and as NaN or infinite if either part is. Strings have a count and nothing
/// else. `data` need not be aligned. Allocates nothing.
TensorStatistics statistics_of(DType dtype, const void* data,
                               std::size_t count);

// `streaming` writes past the cache: for large copies that are read much
// later, by another thread.
enum class CopyStores { normal, streaming };

/// The same, and copies the elements to `destination`, which does not overlap.
/// A destination that is not aligned to 64 bytes is never streamed to.
TensorStatistics copy_with_statistics(DType dtype, const void* data,
                                      std::size_t count, void* destination,
                                      CopyStores stores);

/// Plain C++, no SIMD: two passes in long double, one element after the other.
TensorStatistics scalar_statistics(DType dtype, const void* data,
                                   std::size_t count);

/// The SIMD target in use: "AVX2", "SSE4", "scalar".
const char* statistics_kernel_target();

}  // namespace smdebug
