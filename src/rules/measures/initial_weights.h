#pragma once

// Measures the weights with which a training begins: their scale, what the loss
// depends on them, and whether they are constant.
//
// The scale of a layer is the root mean square of its weights, times the square
// root of the number of inputs of a unit. It is 1.4 for He's initialization,
// 0.6 by default in PyTorch, and 0.1 to 1 in transformers.
//
// The sensitivity is the norm of the weights times that of their gradient: the
// most by which the loss changes, to first order, when the weights change by
// their own size. Unlike the scale it has the same meaning if a normalization
// or a constant factor follows the layer.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "smdebug/base/result.h"
#include "smdebug/core/observation.h"
#include "smdebug/core/run_facts.h"
#include "smdebug/core/statistics.h"

namespace smdebug {

// The weights of a layer that receive a gradient. Embeddings, normalizations
// and vectors are none.
struct InitialWeight {
  std::string tensor;
  TensorStatistics statistics;
  double sensitivity = 0;
  bool has_zero_gradient = false;
  // None if the kind of layer is not known to multiply its inputs by them, or
  // if they look trained.
  std::optional<double> scale;
  std::int64_t inputs = 0;  // of a unit

  bool is_constant() const { return statistics.min == statistics.max; }
  bool is_zero() const { return statistics.zeros == statistics.count; }
};

// Whether a model has layers whose outputs do not depend on the scale of the
// weights before them; none if its layers are unknown.
std::optional<bool> has_normalization(const RunFacts& facts);

// Collects the parameters and gradients of one step and worker.
class InitialWeights {
 public:
  // Others than floating-point ones are ignored. Fail with `io`.
  Status add_weight(const Observation& weight);
  Status add_gradient(const Observation& gradient);

  // Whether there are weights and gradients.
  bool are_complete() const { return !weights_.empty() && !gradients_.empty(); }

  // Returns the weights of the layers, in the order in which they were added.
  // `facts` may be null.
  std::vector<InitialWeight> layers(const RunFacts* facts) const;

 private:
  struct Weight {
    std::string tensor;
    std::vector<std::int64_t> shape;
    TensorStatistics statistics;
  };

  std::vector<Weight> weights_;
  std::set<std::string, std::less<>> known_;  // of their tensors
  std::map<std::string, TensorStatistics, std::less<>> gradients_;  // by key
};

}  // namespace smdebug
