#pragma once

// Decides whether two tensors count as equal, as numpy's `allclose` does, also
// from statistics if the elements were not saved.

#include "smdebug/core/statistics.h"
#include "smdebug/rules/parameters.h"

#include "rules/measures/kept_tensor.h"

namespace smdebug {

// Rows for the parameter tables of rules that compare tensors.
inline const ParameterSpec kRtol = {
    .name = "rtol",
    .type = ParameterType::real,
    .default_text = "1e-5",
    .description =
        "Elements a and b are equal if |a - b| <= atol + rtol * |b|.",
    .minimum = 0.0};
inline const ParameterSpec kAtol = {
    .name = "atol",
    .type = ParameterType::real,
    .default_text = "1e-8",
    .description = "Absolute part of the tolerance.",
    .minimum = 0.0};
inline const ParameterSpec kEqualNan = {
    .name = "equal_nan",
    .type = ParameterType::boolean,
    .default_text = "false",
    .description = "Whether NaN equals NaN."};

struct Tolerance {
  double rtol = 1e-5;
  double atol = 1e-8;
  bool equal_nan = false;

  // Reads those of the three parameters that the rule has.
  static Tolerance of(const Parameters& parameters);

  // Returns what numpy.isclose returns.
  bool is_close(double value, double reference) const;
};

// The largest deviation between two tensors, and the limit that applies to it.
struct MaxDeviation {
  double value = 0;
  double allowed = 0;

  bool is_close() const { return !(value > allowed); }
};

// Returns the deviation at the elements that exceed their limit by most or, if
// all are close, come nearest to it. a and b have the same shape.
// Elements are close as in numpy.allclose(a, b): b is the reference, NaN equals
// NaN if `tolerance` allows it, and an infinity equals itself.
MaxDeviation max_deviation(const KeptTensor& a, const KeptTensor& b,
                           const Tolerance& tolerance);

// Returns the same for statistics. The bounds, the mean and the root mean
// square of close tensors are as close as their elements. If they are not, the
// tensors are not close. The reverse does not hold.
MaxDeviation max_deviation(const TensorStatistics& a, const TensorStatistics& b,
                           const Tolerance& tolerance);

}  // namespace smdebug
