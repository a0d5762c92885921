#pragma once

// When two tensors count as equal: numpy's `allclose`, and what statistics
// tell of it where the elements are not at hand.

#include "smdebug/core/statistics.h"
#include "smdebug/rules/parameters.h"

#include "rules/measures/kept_tensor.h"

namespace smdebug {

// Three rows of the table of a rule that compares tensors.
inline const ParameterSpec kRtol = {
    .name = "rtol",
    .type = ParameterType::real,
    .default_text = "1e-5",
    .sentence = "Elements a and b are equal if |a - b| <= atol + rtol * |b|.",
    .minimum = 0.0};
inline const ParameterSpec kAtol = {
    .name = "atol",
    .type = ParameterType::real,
    .default_text = "1e-8",
    .sentence = "The absolute part of the tolerance.",
    .minimum = 0.0};
inline const ParameterSpec kEqualNan = {.name = "equal_nan",
                                        .type = ParameterType::boolean,
                                        .default_text = "false",
                                        .sentence = "Whether NaN equals NaN."};

struct Tolerance {
  double rtol = 1e-5;
  double atol = 1e-8;
  bool equal_nan = false;

  // Reads those of the three parameters that the rule has.
  static Tolerance of(const Parameters& parameters);

  // What numpy.isclose says.
  bool is_close(double value, double reference) const;
};

// How far apart two tensors are, at the worst, and how far they may be there.
struct Gap {
  double apart = 0;
  double allowed = 0;

  bool is_close() const { return !(apart > allowed); }
};

// The element of a and b, numbers of the same shape, that goes furthest beyond
// what is allowed; all close, the one that comes nearest to it. Close is what
// numpy.allclose(a, b) says: b is the reference, a NaN equals a NaN if the
// tolerance says so, an infinity itself.
Gap gap_between(const KeptTensor& a, const KeptTensor& b,
                const Tolerance& tolerance);

// The same of what statistics tell. The bounds, the mean and the root mean
// square of close tensors lie as close as their elements do: where they do
// not, the tensors cannot be close. The reverse does not hold.
Gap gap_between(const TensorStatistics& a, const TensorStatistics& b,
                const Tolerance& tolerance);

}  // namespace smdebug
