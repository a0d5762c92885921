#include "xgboost_report/loss_reading.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "report/wording.h"
#include "rules/measures/loss_role.h"

namespace smdebug {
namespace {

// The default ratio_threshold of the rule Overfit.
constexpr double kGap = 0.1;
// How much worse than its best a validation metric is called worse.
constexpr double kWorse = 0.02;
// An improvement over the last tenth of the rounds that promises more.
constexpr double kStillImproving = 0.01;

struct Point {
  Step round = 0;
  double training = 0;  // the smaller, the better
  double validation = 0;
};

using Line = XgboostReport::Metric::Line;

const Line* find_line(const XgboostReport::Metric& metric,
                      LossRole::Part part) {
  for (const Line& line : metric.lines) {
    const auto role = role_of_loss(line.set + "-" + metric.name, Mode::global);
    // A set of any other name is one to validate with.
    const auto actual = role && role->pair == metric.name
                            ? role->part
                            : LossRole::Part::validation;
    if (actual == part) return &line;
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

// How much worse `now` is than `then`, as a part of `then`.
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

std::string course_text(const std::vector<Point>& points, const Line& training,
                        const Line& validation, bool larger_is_better) {
  const Point& last = points.back();
  const Point& best = *std::ranges::min_element(points, {}, &Point::validation);
  const double sign = larger_is_better ? -1 : 1;
  const double worse = worsening(best.validation, last.validation);
  if (worse > kWorse && last.training < best.training) {
    return fmt::format(
        "Over-fits: {} was best at round {} ({}) and is {} worse at round {}, "
        "while {} went on improving. Stop about there (early_stopping_rounds), "
        "or regularize.",
        validation.set, best.round, number_text(sign * best.validation),
        percent(worse), last.round, training.set);
  }
  const double gap = worsening(last.training, last.validation);
  std::string text;
  if (gap > kGap) {
    text = fmt::format(
        "{} is {} worse than {} at round {}: a gap of more than {} is a sign "
        "of over-fitting.",
        validation.set, percent(gap), training.set, last.round, percent(kGap));
  } else {
    text = fmt::format(
        "{} and {} lie within {} of each other at round {}: no "
        "sign of over-fitting.",
        training.set, validation.set, percent(kGap), last.round);
  }
  const Point& before =
      points[points.size() - 1 - std::max<std::size_t>(1, points.size() / 10)];
  if (-worsening(before.validation, last.validation) > kStillImproving) {
    text += fmt::format(
        " {} was still improving ({} since round {}): the model under-fits; "
        "more rounds, or a larger eta, should help.",
        validation.set, percent(-worsening(before.validation, last.validation)),
        before.round);
  }
  return text;
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

std::string loss_reading(const XgboostReport::Metric& metric) {
  const Line* training = find_line(metric, LossRole::Part::training);
  const Line* validation = find_line(metric, LossRole::Part::validation);
  if (!training || !validation) {
    return "One set alone does not show over-fitting: evaluate the training "
           "set as 'train' and a second one as 'validation'.";
  }
  const auto points =
      common_points(*training, *validation, metric.larger_is_better);
  if (points.size() < 2) {
    return "Fewer than two rounds hold both sets: save more of them.";
  }
  if (const Point* bad = first_not_finite(points)) {
    return fmt::format("Not a finite number at round {}.", bad->round);
  }
  return course_text(points, *training, *validation, metric.larger_is_better);
}

}  // namespace smdebug
