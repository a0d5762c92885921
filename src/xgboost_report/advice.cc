#include "xgboost_report/advice.h"

#include <string_view>

#include <fmt/format.h>

#include "smdebug/rules/capture_request.h"

namespace smdebug {
namespace {

constexpr std::string_view kFolds =
    "xgboost.cv trains one model per fold; its runs have only metrics and "
    "hyperparameters.";

// Whether `smdebug run` recorded the run, for a script without a hook.
bool is_launched(const XgboostReport& report) {
  return report.overview.attempt &&
         report.overview.attempt->environment.contains(kCaptureRequestVariable);
}

std::string not_saved(const XgboostReport& report, std::string_view what,
                      std::string_view collection) {
  if (is_launched(report)) {
    return fmt::format(
        "{} not saved. Save the collection '{}': smdebug run --rule "
        "CreateXgboostReport -- python train.py",
        what, collection);
  }
  return fmt::format(
      "{} not saved. Save the collection '{}': smdebug.xgboost.Hook(..., "
      "include_collections=['{}'], save_config=SaveConfig(save_interval=5)).",
      what, collection, collection);
}

// Labels and predictions under `smdebug run`.
std::string samples_not_saved(std::string_view what) {
  return fmt::format(
      "{} not saved. 'smdebug run' saves the collections 'labels' and "
      "'predictions' of the last evaluation set that is not the training set. "
      "Pass such a set to the training (evals of xgboost.train, eval_set of "
      "fit). If it is large, or if you use --rule, record the training with: "
      "smdebug run --rule CreateXgboostReport -- python train.py",
      what);
}

}  // namespace

std::string hyperparameters_not_saved(const XgboostReport& report) {
  const std::string text =
      not_saved(report, "The hyperparameters were", "hyperparameters");
  if (is_launched(report)) return text;
  return text + " Pass them to the hook as hyperparameters=params.";
}

std::string labels_not_saved(const XgboostReport& report) {
  if (report.is_of_folds) return std::string(kFolds);
  if (is_launched(report)) return samples_not_saved("Labels were");
  return not_saved(report, "Labels were", "labels") +
         " The hook saves it for the data passed as validation_data.";
}

std::string metrics_not_saved(const XgboostReport& report) {
  if (is_launched(report)) {
    return "Evaluation metrics (collection 'metrics') were not saved. XGBoost "
           "computes them on evaluation sets: pass evals to xgboost.train, or "
           "eval_set to fit.";
  }
  return not_saved(report, "Evaluation metrics were", "metrics") +
         " XGBoost computes them on the sets passed as evals.";
}

std::string importance_not_saved(const XgboostReport& report) {
  if (report.is_of_folds) return std::string(kFolds);
  return not_saved(report, "The feature importance was", "feature_importance");
}

std::string predictions_not_saved(const XgboostReport& report,
                                  bool has_predictions) {
  if (report.is_of_folds) return std::string(kFolds);
  const std::string_view what =
      has_predictions ? "Labels were" : "Predictions were";
  if (is_launched(report)) return samples_not_saved(what);
  return fmt::format(
      "{} not saved. This section compares predictions with labels: save both "
      "collections, 'predictions' and 'labels': smdebug.xgboost.Hook(..., "
      "validation_data=dvalid, include_collections=['predictions', 'labels'], "
      "save_config=SaveConfig(save_interval=5)).",
      what);
}

}  // namespace smdebug
