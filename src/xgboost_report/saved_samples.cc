#include "xgboost_report/saved_samples.h"

#include <algorithm>

#include <fmt/format.h>

#include "report/wording.h"
#include "rules/measures/element_values.h"
#include "xgboost_report/plot/value_bins.h"

namespace smdebug {
namespace {

constexpr std::string_view kLabels = "labels";
constexpr std::string_view kPredictions = "predictions";

std::vector<Step> rounds_of(Trial& trial, std::string_view name) {
  if (!trial.has_tensor(name)) return {};
  auto tensor = trial.tensor(name);
  return tensor ? tensor->steps() : std::vector<Step>();
}

Result<TensorValue> value_at(Trial& trial, std::string_view name, Step round) {
  SMD_TRY(auto tensor, trial.tensor(name));
  SMD_TRY(auto value, tensor.value({round, Mode::global, std::nullopt}));
  if (is_string(value.dtype())) {
    return Error{Error::Code::unsupported,
                 fmt::format("tensor '{}' at step {} holds texts, and should "
                             "hold numbers",
                             name, round)};
  }
  return value;
}

// The extents without trailing ones: (n, 1) is (n).
std::vector<std::int64_t> bare_shape(const TensorValue& value) {
  std::vector<std::int64_t> shape = value.shape();
  while (shape.size() > 1 && shape.back() == 1) shape.pop_back();
  return shape;
}

}  // namespace

SavedSamples::SavedSamples(Trial& trial)
    : trial_(trial),
      rounds_(rounds_of(trial, kPredictions)),
      label_rounds_(rounds_of(trial, kLabels)) {}

Result<std::vector<double>> SavedSamples::labels(Step round) {
  if (label_rounds_.empty()) {
    return Error{Error::Code::not_found, "no labels were saved"};
  }
  const auto after = std::ranges::upper_bound(label_rounds_, round);
  const Step at =
      after == label_rounds_.begin() ? label_rounds_.front() : *(after - 1);
  SMD_TRY(const auto value, value_at(trial_, kLabels, at));
  if (bare_shape(value).size() > 1) {
    return Error{Error::Code::unsupported,
                 fmt::format("labels of shape {} at step {} are several "
                             "numbers per sample; the report is of models "
                             "with one output",
                             shape_text(value.shape()), at)};
  }
  return values_of(value.view());
}

Result<Samples> SavedSamples::at(Step round) {
  SMD_TRY(const auto labels, this->labels(round));
  SMD_TRY(const auto value, value_at(trial_, kPredictions, round));
  const std::vector<double> predictions = values_of(value.view());
  // Old versions of XGBoost give the rows of multi:softprob one after the
  // other, in one dimension.
  if (labels.empty() || predictions.empty() ||
      predictions.size() % labels.size() != 0 ||
      (value.shape().size() > 1 &&
       value.shape().front() != static_cast<std::int64_t>(labels.size()))) {
    return Error{
        Error::Code::unsupported,
        fmt::format("predictions of shape {} at step {} do not go with {}",
                    shape_text(value.shape()), round,
                    count_text(labels.size(), "label"))};
  }
  Samples samples;
  samples.round = round;
  samples.columns = predictions.size() / labels.size();
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto row =
        std::span(predictions).subspan(i * samples.columns, samples.columns);
    if (!is_shown(labels[i]) || !std::ranges::all_of(row, is_shown)) {
      ++samples.left_out;
      continue;
    }
    samples.labels.push_back(labels[i]);
    samples.predictions.insert(samples.predictions.end(), row.begin(),
                               row.end());
  }
  return samples;
}

}  // namespace smdebug
