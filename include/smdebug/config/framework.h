#pragma once

// The defaults of a framework: which collections exist, which of them are
// saved, how often, and how reductions are defined. There is one table per
// framework, so that no adapter decides any of it.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "smdebug/config/collection.h"
#include "smdebug/core/statistics.h"

namespace [[gnu::visibility("default")]] smdebug {

struct Framework {
  std::string name;                     // "pytorch"
  std::vector<Collection> collections;  // built in, in order of export
  // Exist only if the user includes them by name. By default the collections
  // file lists the same collections as the original's.
  std::vector<Collection> opt_in_collections;
  // Maps a pattern of `collections` to one that excludes the tensors of the
  // opt-in collections. Replaces it once an opt-in collection exists.
  std::map<std::string, std::string> exclusive_patterns;
  std::vector<std::string> default_saved;  // saved by default
  Step default_save_interval = 500;
  // The divisor of saved `std` and `variance`, as in the framework.
  Deviation deviation = Deviation::population;
  // A saved reduction has shape () if true, otherwise (1,).
  bool reductions_are_0d = false;
  // The name of a saved reduction keeps the ":0" of the tensor's name.
  bool reductions_keep_colon_digits = false;

  /// Returns true for a collection that may exist without patterns or tensor
  /// names: this framework's own, those that other frameworks fill by name, and
  /// those of activations (relu_input, relu_output, tanh_input, sigmoid_input).
  bool knows(std::string_view collection) const;

  /// Returns this framework's collection of that name, opt-in ones included, or
  /// null.
  const Collection* find(std::string_view collection) const;

  /// Returns true for the name of an opt-in collection.
  bool is_opt_in(std::string_view collection) const;
};

/// Returns true for collections of single numbers, such as losses and metrics.
/// They are saved raw and without histogram unless the user configures
/// otherwise.
bool is_scalar_collection(std::string_view name);

/// Returns true for the scalar collections whose tensors TensorBoard shows as
/// numbers: all but `tensorflow_summaries`, which come from its own files.
bool has_scalar_summaries(std::string_view name);

/// Returns true for collections that are saved only in training: gradients and
/// optimizer state do not exist in other modes, where a framework may still
/// show stale ones.
bool is_training_only(std::string_view collection);

/// PyTorch: weights, biases, gradients, losses. Opt-in: buffers,
/// activation_gradients, optimizer_state, learning_rate; and inputs, outputs
/// and labels, which the training loop saves.
const Framework& pytorch_framework();

/// XGBoost: metrics, losses (the metrics that fall as the model improves),
/// hyperparameters, predictions, labels, feature_importance, average_shap,
/// full_shap, trees.
const Framework& xgboost_framework();

/// Gluon of MXNet: weights, biases, gradients, losses, by the names that Gluon
/// gives (`dense0_weight`). The adapter assigns activations.
const Framework& mxnet_framework();

/// TensorFlow and Keras: the adapter knows the kind of each tensor, so only
/// biases are found by name.
const Framework& tensorflow_framework();

/// A hand-written training loop: weights, biases, gradients and losses by name,
/// or as `Session::parameter` and `gradient` assign them, and metrics.
const Framework& plain_framework();

}  // namespace smdebug
