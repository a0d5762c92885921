#include "xgboost_report/prediction_quality.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <span>

#include "xgboost_report/plot/scale.h"

namespace smdebug {
namespace {

// Doubles represent every integer up to here, but not beyond.
constexpr double kLargestClass = 9007199254740992;  // 2^53

std::int64_t largest_of(std::span<const double> scores) {
  return std::ranges::max_element(scores) - scores.begin();
}

bool is_probability(double value) { return value >= 0 && value <= 1; }

}  // namespace

std::int64_t label_class(double label) {
  return static_cast<std::int64_t>(
      std::nearbyint(std::clamp(label, -kLargestClass, kLargestClass)));
}

SampleClasses sample_classes(const Samples& samples, XgboostReport::Task task) {
  SampleClasses classes;
  for (const double label : samples.labels) {
    classes.truth.push_back(label_class(label));
  }
  if (samples.columns > 1) {
    classes.cut = "The predicted class is the one with the largest score.";
    const std::span<const double> scores(samples.predictions);
    for (std::size_t i = 0; i < samples.labels.size(); ++i) {
      classes.predicted.push_back(
          largest_of(scores.subspan(i * samples.columns, samples.columns)));
    }
  } else if (task == XgboostReport::Task::multiclass) {
    classes.cut = "The prediction is the class.";
    for (const double prediction : samples.predictions) {
      classes.predicted.push_back(label_class(prediction));
    }
  } else {
    const bool are_probabilities =
        std::ranges::all_of(samples.predictions, is_probability);
    const double cut = are_probabilities ? 0.5 : 0;
    classes.cut = are_probabilities
                      ? "Class 1 is predicted above a probability of 0.5."
                      : "The predictions are margins. Class 1 is predicted "
                        "above 0.";
    for (const double prediction : samples.predictions) {
      classes.predicted.push_back(prediction > cut ? 1 : 0);
    }
  }
  return classes;
}

std::vector<double> positive_scores(const Samples& samples) {
  if (samples.columns == 1) return samples.predictions;
  std::vector<double> scores;
  for (std::size_t i = 0; i < samples.labels.size(); ++i) {
    scores.push_back(samples.predictions[i * samples.columns + 1]);
  }
  return scores;
}

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

// Reduces `points` to `kCurvePoints`, evenly spread and including both ends.
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
  const auto index_of = [&](std::int64_t label) {
    return static_cast<std::size_t>(std::ranges::lower_bound(classes, label) -
                                    classes.begin());
  };
  confusion.counts.resize(classes.size() * classes.size());
  for (std::size_t i = 0; i < truth.size(); ++i) {
    const std::size_t row = index_of(truth[i]);
    ++confusion.counts[row * classes.size() + index_of(predicted[i])];
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
  // Each sample has one predicted class, so every miss is one false positive
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
    // No threshold separates samples of equal score: one point covers them.
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

namespace {

constexpr std::size_t kResidualBins = 30;
constexpr std::size_t kLabelBins = 10;

double median_of(std::vector<double> values) {
  const auto middle =
      values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  if (values.size() % 2 == 1) return *middle;
  return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

std::vector<double> differences(const Samples& samples) {
  std::vector<double> differences;
  for (std::size_t i = 0; i < samples.labels.size(); ++i) {
    differences.push_back(samples.predictions[i] - samples.labels[i]);
  }
  return differences;
}

}  // namespace

XgboostReport::Residuals residuals_of(const Samples& samples) {
  const std::vector<double> values = differences(samples);
  const auto n = static_cast<double>(values.size());
  XgboostReport::Residuals residuals;
  residuals.round = samples.round;
  residuals.samples = values.size();
  residuals.left_out = samples.left_out;
  residuals.bins = bins_of(values, kResidualBins);
  residuals.median = median_of(values);
  for (const double value : values) {
    residuals.mean += value / n;
    residuals.mean_absolute += std::abs(value) / n;
    residuals.root_mean_square += value * value / n;
  }
  double variance = 0;
  for (const double value : values) {
    variance += (value - residuals.mean) * (value - residuals.mean) / n;
  }
  residuals.standard_deviation = std::sqrt(variance);
  residuals.root_mean_square = std::sqrt(residuals.root_mean_square);
  return residuals;
}

BinnedErrorHistory::BinnedErrorHistory(const std::vector<double>& labels) {
  std::vector<double> shown;
  std::ranges::copy_if(labels, std::back_inserter(shown), is_shown);
  errors_.labels = bins_of(shown, kLabelBins);
  errors_.errors.resize(kLabelBins);
}

void BinnedErrorHistory::add(const Samples& samples) {
  std::vector<double> sums(kLabelBins), counts(kLabelBins);
  for (std::size_t i = 0; i < samples.labels.size(); ++i) {
    const std::size_t bin = bin_of(errors_.labels, samples.labels[i]);
    sums[bin] += std::abs(samples.predictions[i] - samples.labels[i]);
    ++counts[bin];
  }
  errors_.rounds.push_back(samples.round);
  for (std::size_t bin = 0; bin < kLabelBins; ++bin) {
    errors_.errors[bin].push_back(
        counts[bin] > 0 ? sums[bin] / counts[bin]
                        : std::numeric_limits<double>::quiet_NaN());
  }
}

}  // namespace smdebug
