#include "xgboost_report/regression_errors.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "xgboost_report/plot/value_bins.h"

namespace smdebug {
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

ErrorCourse::ErrorCourse(const std::vector<double>& labels) {
  std::vector<double> shown;
  std::ranges::copy_if(labels, std::back_inserter(shown), is_shown);
  errors_.labels = bins_of(shown, kLabelBins);
  errors_.errors.resize(kLabelBins);
}

void ErrorCourse::add(const Samples& samples) {
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
