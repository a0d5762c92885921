#pragma once

// The statistics of one value with what describes it, for tables.

#include <optional>

#include "smdebug/base/result.h"
#include "smdebug/read/tensor.h"

#include "format/index_file.h"

namespace smdebug {

// Returns the statistics of a value, computed from its elements if the run does
// not store them. None for text, and for what has no value. Fails as
// `Tensor::statistics`.
Result<std::optional<IndexedStatistics>> tensor_numbers(Tensor& tensor,
                                                        const StepQuery& query);

}  // namespace smdebug
