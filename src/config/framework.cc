#include "smdebug/config/framework.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

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

std::vector<Collection> collections(const std::vector<BuiltIn>& built_in) {
  std::vector<Collection> collections;
  for (const auto& [name, pattern] : built_in) {
    Collection& collection = collections.emplace_back();
    collection.tensors.name = name;
    if (!pattern.empty()) collection.tensors.include_regex = {pattern};
    collection.save_histogram = !is_scalar_collection(name);
  }
  return collections;
}

// PyTorch and Gluon use the same names for parameters and gradients.
constexpr const char* kWeights = "^(?!gradient).*weight";
constexpr const char* kBiases = "^(?!gradient).*bias";
constexpr const char* kGradients = "^gradient";

constexpr const char* kTorchLosses = "[Ll]oss_(?!input).*output";
// Begins the patterns of weights and biases that exclude opt-in collections.
constexpr const char* kTorchParameter =
    "^(?!gradient|buffer/|optimizer_state/|activation_gradient/)";

// Begins the patterns of evaluation results, which XGBoost names
// `<evaluation set>-<metric>`. Names of features may contain a dash as well,
// but follow one of these prefixes.
constexpr const char* kNoFeature =
    "^(?!(?:hyperparameters|feature_importance|average_shap|full_shap|trees|"
    "scalar)/)";
// Excludes the metrics that are not losses: those that rise as the model
// improves, and standard deviations over folds.
constexpr const char* kNoScore =
    "(?!.*(?:auc|aucpr|map|ndcg|-pre|accuracy|score)(?:@[^-]*)?-?$)"
    "(?!.*-std$)";

// The names of hand-written loops. A loss has the word in its name, as in
// "loss", "scalar/train_loss", "Loss/test" and "CrossEntropyLoss_output_0".
constexpr const char* kPlainLosses =
    "^(?!gradient|buffer/|optimizer_state/|activation_gradient/)"
    "(?:.*[^A-Za-z])?(?:[A-Za-z]*L|l)oss(?:es)?(?![A-Za-z])"
    "(?!.*(?:input|weight|bias|scale))";

Framework make_pytorch() {
  Framework pytorch;
  pytorch.name = "pytorch";
  pytorch.collections = collections({{"weights", kWeights},
                                     {"biases", kBiases},
                                     {"gradients", kGradients},
                                     {"losses", kTorchLosses},
                                     {"all"},
                                     {"default"}});
  pytorch.opt_in_collections =
      collections({{"buffers", "^buffer/"},
                   {"optimizer_state", "^optimizer_state/"},
                   {"learning_rate", "^learning_rate/"},
                   {"activation_gradients", "^activation_gradient/"},
                   {"inputs"},
                   {"outputs"},
                   {"labels"}});
  pytorch.exclusive_patterns = {
      {kWeights, fmt::format("{}.*weight", kTorchParameter)},
      {kBiases, fmt::format("{}.*bias", kTorchParameter)},
      {kTorchLosses,
       fmt::format("^(?!activation_gradient/).*{}", kTorchLosses)}};
  pytorch.default_saved = {"losses"};
  pytorch.deviation = Deviation::sample;
  pytorch.reductions_are_0d = true;
  return pytorch;
}

Framework make_xgboost() {
  Framework xgboost;
  xgboost.name = "xgboost";
  xgboost.collections =
      collections({{"metrics", fmt::format("{}.+-.+$", kNoFeature)},
                   {"losses", fmt::format("{}{}.+-.+$", kNoFeature, kNoScore)},
                   {"hyperparameters", "^hyperparameters/.*$"},
                   {"predictions", "^predictions$"},
                   {"labels", "^labels$"},
                   {"feature_importance", "^feature_importance/.*"},
                   {"average_shap", "^average_shap/"},
                   {"full_shap", "^full_shap/"},
                   {"trees", "^trees/.*"},
                   {"all"},
                   {"default"}});
  xgboost.default_saved = {"metrics"};
  xgboost.default_save_interval = 10;
  return xgboost;
}

Framework make_mxnet() {
  Framework mxnet;
  mxnet.name = "mxnet";
  mxnet.collections = collections({{"weights", kWeights},
                                   {"biases", kBiases},
                                   {"gradients", kGradients},
                                   {"losses", ".*loss._(?!input).*output"},
                                   {"all"},
                                   {"default"}});
  mxnet.default_saved = {"losses"};
  return mxnet;
}

Framework make_tensorflow() {
  Framework tensorflow;
  tensorflow.name = "tensorflow";
  tensorflow.collections = collections({{"all"},
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
                                        {"optimizer_variables"}});
  tensorflow.default_saved = {"metrics", "losses", "sm_metrics"};
  tensorflow.reductions_keep_colon_digits = true;
  return tensorflow;
}

Framework make_plain() {
  Framework plain;
  plain.name = "plain";
  plain.collections =
      collections({{"weights", fmt::format("{}.*weight", kTorchParameter)},
                   {"biases", fmt::format("{}.*bias", kTorchParameter)},
                   {"gradients", kGradients},
                   {"losses", kPlainLosses},
                   {"metrics"},
                   {"all"},
                   {"default"}});
  plain.default_saved = {"losses"};
  return plain;
}

}  // namespace

// --- the frameworks ---

// Frameworks are never destroyed, because sessions may end after main().

const Framework& pytorch_framework() {
  static const auto& pytorch = *new Framework(make_pytorch());
  return pytorch;
}

const Framework& xgboost_framework() {
  static const auto& xgboost = *new Framework(make_xgboost());
  return xgboost;
}

const Framework& mxnet_framework() {
  static const auto& mxnet = *new Framework(make_mxnet());
  return mxnet;
}

const Framework& tensorflow_framework() {
  static const auto& tensorflow = *new Framework(make_tensorflow());
  return tensorflow;
}

const Framework& plain_framework() {
  static const auto& plain = *new Framework(make_plain());
  return plain;
}

// --- questions about collections ---

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

}  // namespace smdebug
