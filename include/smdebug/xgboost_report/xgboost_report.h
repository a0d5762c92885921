#pragma once

// The report of an XGBoost training, equivalent to the cloud's rule
// CreateXgboostReport: labels, metrics, feature importance, and the quality of
// predictions. `smdebug report` and the rule produce the same report.
//
// It reads the collections `metrics`, `losses`, `feature_importance`,
// `hyperparameters`, `labels` and `predictions` under XGBoost's names. Missing
// data are skipped, with a message that names the collection to save.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "smdebug/base/result.h"
#include "smdebug/core/mode.h"
#include "smdebug/monitor/rule_report.h"
#include "smdebug/read/trial.h"
#include "smdebug/report/run_overview.h"

namespace [[gnu::visibility("default")]] smdebug {

// The data of a section, or the reason why there are none.
template <typename T>
struct ReportSection {
  std::optional<T> shown;
  std::string missing;  // messages; empty if `shown` is set
};

// Numbers counted in bins of equal width. The last bin includes its upper edge,
// as in numpy.histogram.
struct ValueBins {
  std::vector<double> edges;  // ascending, one more than `counts`
  std::vector<std::uint64_t> counts;
};

struct XgboostReport {
  enum class Task { unknown, binary, multiclass, regression };

  struct Hyperparameter {
    std::string name;
    std::string value;
  };

  struct Labels {
    Step round = 0;
    std::uint64_t samples = 0;
    std::uint64_t left_out = 0;  // not finite
    // For classification: the classes, ascending, with their counts.
    std::vector<std::pair<std::int64_t, std::uint64_t>> classes;
    ValueBins bins;  // otherwise
  };

  // One metric on every evaluation set for which it was computed.
  struct Metric {
    struct Line {
      std::string set;  // "train", "validation"
      std::vector<Step> rounds;
      std::vector<double> values;  // one per round; may be NaN
    };
    std::string name;  // "logloss"
    bool larger_is_better = false;
    bool is_deviation = false;  // over the folds of xgboost.cv
    std::vector<Line> lines;
    std::string reading;  // assessment of over- and under-fitting
  };

  // The features of the last saved round, the most important first.
  struct Importance {
    struct Feature {
      std::string name;
      double value = 0;
    };
    std::string type;  // "weight", "gain", "cover", ...
    Step round = 0;
    std::vector<Feature> features;
  };

  // Rows are true classes, columns predicted ones; both as in `classes`.
  struct Confusion {
    Step round = 0;
    std::uint64_t samples = 0;
    std::uint64_t left_out = 0;
    std::vector<std::int64_t> classes;  // that occur, ascending
    std::vector<std::uint64_t> counts;  // row by row
    std::string cut;                    // how predictions became classes
  };

  // Precision, recall and F1 are 0 if their denominator is 0.
  struct Scores {
    struct Triple {
      double precision = 0;
      double recall = 0;
      double f1 = 0;
    };
    struct OfClass {
      std::int64_t label = 0;
      Triple triple;
      std::uint64_t support = 0;  // samples that are of this class
    };
    double accuracy = 0;
    Triple micro;
    Triple macro;
    Triple weighted;
    std::vector<OfClass> classes;
  };

  struct ClassAccuracy {
    std::vector<Step> rounds;
    std::vector<std::int64_t> classes;
    // By class, one number per round: the diagonal of the confusion matrix over
    // the samples of that class, and over all samples. NaN if the class has no
    // sample.
    std::vector<std::vector<double>> accuracy;
    std::vector<std::vector<double>> share;
  };

  struct Roc {
    Step round = 0;
    std::uint64_t positives = 0;
    std::uint64_t negatives = 0;
    double auc = 0;
    // From (0, 0) to (1, 1). At most 1000 points; the area uses all.
    std::vector<double> false_positive_rate;
    std::vector<double> true_positive_rate;
  };

  // Prediction minus truth.
  struct Residuals {
    Step round = 0;
    std::uint64_t samples = 0;
    std::uint64_t left_out = 0;
    ValueBins bins;
    double mean = 0;
    double standard_deviation = 0;  // of the population
    double median = 0;
    double mean_absolute = 0;
    double root_mean_square = 0;
  };

  // The mean of |prediction - truth| for samples with labels in a bin.
  struct BinnedErrors {
    ValueBins labels;  // of the last round
    std::vector<Step> rounds;
    // By bin, one number per round. NaN if the bin has no sample.
    std::vector<std::vector<double>> errors;
  };

  RunOverview overview;
  double created_seconds = 0;  // since the epoch
  bool is_of_folds = false;    // of xgboost.cv
  Task task = Task::unknown;
  std::string task_reason;  // what the task was inferred from
  // Saved rounds with predictions, and how many were evaluated.
  std::uint64_t prediction_rounds = 0;
  std::uint64_t evaluated_rounds = 0;
  std::vector<Damage> left_out;  // tensors that could not be read

  ReportSection<std::vector<Hyperparameter>> hyperparameters;
  ReportSection<Labels> labels;
  ReportSection<std::vector<Metric>> metrics;
  ReportSection<std::vector<Importance>> importance;
  ReportSection<Confusion> confusion;
  ReportSection<Scores> scores;
  ReportSection<ClassAccuracy> class_accuracy;
  ReportSection<Roc> roc;
  ReportSection<Residuals> residuals;
  ReportSection<BinnedErrors> binned_errors;
};

/// Returns "unknown", "binary", "multiclass" or "regression".
std::string_view task_name(XgboostReport::Task task);

/// Checks that the run, shown as `run`, is one of XGBoost: recorded with it, or
/// with tensors of XGBoost's names if no framework is recorded, as in runs of
/// the original. Fails with `unsupported` for a run of another framework, and
/// with `not_found` for one without such tensors.
Status check_xgboost_run(Trial& trial, std::string_view run);

/// Checks only the names of the tensors, whatever has recorded them. Fails
/// with `not_found`.
Status check_xgboost_tensors(Trial& trial, std::string_view run);

/// Reads the report; `now_seconds` is the time that it shows. The report of a
/// run without XGBoost data has only missing sections. Fails with `io`; damage
/// is part of the report.
Result<XgboostReport> read_xgboost_report(Trial& trial, double now_seconds);

/// Returns the data of the report as a JSON object, indented. Missing data are
/// listed under "missing".
std::string xgboost_report_json(const XgboostReport& report);

/// Returns one self-contained HTML file with inline plots, without scripts or
/// network access.
std::string xgboost_report_html(const XgboostReport& report);

/// Returns the HTML page and its data, in this order. The keys are
/// "rule-output/CreateXgboostReport/xgboost_report.html" and ".json".
std::vector<ReportFile> xgboost_report_files(const XgboostReport& report);

// The report of CreateXgboostReport, for `RunMonitorOptions::reports`.
extern const RuleReport kXgboostRuleReport;

}  // namespace smdebug
