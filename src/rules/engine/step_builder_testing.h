#pragma once

// `StepBuilder` makes one step with handmade observations, to feed to rules.
// For tests only.

#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "smdebug/core/observation.h"

namespace smdebug {

inline constexpr float kInf = std::numeric_limits<float>::infinity();
inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Statistics of ten elements with this variance.
inline TensorStatistics statistics_of_variance(double variance) {
  TensorStatistics statistics;
  statistics.count = 10;
  statistics.m2 = 10 * variance;
  return statistics;
}

// Ten elements of that absolute value, five of each sign.
inline TensorStatistics even_statistics(double absolute) {
  TensorStatistics statistics;
  statistics.count = 10;
  statistics.min = -absolute;
  statistics.max = absolute;
  statistics.sum_abs = 10 * absolute;
  statistics.m2 = statistics.sum_squares = 10 * absolute * absolute;
  return statistics;
}

class StepBuilder {
 public:
  explicit StepBuilder(StepId step) : step_(step) {}
  explicit StepBuilder(Step train_step)
      : step_({train_step, Mode::train, train_step}) {}

  // Adds a tensor with statistics only.
  StepBuilder& with_statistics(std::string name, TensorStatistics statistics) {
    Tensor& tensor = add(std::move(name), {std::int64_t(statistics.count)});
    tensor.statistics = statistics;
    return *this;
  }

  // Adds a single number with statistics only.
  StepBuilder& with_scalar(std::string name, double value) {
    TensorStatistics statistics;
    statistics.count = 1;
    if (value != value) {
      statistics.nan = 1;
    } else {
      statistics.min = statistics.max = statistics.mean = value;
      statistics.sum_abs = value < 0 ? -value : value;
      statistics.sum_squares = value * value;
    }
    return with_statistics(std::move(name), statistics);
  }

  StepBuilder& with_reductions(std::string name,
                               std::vector<SavedReduction> reductions) {
    Tensor& tensor = add(std::move(name), {10});
    tensor.reductions = std::move(reductions);
    return *this;
  }

  StepBuilder& with_values(std::string name, std::vector<float> values,
                           std::vector<std::int64_t> shape) {
    Tensor& tensor = add(std::move(name), std::move(shape));
    tensor.source.values = std::move(values);
    tensor.source.stored = true;
    return *this;
  }

  // Adds a tensor without values, statistics or reductions.
  StepBuilder& with_nothing(std::string name) {
    add(std::move(name), {10});
    return *this;
  }

  // Set properties of the tensor that was added last.
  StepBuilder& from_worker(std::string worker) {
    tensors_.back().worker = std::move(worker);
    return *this;
  }
  StepBuilder& and_statistics(TensorStatistics statistics) {
    tensors_.back().statistics = statistics;
    return *this;
  }

  StepBuilder& of_shape(std::vector<std::int64_t> shape) {
    tensors_.back().shape = std::move(shape);
    return *this;
  }
  StepBuilder& placed_at(ShardPlacement placement) {
    tensors_.back().placement = std::move(placement);
    return *this;
  }
  StepBuilder& of_dtype(DType dtype) {
    tensors_.back().dtype = dtype;
    return *this;
  }

  StepBuilder& in_run(std::size_t run) {
    run_ = run;
    return *this;
  }
  StepBuilder& in_phase(StepPhase phase) {
    phase_ = phase;
    return *this;
  }

  // Valid until this step is changed or destroyed.
  StepView view() {
    observations_.clear();
    for (Tensor& tensor : tensors_) {
      Observation observation;
      observation.name = tensor.name;
      observation.worker = tensor.worker;
      observation.dtype = tensor.dtype;
      observation.shape = tensor.shape;
      if (tensor.statistics) observation.statistics = &*tensor.statistics;
      observation.reductions = tensor.reductions;
      tensor.source.shape = tensor.shape;
      observation.values = &tensor.source;
      if (tensor.placement) observation.placement = &*tensor.placement;
      observations_.push_back(observation);
    }
    return {run_, step_, phase_, observations_};
  }

 private:
  struct Source : ValueSource {
    bool stored = false;
    std::vector<float> values;
    std::vector<std::int64_t> shape;

    Result<TensorView> load() override {
      if (!stored) return Error{Error::Code::not_found, "no values were kept"};
      TensorView view;
      view.data = reinterpret_cast<const std::byte*>(values.data());
      view.shape = shape;
      return view;
    }
  };

  struct Tensor {
    std::string name;
    std::string worker = "worker_0";
    std::vector<std::int64_t> shape;
    DType dtype = DType::float32;
    std::optional<TensorStatistics> statistics;
    std::vector<SavedReduction> reductions;
    std::optional<ShardPlacement> placement;
    Source source;
  };

  Tensor& add(std::string name, std::vector<std::int64_t> shape) {
    Tensor& tensor = tensors_.emplace_back();
    tensor.name = std::move(name);
    tensor.shape = std::move(shape);
    return tensor;
  }

  StepId step_;
  std::size_t run_ = 0;
  StepPhase phase_ = StepPhase::complete;
  std::vector<Tensor> tensors_;
  std::vector<Observation> observations_;
};

}  // namespace smdebug
