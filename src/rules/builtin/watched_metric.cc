// WatchedMetric: a callback that stops a training, keeps its best model or
// lowers its learning rate takes a metric that gets worse for one that gets
// better, or watches it on the training data.
//
// The facts of a training name the metric and the direction that the callback
// prefers. The words of the name tell which direction is better. A name with
// words of both, or of none, is not judged. The original has no such rule.

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/strings.h"
#include "rules/builtin/builtin.h"
#include "rules/engine/finding.h"
#include "rules/engine/shared_parameters.h"
#include "rules/measures/facts_rule.h"

namespace smdebug {
namespace {

const ParameterSpec kWatchedMetricParameters[] = {kStartStep, kEndStep,
                                                  kPreset};

const Advice kWatchedMetricAdvice[] = {
    {.when = "the wrong direction",
     .cause = "a direction that was set wrong, or that the framework chose by "
              "itself for a name that it does not know: the callback takes "
              "each better value for a worse one, so it stops too early or "
              "keeps the worst model",
     .advice = "set the direction: mode='max' or mode='min' in Keras and "
               "Lightning, maximize=True or maximize=False in XGBoost, "
               "greater_is_better in Transformers"},
    {.when = "a metric of the training data",
     .cause = "a metric of the training data, such as the last entry of evals "
              "in XGBoost, or a name without 'val_' in Keras: it improves "
              "while the model overfits",
     .advice = "watch the metric of the validation data: put them last in "
               "evals, or monitor val_loss",
     .severity = Severity::advice},
};

constexpr std::string_view kHighIsBetter[] = {
    "acc", "accuracy", "auc",  "aucpr",     "bleu",  "dice",
    "f1",  "fbeta",    "iou",  "map",       "ndcg",  "psnr",
    "r2",  "rouge",    "ssim", "precision", "recall"};
constexpr std::string_view kLowIsBetter[] = {
    "bce",     "cer",        "deviance", "error",    "logloss", "loss",
    "mae",     "mape",       "merror",   "mlogloss", "mse",     "nll",
    "nloglik", "perplexity", "rmse",     "rmsle",    "wer"};

// Whether a higher value of a metric is better; none if its name does not tell.
std::optional<bool> is_high_better(std::string_view metric) {
  const std::string name = lower_case(metric);
  bool is_high = false, is_low = false;
  for (std::size_t begin = 0, end = 0; begin < name.size(); begin = end + 1) {
    end = std::min(name.find_first_of("_-/.:@ ", begin), name.size());
    const std::string_view word =
        std::string_view(name).substr(begin, end - begin);
    is_high |=
        std::ranges::find(kHighIsBetter, word) != std::end(kHighIsBetter);
    is_low |= std::ranges::find(kLowIsBetter, word) != std::end(kLowIsBetter);
  }
  if (is_high == is_low) return std::nullopt;
  return is_high;
}

class WatchedMetric : public FactsRule {
 public:
  explicit WatchedMetric(const Parameters&) {}

  Outcome finish() override {
    if (auto found = judge_rest()) return found;
    if (has_judged()) return no_finding();
    return Error{Error::Code::unsupported,
                 "nothing to judge: no callback that watches a metric was "
                 "seen, such as EarlyStopping of Keras or XGBoost under "
                 "smdebug run"};
  }

 private:
  std::optional<Finding> judge(const RunFacts& facts,
                               std::string_view worker) override {
    std::optional<Finding> advice;
    for (const MetricWatchFacts& watch : facts.loop.metric_watches) {
      count_judged();
      const auto is_better = is_high_better(watch.metric);
      if (is_better && *is_better != watch.prefers_high) {
        return describe(watch, worker, 0);
      }
      if (watch.is_of_training && !advice) advice = describe(watch, worker, 1);
    }
    return advice;
  }

  Finding describe(const MetricWatchFacts& watch, std::string_view worker,
                   std::size_t fault) const {
    Finding finding;
    const std::string subject =
        tensor_text(watch.kind + " of " + watch.metric, worker);
    finding.message =
        fault == 0
            ? fmt::format("{}: it takes a {} value for a better one, at {}",
                          subject, watch.prefers_high ? "higher" : "lower",
                          step_text(last_step()))
            : fmt::format(
                  "{}: the metric is of the training data, although "
                  "there are validation data, at {}",
                  subject, step_text(last_step()));
    set_advice(finding, kWatchedMetricAdvice[fault]);
    Evidence& evidence = finding.evidence.emplace_back();
    evidence.tensor = watch.metric;
    evidence.worker = worker;
    evidence.step = last_step();
    evidence.quantity = "metrics that are watched wrongly";
    evidence.value = 1;
    evidence.relation = ">=";
    evidence.threshold = 1;
    return finding;
  }
};

}  // namespace

const RuleFactory kWatchedMetric = {
    .name = "WatchedMetric",
    .summary =
        "A callback takes a metric that gets worse for one that gets "
        "better, or watches it on the training data.",
    .condition =
        "Fires if a callback that stops the training, keeps its best model or "
        "lowers its learning rate prefers the direction in which its metric "
        "gets worse, judged by the words of its name. Advises if the metric is "
        "computed on the training data although there are validation data.",
    .advice = kWatchedMetricAdvice,
    .parameters = kWatchedMetricParameters,
    .make = make_rule<WatchedMetric>,
};

}  // namespace smdebug
