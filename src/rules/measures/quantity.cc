#include "rules/measures/quantity.h"

#include "smdebug/base/try.h"
#include "smdebug/reduce/reductions.h"

namespace smdebug {
std::optional<double> saved_reduction(const Observation& observation,
                                      ReductionOp op) {
  for (const SavedReduction& saved : observation.reductions) {
    if (saved.op == op) return saved.value;
  }
  return std::nullopt;
}

Result<std::optional<TensorView>> any_elements_of(
    const Observation& observation) {
  auto view = observation.values->load();
  if (view) return std::optional(*view);
  if (view.error().code == Error::Code::io) return std::move(view).error();
  return std::optional<TensorView>();
}

Result<std::optional<TensorView>> elements_of(const Observation& observation) {
  if (is_string(observation.dtype)) return std::optional<TensorView>();
  SMD_TRY(auto view, any_elements_of(observation));
  if (view && is_string(view->dtype)) view.reset();
  return view;
}

Result<std::optional<TensorStatistics>> full_statistics(
    const Observation& observation) {
  if (is_string(observation.dtype)) return std::optional<TensorStatistics>();
  if (observation.statistics) return std::optional(*observation.statistics);
  SMD_TRY(const auto view, elements_of(observation));
  if (!view) return std::optional<TensorStatistics>();
  return std::optional(statistics_of_view(*view));
}

Result<std::optional<double>> quantity(const Observation& observation,
                                       ReductionOp op) {
  if (is_string(observation.dtype)) return std::optional<double>();
  if (observation.statistics) {
    const auto value =
        reduction_from(*observation.statistics, op, Deviation::population);
    if (value) return value;
  }
  if (const auto saved = saved_reduction(observation, op)) return saved;
  SMD_TRY(const auto view, elements_of(observation));
  if (!view) return std::optional<double>();
  return reduce_tensor(*view, statistics_of_view(*view), op,
                       Deviation::population);
}

Result<std::optional<double>> variance_of(const Observation& observation) {
  if (!observation.statistics &&
      !saved_reduction(observation, {Reduction::variance})) {
    if (const auto std = saved_reduction(observation, {Reduction::std})) {
      return std::optional(*std * *std);
    }
  }
  return quantity(observation, {Reduction::variance});
}

}  // namespace smdebug
