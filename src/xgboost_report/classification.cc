#include "xgboost_report/classification.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace smdebug {
namespace {

constexpr std::size_t kCurvePoints = 1000;

double ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

XgboostReport::Scores::Triple triple_of(double hits, double predicted,
                                        double actual) {
  XgboostReport::Scores::Triple triple;
  triple.precision = ratio(hits, predicted);
  triple.recall = ratio(hits, actual);
  // The harmonic mean of the two, without dividing by a sum of 0.
  triple.f1 = ratio(2 * hits, predicted + actual);
  return triple;
}

void add(const XgboostReport::Scores::Triple& triple, double weight,
         XgboostReport::Scores::Triple& sum) {
  sum.precision += weight * triple.precision;
  sum.recall += weight * triple.recall;
  sum.f1 += weight * triple.f1;
}

// Leaves every so-manieth point, with both ends.
void thin(std::vector<double>& points) {
  if (points.size() <= kCurvePoints) return;
  std::vector<double> kept;
  for (std::size_t i = 0; i < kCurvePoints; ++i) {
    kept.push_back(points[i * (points.size() - 1) / (kCurvePoints - 1)]);
  }
  points = std::move(kept);
}

}  // namespace

XgboostReport::Confusion confusion_of(std::span<const std::int64_t> truth,
                                      std::span<const std::int64_t> predicted) {
  XgboostReport::Confusion confusion;
  confusion.samples = truth.size();
  std::vector<std::int64_t>& classes = confusion.classes;
  classes.assign(truth.begin(), truth.end());
  classes.insert(classes.end(), predicted.begin(), predicted.end());
  std::ranges::sort(classes);
  classes.erase(std::ranges::unique(classes).begin(), classes.end());
  if (classes.size() > kMostClasses) return confusion;
  const auto place = [&](std::int64_t label) {
    return static_cast<std::size_t>(std::ranges::lower_bound(classes, label) -
                                    classes.begin());
  };
  confusion.counts.resize(classes.size() * classes.size());
  for (std::size_t i = 0; i < truth.size(); ++i) {
    const std::size_t row = place(truth[i]);
    ++confusion.counts[row * classes.size() + place(predicted[i])];
  }
  return confusion;
}

XgboostReport::Scores scores_of(const XgboostReport::Confusion& confusion) {
  const std::size_t n = confusion.classes.size();
  std::vector<double> actual(n), predicted(n);
  double hits = 0, all = 0;
  for (std::size_t row = 0; row < n; ++row) {
    for (std::size_t column = 0; column < n; ++column) {
      const auto count =
          static_cast<double>(confusion.counts[row * n + column]);
      actual[row] += count;
      predicted[column] += count;
      all += count;
      if (row == column) hits += count;
    }
  }
  XgboostReport::Scores scores;
  scores.accuracy = ratio(hits, all);
  // One class is predicted for each sample: every miss is one false positive
  // and one false negative.
  scores.micro = triple_of(hits, all, all);
  for (std::size_t i = 0; i < n; ++i) {
    XgboostReport::Scores::OfClass of_class;
    of_class.label = confusion.classes[i];
    of_class.triple =
        triple_of(static_cast<double>(confusion.counts[i * n + i]),
                  predicted[i], actual[i]);
    of_class.support = static_cast<std::uint64_t>(actual[i]);
    add(of_class.triple, 1.0 / static_cast<double>(n), scores.macro);
    add(of_class.triple, ratio(actual[i], all), scores.weighted);
    scores.classes.push_back(of_class);
  }
  return scores;
}

XgboostReport::Roc roc_of(const std::vector<bool>& positive,
                          std::span<const double> scores) {
  XgboostReport::Roc roc;
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, std::ranges::greater(),
                    [&](std::size_t i) { return scores[i]; });
  roc.positives =
      static_cast<std::uint64_t>(std::ranges::count(positive, true));
  roc.negatives = positive.size() - roc.positives;
  roc.auc = std::numeric_limits<double>::quiet_NaN();
  if (roc.positives == 0 || roc.negatives == 0) return roc;

  std::vector<double>& x = roc.false_positive_rate;
  std::vector<double>& y = roc.true_positive_rate;
  x = y = {0};
  double area = 0, hits = 0, misses = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    (positive[order[i]] ? hits : misses) += 1;
    // Samples of one score are taken together: no cut lies between them.
    const bool is_last_of_score =
        i + 1 == order.size() || scores[order[i + 1]] != scores[order[i]];
    if (!is_last_of_score) continue;
    const double rate = misses / static_cast<double>(roc.negatives);
    const double found = hits / static_cast<double>(roc.positives);
    area += (rate - x.back()) * (found + y.back()) / 2;
    x.push_back(rate);
    y.push_back(found);
  }
  roc.auc = area;
  thin(x);
  thin(y);
  return roc;
}

}  // namespace smdebug
