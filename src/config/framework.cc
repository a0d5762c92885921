#include "smdebug/config/framework.h"

#include <algorithm>
#include <array>
#include <utility>

namespace smdebug {
namespace {

constexpr std::array<std::string_view, 7> kScalarCollections = {
    "losses",     "metrics",       "feature_importance",  "average_shap",
    "sm_metrics", "learning_rate", "tensorflow_summaries"};

// Filled by adapters that recognize activation modules.
constexpr std::array<std::string_view, 4> kActivationCollections = {
    "relu_input", "relu_output", "tanh_input", "sigmoid_input"};

// The name of a collection, and the pattern that its tensors match; empty: the
// adapter or the user assigns them.
struct BuiltIn {
  const char* name;
  std::string pattern = {};
};

std::vector<Collection> make_collections(const std::vector<BuiltIn>& built_in) {
  std::vector<Collection> collections;
  for (const auto& [name, pattern] : built_in) {
    Collection& collection = collections.emplace_back();
    collection.tensors.name = name;
    if (!pattern.empty()) collection.tensors.include_regex = {pattern};
    collection.save_histogram = !is_scalar_collection(name);
  }
  return collections;
}

// A framework with the defaults of `Framework`; callers set other fields.
Framework make_framework(std::string name,
                         const std::vector<BuiltIn>& collections,
                         std::vector<std::string> default_saved = {"losses"}) {
  Framework framework;
  framework.name = std::move(name);
  framework.collections = make_collections(collections);
  framework.default_saved = std::move(default_saved);
  return framework;
}

// PyTorch and Gluon use the same names for parameters and gradients.
constexpr const char* kWeights = "^(?!gradient).*weight";
constexpr const char* kBiases = "^(?!gradient).*bias";
constexpr const char* kGradients = "^gradient";

Framework make_pytorch() {
  constexpr const char* kLosses = "[Ll]oss_(?!input).*output";
  Framework pytorch = make_framework("pytorch", {{"weights", kWeights},
                                                 {"biases", kBiases},
                                                 {"gradients", kGradients},
                                                 {"losses", kLosses},
                                                 {"all"},
                                                 {"default"}});
  pytorch.opt_in_collections =
      make_collections({{"buffers", "^buffer/"},
                        {"optimizer_state", "^optimizer_state/"},
                        {"learning_rate", "^learning_rate/"},
                        {"activation_gradients", "^activation_gradient/"},
                        {"inputs"},
                        {"outputs"},
                        {"labels"}});
  const std::string parameter =
      "^(?!gradient|buffer/|optimizer_state/|activation_gradient/)";
  pytorch.exclusive_patterns = {
      {kWeights, parameter + ".*weight"},
      {kBiases, parameter + ".*bias"},
      {kLosses, std::string("^(?!activation_gradient/).*") + kLosses}};
  pytorch.deviation = Deviation::sample;
  pytorch.reductions_are_0d = true;
  return pytorch;
}

Framework make_xgboost() {
  // Evaluation results are named `<evaluation set>-<metric>`. Names of features
  // may contain a dash as well, but follow one of these prefixes.
  const std::string no_feature =
      "^(?!(?:hyperparameters|feature_importance|average_shap|full_shap|trees|"
      "scalar)/)";
  // Metrics that rise as the model improves are not losses, nor are standard
  // deviations over folds.
  const std::string no_score =
      "(?!.*(?:auc|aucpr|map|ndcg|-pre|accuracy|score)(?:@[^-]*)?-?$)"
      "(?!.*-std$)";
  Framework xgboost =
      make_framework("xgboost",
                     {{"metrics", no_feature + ".+-.+$"},
                      {"losses", no_feature + no_score + ".+-.+$"},
                      {"hyperparameters", "^hyperparameters/.*$"},
                      {"predictions", "^predictions$"},
                      {"labels", "^labels$"},
                      {"feature_importance", "^feature_importance/.*"},
                      {"average_shap", "^average_shap/"},
                      {"full_shap", "^full_shap/"},
                      {"trees", "^trees/.*"},
                      {"all"},
                      {"default"}},
                     {"metrics"});
  xgboost.default_save_interval = 10;
  return xgboost;
}

Framework make_mxnet() {
  return make_framework("mxnet", {{"weights", kWeights},
                                  {"biases", kBiases},
                                  {"gradients", kGradients},
                                  {"losses", ".*loss._(?!input).*output"},
                                  {"all"},
                                  {"default"}});
}

Framework make_tensorflow() {
  Framework tensorflow = make_framework("tensorflow",
                                        {{"all"},
                                         {"default"},
                                         {"weights"},
                                         {"biases", kBiases},
                                         {"gradients"},
                                         {"losses"},
                                         {"metrics"},
                                         {"inputs"},
                                         {"outputs"},
                                         {"layers"},
                                         {"sm_metrics"},
                                         {"optimizer_variables"}},
                                        {"metrics", "losses", "sm_metrics"});
  tensorflow.reductions_keep_colon_digits = true;
  return tensorflow;
}

Framework make_plain() {
  return make_framework("plain", {{"weights"},
                                  {"biases"},
                                  {"gradients"},
                                  {"losses"},
                                  {"metrics"},
                                  {"all"},
                                  {"default"}});
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
  for (const auto* list : {&collections, &opt_in_collections}) {
    const auto found = std::ranges::find(*list, collection, &Collection::name);
    if (found != list->end()) return &*found;
  }
  return nullptr;
}

bool Framework::is_opt_in(std::string_view collection) const {
  return std::ranges::find(opt_in_collections, collection, &Collection::name) !=
         opt_in_collections.end();
}

bool is_scalar_collection(std::string_view name) {
  return std::find(kScalarCollections.begin(), kScalarCollections.end(),
                   name) != kScalarCollections.end();
}

bool has_scalar_summaries(std::string_view name) {
  return is_scalar_collection(name) && name != "tensorflow_summaries";
}

// Never destroyed, because sessions may end after main().
const Framework& pytorch_framework() {
  static const Framework& pytorch = *new Framework(make_pytorch());
  return pytorch;
}

const Framework& xgboost_framework() {
  static const Framework& xgboost = *new Framework(make_xgboost());
  return xgboost;
}

const Framework& mxnet_framework() {
  static const Framework& mxnet = *new Framework(make_mxnet());
  return mxnet;
}

const Framework& tensorflow_framework() {
  static const Framework& tensorflow = *new Framework(make_tensorflow());
  return tensorflow;
}

const Framework& plain_framework() {
  static const Framework& plain = *new Framework(make_plain());
  return plain;
}

}  // namespace smdebug
