// The data of the report of an XGBoost training as JSON.

#include "smdebug/xgboost_report/xgboost_report.h"

#include "report/json_parts.h"

namespace smdebug {
namespace {

Json to_json(const std::vector<double>& numbers) {
  Json array = Json::Array();
  for (const double number : numbers) array.append(number);
  return array;
}

Json to_json(const std::vector<std::vector<double>>& rows) {
  Json array = Json::Array();
  for (const auto& row : rows) array.append(to_json(row));
  return array;
}

template <typename T>
Json numbers_json(const std::vector<T>& numbers) {
  Json array = Json::Array();
  for (const T number : numbers) array.append(number);
  return array;
}

Json to_json(const ValueBins& bins) {
  return Json::Object{{"edges", to_json(bins.edges)},
                      {"counts", numbers_json(bins.counts)}};
}

Json to_json(const std::vector<XgboostReport::Hyperparameter>& parameters) {
  Json json = Json::Object();
  for (const auto& parameter : parameters)
    json[parameter.name] = parameter.value;
  return json;
}

Json to_json(const XgboostReport::Labels& labels) {
  Json classes = Json::Array();
  for (const auto& [label, count] : labels.classes) {
    classes.append(Json::Object{{"class", label}, {"samples", count}});
  }
  return Json::Object{
      {"round", labels.round},
      {"samples", labels.samples},
      {"left_out", labels.left_out},
      {"classes", std::move(classes)},
      {"bins", labels.bins.edges.empty() ? Json() : to_json(labels.bins)}};
}

Json to_json(const std::vector<XgboostReport::Metric>& metrics) {
  Json json = Json::Array();
  for (const auto& metric : metrics) {
    Json sets = Json::Array();
    for (const auto& line : metric.lines) {
      sets.append(Json::Object{{"set", line.set},
                               {"rounds", numbers_json(line.rounds)},
                               {"values", to_json(line.values)}});
    }
    json.append(Json::Object{{"metric", metric.name},
                             {"larger_is_better", metric.larger_is_better},
                             {"sets", std::move(sets)},
                             {"reading", metric.reading}});
  }
  return json;
}

Json to_json(const std::vector<XgboostReport::Importance>& all) {
  Json json = Json::Array();
  for (const auto& importance : all) {
    Json features = Json::Array();
    for (const auto& feature : importance.features) {
      features.append(
          Json::Object{{"feature", feature.name}, {"value", feature.value}});
    }
    json.append(Json::Object{{"type", importance.type},
                             {"round", importance.round},
                             {"features", std::move(features)}});
  }
  return json;
}

Json to_json(const XgboostReport::Confusion& confusion) {
  Json rows = Json::Array();
  const std::size_t n = confusion.classes.size();
  for (std::size_t row = 0; row < n; ++row) {
    Json counts = Json::Array();
    for (std::size_t column = 0; column < n; ++column) {
      counts.append(confusion.counts[row * n + column]);
    }
    rows.append(std::move(counts));
  }
  return Json::Object{{"round", confusion.round},
                      {"samples", confusion.samples},
                      {"left_out", confusion.left_out},
                      {"classes", numbers_json(confusion.classes)},
                      {"matrix", std::move(rows)},
                      {"cut", confusion.cut}};
}

Json to_json(const XgboostReport::Scores::Triple& triple) {
  return Json::Object{{"precision", triple.precision},
                      {"recall", triple.recall},
                      {"f1", triple.f1}};
}

Json to_json(const XgboostReport::Scores& scores) {
  Json classes = Json::Array();
  for (const auto& of_class : scores.classes) {
    Json json = to_json(of_class.triple);
    json["class"] = of_class.label;
    json["support"] = of_class.support;
    classes.append(std::move(json));
  }
  return Json::Object{{"accuracy", scores.accuracy},
                      {"micro", to_json(scores.micro)},
                      {"macro", to_json(scores.macro)},
                      {"weighted", to_json(scores.weighted)},
                      {"classes", std::move(classes)}};
}

Json to_json(const XgboostReport::ClassAccuracy& accuracy) {
  return Json::Object{{"rounds", numbers_json(accuracy.rounds)},
                      {"classes", numbers_json(accuracy.classes)},
                      {"of_class", to_json(accuracy.accuracy)},
                      {"of_all_samples", to_json(accuracy.share)}};
}

Json to_json(const XgboostReport::Roc& roc) {
  return Json::Object{{"round", roc.round},
                      {"positives", roc.positives},
                      {"negatives", roc.negatives},
                      {"auc", roc.auc},
                      {"false_positive_rate", to_json(roc.false_positive_rate)},
                      {"true_positive_rate", to_json(roc.true_positive_rate)}};
}

Json to_json(const XgboostReport::Residuals& residuals) {
  return Json::Object{{"round", residuals.round},
                      {"samples", residuals.samples},
                      {"left_out", residuals.left_out},
                      {"mean", residuals.mean},
                      {"standard_deviation", residuals.standard_deviation},
                      {"median", residuals.median},
                      {"mean_absolute", residuals.mean_absolute},
                      {"root_mean_square", residuals.root_mean_square},
                      {"bins", to_json(residuals.bins)}};
}

Json to_json(const XgboostReport::BinnedErrors& errors) {
  return Json::Object{{"labels", to_json(errors.labels)},
                      {"rounds", numbers_json(errors.rounds)},
                      {"mean_absolute_error", to_json(errors.errors)}};
}

template <typename T>
Json section_json(const ReportSection<T>& section) {
  if (section.shown) return to_json(*section.shown);
  return Json::Object{{"missing", section.missing}};
}

}  // namespace

std::string xgboost_report_json(const XgboostReport& report) {
  Json json;
  json["version"] = 1;
  json["run"] = report.overview.location;
  json["created"] = report.created_seconds;
  json["ended"] = report.overview.has_ended;
  json["saved_rounds"] = report.overview.steps;
  json["task"] = task_name(report.task);
  json["task_reason"] = report.task_reason;
  json["prediction_rounds"] = report.prediction_rounds;
  json["evaluated_rounds"] = report.evaluated_rounds;
  json["left_out"] = Json::Array();
  for (const Damage& damage : report.left_out) {
    json["left_out"].append(
        Json::Object{{"tensor", damage.key}, {"what", damage.what}});
  }
  json["hyperparameters"] = section_json(report.hyperparameters);
  json["labels"] = section_json(report.labels);
  json["metrics"] = section_json(report.metrics);
  json["feature_importance"] = section_json(report.importance);
  json["confusion_matrix"] = section_json(report.confusion);
  json["evaluation"] = section_json(report.scores);
  json["class_accuracy"] = section_json(report.class_accuracy);
  json["roc"] = section_json(report.roc);
  json["residuals"] = section_json(report.residuals);
  json["error_by_label"] = section_json(report.binned_errors);
  return json.dump(JsonStyle::indented) + "\n";
}

}  // namespace smdebug
