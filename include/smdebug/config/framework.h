#pragma once

// What a framework's users expect without asking: which collections exist,
// which are saved, how often, and how its reductions are defined. One table
// per framework, so that no adapter decides any of it.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "smdebug/config/collection.h"
#include "smdebug/core/statistics.h"

namespace smdebug {

struct Framework {
  std::string name;                     // "pytorch"
  std::vector<Collection> collections;  // built in, in order of export
  // Exist where they are asked for by name, and only then: the collections
  // files of other runs are the original's.
  std::vector<Collection> further_collections;
  // Where one of those exists: a pattern of `collections` -> the same pattern,
  // leaving the tensors of further collections alone.
  std::map<std::string, std::string> narrowed;
  std::vector<std::string> default_saved;  // saved without being asked
  Step default_save_interval = 500;
  // Saved `std` and `variance` as the framework computes them.
  Deviation deviation = Deviation::population;
  // A saved reduction has shape () and the tensor's dtype; else (1,).
  bool reductions_are_0d = false;
  // The name of a saved reduction keeps the ":0" of its tensor's.
  bool reductions_keep_colon_digits = false;

  /// True for a collection that exists without pattern or tensor names: this
  /// framework's own, those that other frameworks fill by name, and those of
  /// what activations take and give: relu_input, relu_output, tanh_input,
  /// sigmoid_input.
  bool knows(std::string_view collection) const;

  /// Returns this framework's own collection of that name, or none.
  const Collection* find(std::string_view collection) const;

  /// True for the name of a further collection.
  bool is_further(std::string_view collection) const;
};

/// True for the collections of single numbers: losses, metrics and their like.
/// They are saved raw, without histogram, unless the user says otherwise.
bool is_scalar_collection(std::string_view name);

/// True for the scalar collections whose tensors TensorBoard shows as numbers:
/// all but `tensorflow_summaries`, which come from TensorBoard's own files.
bool has_scalar_summaries(std::string_view name);

/// True for the collections that are saved in training alone: gradients and
/// optimizer state do not exist outside it, and a framework that shows them in
/// other modes shows stale ones.
bool is_training_only(std::string_view collection);

/// PyTorch: weights, biases, gradients, losses. Further: what a model has
/// beside parameters (buffers, activation_gradients), what its optimizers have
/// (optimizer_state, learning_rate), and what the loop hands over, whose
/// patterns the adapter knows (inputs, outputs, labels).
const Framework& pytorch_framework();

/// XGBoost: metrics and those of them that are losses, hyperparameters,
/// predictions, labels, feature_importance, average_shap, full_shap, trees.
const Framework& xgboost_framework();

/// MXNet's Gluon: weights, biases, gradients, losses, under the names that
/// Gluon gives (`dense0_weight`). Activations are known by the adapter.
const Framework& mxnet_framework();

/// TensorFlow and Keras: the adapter knows the kind of each tensor, so that
/// only biases are found by name.
const Framework& tensorflow_framework();

/// A training loop of the user's own, in C++ or Python: collections exist by
/// name (weights, biases, gradients, losses, metrics) and match nothing.
const Framework& plain_framework();

}  // namespace smdebug
