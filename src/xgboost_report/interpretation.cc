#include "xgboost_report/interpretation.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "report/wording.h"

namespace smdebug {
namespace {

using Task = XgboostReport::Task;

// More distinct labels than this are assumed to be counts of something.
constexpr std::size_t kMostLabelClasses = 100;

Task task_of_objective(std::string_view objective) {
  if (objective.starts_with("binary:")) return Task::binary;
  if (objective.starts_with("multi:")) return Task::multiclass;
  for (const std::string_view kind : {"reg:", "count:", "survival:", "rank:"}) {
    if (objective.starts_with(kind)) return Task::regression;
  }
  return Task::unknown;
}

bool is_one_of(std::string_view metric,
               std::initializer_list<std::string_view> names) {
  const std::string_view name = metric.substr(0, metric.find('@'));
  return std::ranges::find(names, name) != names.end();
}

// Considers only metrics that belong to a single task.
Task task_of_metric(std::string_view metric) {
  if (is_one_of(metric, {"mlogloss", "merror"})) return Task::multiclass;
  if (is_one_of(metric, {"logloss", "error"})) return Task::binary;
  if (is_one_of(metric,
                {"rmse", "rmsle", "mae", "mape", "mphe", "poisson-nloglik",
                 "gamma-nloglik", "gamma-deviance", "tweedie-nloglik",
                 "cox-nloglik", "aft-nloglik", "quantile"})) {
    return Task::regression;
  }
  return Task::unknown;
}

InferredTask by_labels(const std::vector<double>& labels) {
  const std::set<double> classes(labels.begin(), labels.end());
  if (*classes.begin() < 0 || classes.size() > kMostLabelClasses) {
    return {Task::regression,
            fmt::format("the labels have {} different values from {:g} to {:g}",
                        classes.size(), *classes.begin(), *classes.rbegin())};
  }
  if (*classes.rbegin() <= 1) {
    return {Task::binary, "every label is 0 or 1"};
  }
  return {
      Task::multiclass,
      fmt::format("the labels are {} different integers, none of them negative",
                  classes.size())};
}

}  // namespace

std::string_view task_name(Task task) {
  switch (task) {
    case Task::binary:
      return "binary";
    case Task::multiclass:
      return "multiclass";
    case Task::regression:
      return "regression";
    case Task::unknown:
      break;
  }
  return "unknown";
}

InferredTask infer_task(const TaskEvidence& evidence) {
  if (const Task task = task_of_objective(evidence.objective);
      task != Task::unknown) {
    return {task, fmt::format("the objective is '{}'", evidence.objective)};
  }
  const auto fraction = std::ranges::find_if(
      evidence.labels, [](double label) { return label != std::floor(label); });
  if (fraction != evidence.labels.end()) {
    return {Task::regression,
            fmt::format("the label {:g} is not an integer", *fraction)};
  }
  for (const std::string& metric : evidence.metrics) {
    const Task task = task_of_metric(metric);
    if (task != Task::unknown) {
      return {task, fmt::format("'{}' is a metric", metric)};
    }
  }
  if (evidence.prediction_columns > 1) {
    return {Task::multiclass,
            fmt::format("each prediction is a row of {} numbers",
                        evidence.prediction_columns)};
  }
  if (!evidence.labels.empty()) return by_labels(evidence.labels);
  return {
      Task::unknown,
      "no objective, no labels and no metric that implies a task were saved"};
}

namespace {

// The default ratio_threshold of the rule Overfit.
constexpr double kGap = 0.1;
// A validation metric counts as worse than its best beyond this difference.
constexpr double kWorse = 0.02;
// An improvement over the last tenth of the rounds that suggests more to come.
constexpr double kStillImproving = 0.01;

struct Point {
  Step round = 0;
  double training = 0;  // the smaller, the better
  double validation = 0;
};

using Line = XgboostReport::Metric::Line;

const Line* find_line(const XgboostReport::Metric& metric,
                      const LossRoles& roles, LossRole::Part part) {
  for (const Line& line : metric.lines) {
    const auto role = roles.in_xgboost(line.set + "-" + metric.name);
    // A set with any other name is a validation set.
    if ((role ? role->part : LossRole::Part::validation) == part) return &line;
  }
  return nullptr;
}

std::vector<Point> common_points(const Line& training, const Line& validation,
                                 bool larger_is_better) {
  const double sign = larger_is_better ? -1 : 1;
  std::vector<Point> points;
  for (std::size_t i = 0, j = 0;
       i < training.rounds.size() && j < validation.rounds.size();) {
    if (training.rounds[i] < validation.rounds[j]) {
      ++i;
    } else if (training.rounds[i] > validation.rounds[j]) {
      ++j;
    } else {
      points.push_back({training.rounds[i], sign * training.values[i],
                        sign * validation.values[j]});
      ++i;
      ++j;
    }
  }
  return points;
}

// Returns how much worse `now` is than `then`, as a fraction of `then`.
double worsening(double then, double now) {
  return (now - then) / std::max(std::abs(then), 1e-12);
}

std::string percent(double part) { return fmt::format("{:.3g} %", 100 * part); }

const Point* first_not_finite(const std::vector<Point>& points) {
  const auto found = std::ranges::find_if(points, [](const Point& point) {
    return !std::isfinite(point.training) || !std::isfinite(point.validation);
  });
  return found == points.end() ? nullptr : &*found;
}

// The index of the point that is a tenth of the points before the last one.
std::size_t a_tenth_before(std::size_t points) {
  return points - 1 - std::max<std::size_t>(1, points / 10);
}

// Empty if the validation set is not clearly worse than at its best, or the
// training set did not improve since.
std::string overfitting_text(const std::vector<Point>& points,
                             const Line& training, const Line& validation,
                             bool larger_is_better) {
  const Point& last = points.back();
  const Point& best = *std::ranges::min_element(points, {}, &Point::validation);
  const double sign = larger_is_better ? -1 : 1;
  const double worse = worsening(best.validation, last.validation);
  if (worse > kWorse && last.training < best.training) {
    return fmt::format(
        "Overfitting: {} was best at round {} ({}) and is {} worse at round "
        "{}, while {} kept improving. Stop near that round "
        "(early_stopping_rounds), or regularize.",
        validation.set, best.round, number_text(sign * best.validation),
        percent(worse), last.round, training.set);
  }
  return "";
}

std::string history_text(const std::vector<Point>& points, const Line& training,
                         const Line& validation, bool larger_is_better) {
  std::string overfitting =
      overfitting_text(points, training, validation, larger_is_better);
  if (!overfitting.empty()) return overfitting;
  const Point& last = points.back();
  const double gap = worsening(last.training, last.validation);
  const Point& before = points[a_tenth_before(points.size())];
  const double gain = -worsening(before.validation, last.validation);
  if (gap > kGap && gain > kStillImproving) {
    return fmt::format(
        "{} is {} worse than {} at round {}, but was still improving ({} since "
        "round {}): more rounds still help. Stop when it no longer improves "
        "(early_stopping_rounds).",
        validation.set, percent(gap), training.set, last.round, percent(gain),
        before.round);
  }
  if (gap > kGap) {
    return fmt::format(
        "{} is {} worse than {} at round {}: a gap of more than {} indicates "
        "overfitting.",
        validation.set, percent(gap), training.set, last.round, percent(kGap));
  }
  std::string text = fmt::format(
      "{} and {} are within {} of each other at round {}: no sign of "
      "overfitting in this metric.",
      training.set, validation.set, percent(kGap), last.round);
  if (gain > kStillImproving) {
    text += fmt::format(
        " {} was still improving ({} since round {}): the model underfits. "
        "Train for more rounds, or increase eta.",
        validation.set, percent(gain), before.round);
  }
  return text;
}

// Describes one set that may be the training set or another one.
std::string single_set_text(const Line& line, bool larger_is_better) {
  const double sign = larger_is_better ? -1 : 1;
  std::vector<double> losses;
  for (const double value : line.values) losses.push_back(sign * value);
  if (losses.size() < 2 || !std::ranges::all_of(losses, [](double loss) {
        return std::isfinite(loss);
      })) {
    return "";
  }
  const auto best = static_cast<std::size_t>(std::ranges::min_element(losses) -
                                             losses.begin());
  const double worse = worsening(losses[best], losses.back());
  if (worse > kWorse) {
    return fmt::format(
        "{} was best at round {} ({}) and is {} worse at round {}. Stop near "
        "that round (early_stopping_rounds). ",
        line.set, line.rounds[best], number_text(line.values[best]),
        percent(worse), line.rounds.back());
  }
  const std::size_t before = a_tenth_before(losses.size());
  const double gain = -worsening(losses[before], losses.back());
  if (gain <= kStillImproving) return "";
  return fmt::format(
      "{} was still improving ({} since round {}): train for more rounds, or "
      "increase eta. ",
      line.set, percent(gain), line.rounds[before]);
}

// Assesses a metric of which no set is known to be the training set: the
// estimators of XGBoost number their sets.
std::string unnamed_sets_text(const XgboostReport::Metric& metric) {
  const auto last_loss = [&](const Line& line) {
    return (metric.larger_is_better ? -1 : 1) * line.values.back();
  };
  const Line& best = *std::ranges::min_element(metric.lines, {}, last_loss);
  const Line& worst = *std::ranges::max_element(metric.lines, {}, last_loss);
  std::string text;
  if (&best != &worst) {
    const auto points = common_points(best, worst, metric.larger_is_better);
    if (points.size() >= 2 && !first_not_finite(points)) {
      text = overfitting_text(points, best, worst, metric.larger_is_better);
    }
    if (!text.empty()) return text;
  }
  text = single_set_text(worst, metric.larger_is_better);
  if (metric.lines.size() > 1) {
    return text +
           "If one of these sets is the training set, a growing "
           "distance between the lines indicates overfitting.";
  }
  return text +
         "Overfitting shows only in the comparison of two sets: "
         "evaluate the training set too (evals of xgboost.train, "
         "eval_set of fit).";
}

}  // namespace

bool is_better_when_larger(std::string_view metric) {
  const std::string_view name = metric.substr(0, metric.find_first_of("@-"));
  for (const std::string_view known :
       {"auc", "aucpr", "map", "ndcg", "pre", "accuracy", "r2", "f1"}) {
    if (name == known) return true;
  }
  return false;
}

std::string fitting_assessment(const XgboostReport::Metric& metric,
                               const LossRoles& roles) {
  const Line* training = find_line(metric, roles, LossRole::Part::training);
  const Line* validation = find_line(metric, roles, LossRole::Part::validation);
  if (metric.is_deviation) {
    return "The standard deviation over the folds of xgboost.cv.";
  }
  if (!training) return unnamed_sets_text(metric);
  if (!validation) {
    return fmt::format(
        "Overfitting shows only in the comparison of two sets, and {} is the "
        "training set: evaluate other rows too (evals of xgboost.train, "
        "eval_set of fit).",
        training->set);
  }
  const auto points =
      common_points(*training, *validation, metric.larger_is_better);
  if (points.size() < 2) {
    return "Fewer than two rounds contain both sets: save more of them.";
  }
  if (const Point* bad = first_not_finite(points)) {
    return fmt::format("The metric is not finite at round {}.", bad->round);
  }
  return history_text(points, *training, *validation, metric.larger_is_better);
}

}  // namespace smdebug
