#pragma once

// Builds the names of tensors, so that a model has the same names in every
// language and under every adapter. Adapters pass the parts that only they know
// (the path of a module, the name of a layer) and keep the result: a name is
// built once, at registration. The rules parse names with the same `name_parts`
// (layer_name.h).
//
// Names reach disk, and users' patterns depend on them: never change one.

#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace [[gnu::visibility("default")]] smdebug {

// The fixed parts of names.
namespace name_parts {

// Modules and blocks: PyTorch, MXNet, C++.
inline constexpr std::string_view kGradient = "gradient/";
inline constexpr std::string_view kBuffer = "buffer/";
inline constexpr std::string_view kOptimizerState = "optimizer_state/";
inline constexpr std::string_view kLearningRate = "learning_rate/";
inline constexpr std::string_view kActivationGradient = "activation_gradient/";
inline constexpr std::string_view kInput = "_input";
inline constexpr std::string_view kOutput = "_output";

// Layers and variables: Keras and TensorFlow.
inline constexpr std::string_view kWeights = "weights/";
inline constexpr std::string_view kLayerWeights = "/weights/";
inline constexpr std::string_view kVariableGradient = "gradients/";
inline constexpr std::string_view kGradientEnding = "Grad";
inline constexpr std::string_view kInputs = "/inputs";
inline constexpr std::string_view kOutputs = "/outputs";

inline constexpr std::string_view kScalar = "scalar/";

// A series: how many calls of its models a step has beyond the first of each.
inline constexpr std::string_view kRepeatedCalls = "repeated_calls";

// Series of a gradient scaler: the scale that the gradients of an update carry,
// and 1 if the scaler skips the update, else 0.
inline constexpr std::string_view kGradientScale = "gradient_scale";
inline constexpr std::string_view kUpdateSkipped = "update_skipped";

}  // namespace name_parts

// --- modules and blocks ---

/// Returns "Net_fc1.weight" for root "Net" and path "fc1.weight".
std::string parameter_name(std::string_view root, std::string_view path);

/// Returns "gradient/Net_fc1.weight" for parameter "Net_fc1.weight".
std::string gradient_name(std::string_view parameter);

/// Returns "buffer/Net_bn1.running_mean".
std::string buffer_name(std::string_view root, std::string_view path);

/// Returns "optimizer_state/Net_fc1.weight/exp_avg" for parameter
/// "Net_fc1.weight" and key "exp_avg".
std::string optimizer_state_name(std::string_view parameter,
                                 std::string_view key);

/// Returns "learning_rate/SGD/0" for the first parameter group of "SGD".
std::string learning_rate_name(std::string_view optimizer, std::size_t group);

/// Returns "fc1_input_0" for the first input of module "fc1" in a step. The
/// number counts on over repeated calls of the module.
std::string input_name(std::string_view module, std::size_t number);
std::string output_name(std::string_view module, std::size_t number);

/// Returns "activation_gradient/fc1": the module whose outputs are the
/// gradients of the outputs of "fc1".
std::string activation_gradient_module(std::string_view module);

// --- layers and variables ---

/// Returns the name of a variable with its output number: "dense/kernel:0" for
/// "dense/kernel". A name that already has one is returned unchanged.
std::string variable_name(std::string_view variable);

/// Returns "dense/weights/dense/kernel:0" for layer "dense" and variable
/// "dense/kernel:0".
std::string layer_weight_name(std::string_view layer,
                              std::string_view variable);

/// Returns "weights/dense/kernel:0", for a variable that belongs to no layer.
std::string weight_name(std::string_view variable);

/// Returns "gradients/dense/kernelGrad" for variable "dense/kernel:0".
std::string variable_gradient_name(std::string_view variable);

/// Returns "dense/inputs" and "dense/outputs".
std::string layer_inputs_name(std::string_view layer);
std::string layer_outputs_name(std::string_view layer);

/// Returns "dense/relu_input", for the input of the activation "relu" inside
/// layer "dense".
std::string activation_input_name(std::string_view layer,
                                  std::string_view activation);

/// Returns the names of `count` tensors that share `name`: the name itself if
/// there is one, otherwise "dense/inputs_0", "dense/inputs_1", ...
std::vector<std::string> numbered_names(std::string_view name,
                                        std::size_t count);

// --- boosted trees ---

/// Returns "train-rmse".
std::string metric_name(std::string_view evaluation_set,
                        std::string_view metric);

/// Returns "train-rmse-std": the standard deviation of a metric over folds.
std::string metric_deviation_name(std::string_view evaluation_set,
                                  std::string_view metric);

/// Returns "trees/Gain", for a collection with one tensor per feature, column
/// or parameter.
std::string member_name(std::string_view collection, std::string_view member);

/// Returns "feature_importance/gain/f0".
std::string feature_importance_name(std::string_view importance,
                                    std::string_view feature);

// --- every framework ---

/// Returns "scalar/accuracy".
std::string scalar_name(std::string_view name);

// Makes names unique: the first of a kind keeps its name, and later ones get
// the lowest free number as a suffix ("Net", "Net_1", "Net_2").
class UniqueNames {
 public:
  UniqueNames() = default;
  /// Starts with names that are already taken.
  explicit UniqueNames(std::set<std::string, std::less<>> taken)
      : taken_(std::move(taken)) {}

  /// Returns `name`, or `name` with the lowest free number, and takes it.
  std::string take(std::string_view name);

  /// Does the same for an object inside `outer`: if its name is taken, it
  /// becomes "<outer>/<name>", with a number if that is taken as well.
  std::string take_inside(std::string_view outer, std::string_view name);

 private:
  std::set<std::string, std::less<>> taken_;
};

// --- collections ---

/// Returns "rule_DeadRelu", the collection of the tensors that the patterns of
/// a rule select.
std::string rule_collection(std::string_view rule);

/// Returns the rule of such a collection; empty for another collection.
std::string_view rule_of_collection(std::string_view collection);

}  // namespace smdebug
