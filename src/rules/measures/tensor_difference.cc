#include "rules/measures/tensor_difference.h"

#include <algorithm>
#include <cmath>

#include "smdebug/base/try.h"

#include "rules/measures/quantity.h"

namespace smdebug {
namespace {

// Compares pairs of numbers and keeps the pair that is furthest apart.
class ElementComparison {
 public:
  explicit ElementComparison(const Tolerance& tolerance)
      : tolerance_(tolerance) {}

  bool add(double value, double reference) {
    ++result.compared;
    if (tolerance_.is_close(value, reference)) return false;
    ++result.different;
    const double distance = std::abs(value - reference);
    // NaN is further away than any number.
    const bool is_worse = result.different == 1 ||
                          (!std::isnan(furthest_) &&
                           (std::isnan(distance) || distance > furthest_));
    if (!is_worse) return false;
    furthest_ = distance;
    result.value = value;
    result.reference = reference;
    return true;
  }

  TensorDifference result;

 private:
  const Tolerance& tolerance_;
  double furthest_ = 0;
};

TensorDifference compare_elements(const TensorCopy& tensor,
                                  const TensorCopy& reference,
                                  const Tolerance& tolerance) {
  ElementComparison comparison(tolerance);
  for_each_pair(
      *tensor.elements, *reference.elements,
      [&](double value, double other) { comparison.add(value, other); });
  return comparison.result;
}

TensorDifference compare_strings(const TensorCopy& tensor,
                                 const TensorCopy& reference) {
  TensorDifference difference;
  difference.by = TensorDifference::By::strings;
  difference.compared = tensor.strings->size();
  for (std::size_t i = 0; i < tensor.strings->size(); ++i) {
    difference.different += (*tensor.strings)[i] != (*reference.strings)[i];
  }
  return difference;
}

// If all elements are close, each of these numbers is close, within a tolerance
// that depends on the largest element.
TensorDifference compare_statistics(const TensorStatistics& a,
                                    const TensorStatistics& b,
                                    const Tolerance& tolerance) {
  TensorDifference difference;
  difference.by = TensorDifference::By::statistics;
  const double largest = std::max(std::abs(b.min), std::abs(b.max));
  // Two machines may round the same sum differently.
  constexpr double kRounding = 1e-12;
  const double bound = tolerance.atol + (tolerance.rtol + kRounding) * largest;
  double furthest = -1;
  const auto compare = [&](const char* number, double value, double reference,
                           double allowed) {
    ++difference.compared;
    const double distance = std::abs(value - reference);
    if (distance <= allowed) return;
    ++difference.different;
    if (distance <= furthest) return;
    furthest = distance;
    difference.number = number;
    difference.value = value;
    difference.reference = reference;
  };
  const auto counts = [&](const char* number, std::uint64_t value,
                          std::uint64_t reference) {
    compare(number, static_cast<double>(value), static_cast<double>(reference),
            0);
  };
  const bool nan_differs = !tolerance.equal_nan && a.nan + b.nan > 0;
  compare("number of NaN", static_cast<double>(a.nan),
          static_cast<double>(b.nan), nan_differs ? -1 : 0);
  counts("number of +inf", a.positive_inf, b.positive_inf);
  counts("number of -inf", a.negative_inf, b.negative_inf);
  compare("min", a.min, b.min, bound);
  compare("max", a.max, b.max, bound);
  compare("mean", a.mean, b.mean, bound);
  return difference;
}

std::optional<TensorDifference> compare_reductions(const TensorCopy& tensor,
                                                   const TensorCopy& reference,
                                                   const Tolerance& tolerance) {
  ElementComparison comparison(tolerance);
  comparison.result.by = TensorDifference::By::statistics;
  for (const SavedReduction& one : tensor.reductions) {
    const auto other =
        std::ranges::find(reference.reductions, one.op, &SavedReduction::op);
    if (other == reference.reductions.end()) continue;
    if (comparison.add(one.value, other->value)) {
      comparison.result.number = reduction_op_name(one.op);
    }
  }
  if (comparison.result.compared == 0) return std::nullopt;
  return comparison.result;
}

}  // namespace

Result<TensorCopy> TensorCopy::of(const Observation& observation) {
  TensorCopy copy;
  copy.dtype = observation.dtype;
  copy.shape.assign(observation.shape.begin(), observation.shape.end());
  copy.reductions.assign(observation.reductions.begin(),
                         observation.reductions.end());
  SMD_TRY(const auto view, any_elements_of(observation));
  if (view) {
    copy.dtype = view->dtype;
    copy.shape.assign(view->shape.begin(), view->shape.end());
    if (is_string(view->dtype)) {
      copy.strings.emplace(view->strings().begin(), view->strings().end());
      return copy;
    }
    copy.elements = KeptTensor::copy_of(*view);
  }
  SMD_TRY(copy.statistics, full_statistics(observation));
  return copy;
}

std::optional<TensorDifference> difference_of(const TensorCopy& tensor,
                                              const TensorCopy& reference,
                                              const Tolerance& tolerance) {
  const bool is_judged_by_elements = (tensor.elements && reference.elements) ||
                                     (tensor.strings && reference.strings);
  const bool has_shapes =
      is_judged_by_elements || (tensor.statistics && reference.statistics);
  if (has_shapes && tensor.shape != reference.shape) {
    return TensorDifference{.by = TensorDifference::By::shape};
  }
  if (tensor.strings && reference.strings) {
    return compare_strings(tensor, reference);
  }
  // A complex tensor and a real one of the same shape are not compared.
  if (tensor.elements && reference.elements &&
      tensor.elements->size() == reference.elements->size()) {
    return compare_elements(tensor, reference, tolerance);
  }
  if (tensor.statistics && reference.statistics) {
    return compare_statistics(*tensor.statistics, *reference.statistics,
                              tolerance);
  }
  return compare_reductions(tensor, reference, tolerance);
}

}  // namespace smdebug
