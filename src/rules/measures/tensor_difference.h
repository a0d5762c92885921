#pragma once

// Finds the differences between two tensors, as defined by numpy.allclose, for
// rules that compare runs or steps.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "smdebug/base/result.h"
#include "smdebug/core/observation.h"

#include "rules/measures/kept_tensor.h"
#include "rules/measures/tolerance.h"

namespace smdebug {

// A copy of an observation, to compare with another one later.
struct TensorCopy {
  DType dtype = DType::float32;
  std::vector<std::int64_t> shape;
  std::optional<KeptTensor> elements;
  std::optional<std::vector<std::string>> strings;
  std::optional<TensorStatistics> statistics;
  std::vector<SavedReduction> reductions;

  // Fails with `io`.
  static Result<TensorCopy> of(const Observation& observation);
};

struct TensorDifference {
  enum class By { shape, elements, strings, statistics } by = By::elements;
  std::uint64_t different = 0;  // elements, or numbers of the statistics
  std::uint64_t compared = 0;
  // The pair that is furthest apart, or the first pair with a NaN.
  double value = 0;
  double reference = 0;
  std::string number;  // "mean"; empty unless statistics were compared

  bool found() const { return by == By::shape || different > 0; }
};

// Returns how `tensor` differs from `reference`; none if they contain nothing
// that can be compared.
std::optional<TensorDifference> difference_of(const TensorCopy& tensor,
                                              const TensorCopy& reference,
                                              const Tolerance& tolerance);

}  // namespace smdebug
