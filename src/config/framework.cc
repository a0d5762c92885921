#include "smdebug/config/framework.h"

#include <algorithm>
#include <array>
#include <utility>

namespace smdebug {
namespace {

constexpr std::array<std::string_view, 7> kScalarCollections = {
    "losses",     "metrics",       "feature_importance",  "average_shap",
    "sm_metrics", "learning_rate", "tensorflow_summaries"};

// An adapter that knows its modules by kind fills these.
constexpr std::array<std::string_view, 4> kActivationCollections = {
    "relu_input", "relu_output", "tanh_input", "sigmoid_input"};

Collection built_in(std::string name, std::vector<std::string> include_regex) {
  Collection collection;
  collection.save_histogram = !is_scalar_collection(name);
  collection.tensors.name = std::move(name);
  collection.tensors.include_regex = std::move(include_regex);
  return collection;
}

}  // namespace

bool is_training_only(std::string_view collection) {
  return collection == "gradients" || collection == "optimizer_variables" ||
         collection == "optimizer_state" ||
         collection == "activation_gradients";
}

bool Framework::knows(std::string_view collection) const {
  return collection == "all" || collection == "default" ||
         is_scalar_collection(collection) || is_training_only(collection) ||
         std::ranges::find(kActivationCollections, collection) !=
             kActivationCollections.end() ||
         find(collection) != nullptr;
}

const Collection* Framework::find(std::string_view collection) const {
  for (const auto* list : {&collections, &further_collections}) {
    const auto found = std::ranges::find(*list, collection, &Collection::name);
    if (found != list->end()) return &*found;
  }
  return nullptr;
}

bool Framework::is_further(std::string_view collection) const {
  return std::ranges::find(further_collections, collection,
                           &Collection::name) != further_collections.end();
}

bool is_scalar_collection(std::string_view name) {
  return std::find(kScalarCollections.begin(), kScalarCollections.end(),
                   name) != kScalarCollections.end();
}

bool has_scalar_summaries(std::string_view name) {
  return is_scalar_collection(name) && name != "tensorflow_summaries";
}

const Framework& pytorch_framework() {
  static const Framework& framework = *new Framework{
      .name = "pytorch",
      .collections =
          {
              built_in("weights", {"^(?!gradient).*weight"}),
              built_in("biases", {"^(?!gradient).*bias"}),
              built_in("gradients", {"^gradient"}),
              built_in("losses", {"[Ll]oss_(?!input).*output"}),
              built_in("all", {}),
              built_in("default", {}),
          },
      .further_collections =
          {
              built_in("buffers", {"^buffer/"}),
              built_in("optimizer_state", {"^optimizer_state/"}),
              built_in("learning_rate", {"^learning_rate/"}),
              built_in("activation_gradients", {"^activation_gradient/"}),
              built_in("inputs", {}),
              built_in("outputs", {}),
              built_in("labels", {}),
          },
      .narrowed =
          {
              {"^(?!gradient).*weight",
               "^(?!gradient|buffer/|optimizer_state/|activation_gradient/)"
               ".*weight"},
              {"^(?!gradient).*bias",
               "^(?!gradient|buffer/|optimizer_state/|activation_gradient/)"
               ".*bias"},
              {"[Ll]oss_(?!input).*output",
               "^(?!activation_gradient/).*[Ll]oss_(?!input).*output"},
          },
      .default_saved = {"losses"},
      .default_save_interval = 500,
      .deviation = Deviation::sample,
      .reductions_are_0d = true,
  };
  return framework;
}

const Framework& xgboost_framework() {
  // Evaluation results are named `<evaluation set>-<metric>`; features, whose
  // names may hold a dash too, stand behind one of these.
  const std::string no_feature =
      "^(?!(?:hyperparameters|feature_importance|average_shap|full_shap|trees|"
      "scalar)/)";
  static const Framework& framework = *new Framework{
      .name = "xgboost",
      .collections =
          {
              built_in("metrics", {no_feature + ".+-.+$"}),
              // What is better when it is higher is no loss, nor is a standard
              // deviation over folds.
              built_in("losses",
                       {no_feature +
                        "(?!.*(?:auc|aucpr|map|ndcg|-pre|accuracy|score)"
                        "(?:@[^-]*)?-?$)(?!.*-std$).+-.+$"}),
              built_in("hyperparameters", {"^hyperparameters/.*$"}),
              built_in("predictions", {"^predictions$"}),
              built_in("labels", {"^labels$"}),
              built_in("feature_importance", {"^feature_importance/.*"}),
              built_in("average_shap", {"^average_shap/"}),
              built_in("full_shap", {"^full_shap/"}),
              built_in("trees", {"^trees/.*"}),
              built_in("all", {}),
              built_in("default", {}),
          },
      .further_collections = {},
      .narrowed = {},
      .default_saved = {"metrics"},
      .default_save_interval = 10,
      .deviation = Deviation::population,
      .reductions_are_0d = false,
  };
  return framework;
}

const Framework& mxnet_framework() {
  static const Framework& framework = *new Framework{
      .name = "mxnet",
      .collections =
          {
              built_in("weights", {"^(?!gradient).*weight"}),
              built_in("biases", {"^(?!gradient).*bias"}),
              built_in("gradients", {"^gradient"}),
              built_in("losses", {".*loss._(?!input).*output"}),
              built_in("all", {}),
              built_in("default", {}),
          },
      .further_collections = {},
      .narrowed = {},
      .default_saved = {"losses"},
      .default_save_interval = 500,
      .deviation = Deviation::population,
      .reductions_are_0d = false,
  };
  return framework;
}

const Framework& tensorflow_framework() {
  static const Framework& framework = *new Framework{
      .name = "tensorflow",
      .collections =
          {
              built_in("all", {}),
              built_in("default", {}),
              built_in("weights", {}),
              built_in("biases", {"^(?!gradient).*bias"}),
              built_in("gradients", {}),
              built_in("losses", {}),
              built_in("metrics", {}),
              built_in("inputs", {}),
              built_in("outputs", {}),
              built_in("layers", {}),
              built_in("sm_metrics", {}),
              built_in("optimizer_variables", {}),
          },
      .further_collections = {},
      .narrowed = {},
      .default_saved = {"metrics", "losses", "sm_metrics"},
      .default_save_interval = 500,
      .deviation = Deviation::population,
      .reductions_are_0d = false,
      .reductions_keep_colon_digits = true,
  };
  return framework;
}

const Framework& plain_framework() {
  static const Framework& framework = *new Framework{
      .name = "plain",
      .collections =
          {
              built_in("weights", {}),
              built_in("biases", {}),
              built_in("gradients", {}),
              built_in("losses", {}),
              built_in("metrics", {}),
              built_in("all", {}),
              built_in("default", {}),
          },
      .further_collections = {},
      .narrowed = {},
      .default_saved = {"losses"},
      .default_save_interval = 500,
      .deviation = Deviation::population,
      .reductions_are_0d = false,
  };
  return framework;
}

}  // namespace smdebug
