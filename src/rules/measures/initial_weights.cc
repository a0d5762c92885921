#include "rules/measures/initial_weights.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <span>

#include "smdebug/base/try.h"
#include "smdebug/core/tensor_names.h"

#include "rules/engine/layer_name.h"
#include "rules/measures/quantity.h"
#include "rules/measures/untrained_weights.h"

namespace smdebug {
namespace {

using Shape = std::span<const std::int64_t>;

// Of PyTorch, Keras and Transformers: layers that multiply their inputs by
// their weights, without any other factor.
constexpr std::array<std::string_view, 24> kProducts = {
    "Linear",
    "NonDynamicallyQuantizableLinear",
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
    "RNN",
    "LSTM",
    "GRU",
    "RNNCell",
    "LSTMCell",
    "GRUCell",
    "MultiheadAttention",
    "Dense",
    "Conv1D",
    "Conv2D",
    "Conv3D",
    "Conv1DTranspose",
    "Conv2DTranspose",
    "Conv3DTranspose",
    "SimpleRNN",
    "SimpleRNNCell"};

bool is_product(std::string_view kind) {
  return std::ranges::find(kProducts, kind) != kProducts.end();
}

bool contains(std::string_view text, std::string_view lower_case) {
  const auto found = std::ranges::search(text, lower_case, {}, [](char c) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  });
  return !found.empty();
}

// Of a layer, or of a tensor whose layer is unknown.
bool names_other_layer(std::string_view name) {
  return contains(name, "embed") || contains(name, "norm");
}

// The kinds of the modules, by their path.
class Kinds {
 public:
  explicit Kinds(const RunFacts* facts) {
    if (!facts) return;
    for (const ModuleFacts& module : facts->modules) {
      by_path_.emplace(module.path, module.kind);
    }
  }

  bool empty() const { return by_path_.empty(); }

  // The kind of the layer of a parameter; empty if it is unknown. "fc1" is the
  // layer of "Net_fc1.weight".
  std::string_view of(std::string_view tensor) const {
    const std::string_view layer = layer_of(tensor);
    auto found = by_path_.find(layer);
    for (std::size_t at = layer.find('_');
         found == by_path_.end() && at != layer.npos;
         at = layer.find('_', at + 1)) {
      if (by_path_.contains(layer.substr(0, at))) {
        found = by_path_.find(layer.substr(at + 1));
      }
    }
    return found == by_path_.end() ? std::string_view() : found->second;
  }

 private:
  std::map<std::string_view, std::string_view> by_path_;
};

std::int64_t product(Shape sizes) {
  std::int64_t count = 1;
  for (const std::int64_t size : sizes) count *= size;
  return count;
}

// The number of inputs of a unit. Units are the first dimension in PyTorch and
// MXNet, the last in Keras and in the "Conv1D" of Transformers; transposed
// convolutions exchange the first two, or the last two.
std::int64_t inputs_of_unit(std::string_view tensor, std::string_view kind,
                            Shape shape) {
  const bool is_transposed = contains(kind, "transpose");
  const bool has_units_last =
      tensor.find(name_parts::kLayerWeights) != tensor.npos || kind == "Conv1D";
  std::size_t units = has_units_last ? shape.size() - 1 : 0;
  if (is_transposed && shape.size() > 2) {
    units = has_units_last ? shape.size() - 2 : 1;
  }
  return shape[units] == 0 ? 0 : product(shape) / shape[units];
}

bool is_vector(Shape shape) {
  return std::ranges::count_if(shape,
                               [](std::int64_t size) { return size > 1; }) < 2;
}

}  // namespace

std::optional<bool> has_normalization(const RunFacts& facts) {
  if (facts.modules.empty()) return std::nullopt;
  return std::ranges::any_of(facts.modules, [](const ModuleFacts& module) {
    return contains(module.kind, "norm");
  });
}

Status InitialWeights::add_weight(const Observation& weight) {
  if (!is_floating(weight.dtype)) return {};
  SMD_TRY(const auto statistics, full_statistics(weight));
  if (!statistics || statistics->count == 0) return {};
  if (!known_.emplace(weight.name).second) return {};
  weights_.push_back({std::string(weight.name),
                      {weight.shape.begin(), weight.shape.end()},
                      *statistics});
  return {};
}

Status InitialWeights::add_gradient(const Observation& gradient) {
  if (!is_floating(gradient.dtype)) return {};
  SMD_TRY(const auto statistics, full_statistics(gradient));
  if (!statistics || statistics->count == 0) return {};
  gradients_.insert_or_assign(std::string(parameter_of_gradient(gradient.name)),
                              *statistics);
  return {};
}

std::vector<InitialWeight> InitialWeights::layers(const RunFacts* facts) const {
  const Kinds kinds(facts);
  std::vector<InitialWeight> layers;
  for (const Weight& weight : weights_) {
    const auto gradient = gradients_.find(parameter_of_weight(weight.tensor));
    const std::string_view kind = kinds.of(weight.tensor);
    const bool multiplies = kinds.empty() || is_product(kind);
    if (gradient == gradients_.end() || weight.shape.size() < 2 ||
        names_other_layer(kind.empty() ? weight.tensor : kind) ||
        (is_vector(weight.shape) && !multiplies) ||
        weight.statistics.has_non_finite()) {
      continue;
    }
    InitialWeight& layer = layers.emplace_back();
    layer.tensor = weight.tensor;
    layer.statistics = weight.statistics;
    layer.has_zero_gradient = gradient->second.zeros == gradient->second.count;
    const double squares = weight.statistics.sum_squares;
    layer.sensitivity = std::sqrt(squares * gradient->second.sum_squares);
    layer.inputs = inputs_of_unit(weight.tensor, kind, weight.shape);
    if (multiplies && !have_tails(weight.statistics)) {
      const auto count = static_cast<double>(weight.statistics.count);
      layer.scale =
          std::sqrt(squares / count * static_cast<double>(layer.inputs));
    }
  }
  return layers;
}

}  // namespace smdebug
