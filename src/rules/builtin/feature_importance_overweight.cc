// FeatureImportanceOverweight: a few features carry most of the importance of a
// boosted model, so the model depends on them.
//
//   sum of the nfeatures largest importances / sum of all > threshold
//
// The documents leave the rest open. The importances are all elements of the
// matching tensors of one worker at one step. With `nfeatures` features or
// fewer the share is always 1, so nothing is judged. NaN is ignored, and a sum
// that is not positive has no shares.

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "smdebug/base/try.h"

#include "rules/builtin/builtin.h"
#include "rules/engine/finding.h"
#include "rules/engine/shared_parameters.h"
#include "rules/measures/element_values.h"
#include "rules/measures/quantity.h"

namespace smdebug {
namespace {

const ParameterSpec kFeatureImportanceOverweightParameters[] = {
    {.name = "threshold",
     .type = ParameterType::real,
     .default_text = "0.8",
     .description = "Largest allowed share of the total importance that the "
                    "largest importances may have together.",
     .minimum = 0.0,
     .maximum = 1.0,
     .tuned_text = "0.9"},
    {.name = "nfeatures",
     .type = ParameterType::integer,
     .default_text = "3",
     .description = "Number of largest importances that are added up.",
     .minimum = 1.0,
     .tuned_text = "1"},
    {.name = "tensor_regex",
     .type = ParameterType::text_list,
     .default_text = ".*feature_importance/weight",
     .description = "Patterns of the names of importance tensors.",
     .tuned_text = ".*feature_importance/total_gain"},
    // The first trees of a healthy model depend on one or two features.
    {.name = kStartStep.name,
     .type = kStartStep.type,
     .default_text = kStartStep.default_text,
     .description = kStartStep.description,
     .minimum = kStartStep.minimum,
     .tuned_text = "10"},
    kEndStep,
    kPreset,
};

const Advice kFeatureImportanceOverweightAdvice[] = {
    {.cause = "a feature that leaks the label, or trees that may always choose "
              "from all features",
     .advice = "check that no feature leaks the label, and use column sampling "
               "(colsample_bytree) or stronger regularization so that other "
               "features are used"},
};

constexpr const char* kFeatureCount = "^hyperparameters/num_feature$";

struct Importance {
  double value = 0;
  Evidence place;
};

class FeatureImportanceOverweight : public Rule {
 public:
  explicit FeatureImportanceOverweight(const Parameters& parameters)
      : threshold_(parameters.real("threshold")),
        nfeatures_(static_cast<std::size_t>(parameters.integer("nfeatures"))),
        start_step_(parameters.integer(kStartStep.name)) {
    selector_.regexes = parameters.text_list("tensor_regex");
    selector_.capture_as = "feature_importance";
  }

  RuleNeeds needs() const override {
    RuleNeeds needs;
    needs.selectors.push_back(selector_);
    needs.selectors.push_back(
        {.collections = {}, .regexes = {kFeatureCount}, .if_saved = true});
    needs.depth = RuleNeeds::Depth::values;
    return needs;
  }

  Outcome on_step(const RuleStep& step) override {
    std::optional<Finding> finding;
    std::map<std::string, std::vector<Importance>> by_worker;
    for (const Observation* count : step.by_selector(1)) {
      SMD_CHECK_OK(add_feature_count(*count));
    }
    if (step.step.global < start_step_) return finding;
    is_after_start_ = true;
    for (const Observation* tensor : step.by_selector(0)) {
      SMD_CHECK_OK(
          add(*tensor, step.step, by_worker[std::string(tensor->worker)]));
    }
    for (auto& [worker, importances] : by_worker) {
      most_features_ = std::max(most_features_, importances.size());
      if (importances.size() <= nfeatures_ &&
          importances.size() >= feature_counts_[worker]) {
        continue;
      }
      auto found = judge(importances);
      if (found && !finding) finding = std::move(found);
    }
    return finding;
  }

  Outcome finish() override {
    if (has_judged()) return no_finding();
    if (!is_after_start_) {
      return Error{
          Error::Code::not_found,
          fmt::format("nothing to judge: the run has no complete step from "
                      "step {} on (parameter '{}')",
                      start_step_, kStartStep.name)};
    }
    if (most_features_ == 0) {
      return Error{Error::Code::not_found,
                   "nothing to judge: the run has no feature importances"};
    }
    if (has_signs_) {
      return Error{Error::Code::unsupported,
                   "nothing to judge: the importances have signs: they are the "
                   "coefficients of a linear model (booster=gblinear), which "
                   "depend on the units of the features; the rule judges those "
                   "of trees"};
    }
    return Error{Error::Code::not_found,
                 "nothing to judge: " + why_nothing_was_judged()};
  }

 private:
  // XGBoost gives the importances only of the features that its trees use. The
  // number of all features is a hyperparameter.
  Status add_feature_count(const Observation& tensor) {
    SMD_TRY(const auto count, element_values(tensor));
    if (!count || count->values.size() != 1 || !(count->values[0] > 0))
      return {};
    feature_counts_[std::string(tensor.worker)] =
        static_cast<std::size_t>(count->values[0]);
    return {};
  }

  static Status add(const Observation& tensor, const StepId& step,
                    std::vector<Importance>& importances) {
    if (tensor.statistics && tensor.statistics->count == 1) {
      SMD_TRY(const auto value, quantity(tensor, {Reduction::mean}));
      if (value && std::isfinite(*value)) {
        importances.push_back({*value, evidence_of(tensor, step)});
      }
      return {};
    }
    SMD_TRY(const auto elements, element_values(tensor));
    if (!elements) {
      // XGBoost's importances are one number each, and so is their mean.
      const auto mean = saved_reduction(tensor, {Reduction::mean});
      if (mean && std::isfinite(*mean)) {
        importances.push_back({*mean, evidence_of(tensor, step)});
      }
      return {};
    }
    for (std::size_t i = 0; i < elements->values.size(); ++i) {
      if (!std::isfinite(elements->values[i])) continue;
      Importance importance = {elements->values[i], evidence_of(tensor, step)};
      if (elements->values.size() > 1) {
        importance.place.tensor += fmt::format("[{}]", i);
      }
      importances.push_back(std::move(importance));
    }
    return {};
  }

  std::string why_nothing_was_judged() const {
    if (most_features_ > nfeatures_) {
      return "the importances of no step have a positive sum";
    }
    if (most_features_ == 1) {
      return "the model uses a single feature, whose share of the total "
             "importance is always 1; if there are more features, check that "
             "this one does not leak the label";
    }
    return fmt::format(
        "the model uses {} features, so the largest {} always have the total "
        "importance; set nfeatures below {}",
        most_features_, nfeatures_, most_features_);
  }

  std::optional<Finding> judge(std::vector<Importance>& importances) {
    std::ranges::stable_sort(importances, std::ranges::greater(),
                             &Importance::value);
    if (importances.back().value < 0) {
      has_signs_ = true;
      return std::nullopt;
    }
    double sum = 0, largest = 0;
    for (std::size_t i = 0; i < importances.size(); ++i) {
      sum += importances[i].value;
      if (i < nfeatures_) largest += importances[i].value;
    }
    if (!(sum > 0)) return std::nullopt;
    count_judged(importances.size());
    const double share = largest / sum;
    if (!(share > threshold_)) return std::nullopt;
    return describe(importances, sum, share);
  }

  Finding describe(std::span<const Importance> importances, double sum,
                   double share) const {
    Finding finding;
    const Evidence& largest = importances.front().place;
    finding.evidence.push_back(largest);
    finding.evidence.back().quantity =
        fmt::format("share of the {} largest feature importances", nfeatures_);
    finding.evidence.back().value = share;
    finding.evidence.back().relation = ">";
    finding.evidence.back().threshold = threshold_;
    std::vector<std::string> names;
    const std::size_t shown = std::min(nfeatures_, importances.size());
    for (const Importance& importance : importances.first(shown)) {
      const double own_share = importance.value / sum;
      Evidence evidence = importance.place;
      evidence.quantity = "share of its feature importance";
      evidence.value = own_share;
      finding.evidence.push_back(std::move(evidence));
      names.push_back(fmt::format("{} ({})", importance.place.tensor,
                                  short_number(own_share)));
    }
    set_advice(finding, kFeatureImportanceOverweightAdvice[0]);
    if (shown == importances.size()) {
      finding.message =
          fmt::format("{}: the model uses only {} of {} features at {}: {}",
                      tensor_text(largest.tensor, largest.worker), shown,
                      feature_counts_.find(largest.worker)->second,
                      step_text(largest.step), fmt::join(names, ", "));
      return finding;
    }
    const std::string subject =
        nfeatures_ == 1 ? fmt::format("the largest of {} used features has",
                                      importances.size())
                        : fmt::format("the {} largest of {} used features have",
                                      nfeatures_, importances.size());
    finding.message = fmt::format(
        "{}: {} {:.3g} of the total importance at {}, more than {}: {}; the "
        "next has {:.2g}",
        tensor_text(largest.tensor, largest.worker), subject, share,
        step_text(largest.step), threshold_, fmt::join(names, ", "),
        importances[nfeatures_].value / sum);
    return finding;
  }

  double threshold_;
  std::size_t nfeatures_;
  const Step start_step_;
  TensorSelector selector_;
  std::map<std::string, std::size_t, std::less<>> feature_counts_;  // by worker
  bool is_after_start_ = false;
  std::size_t most_features_ = 0;
  bool has_signs_ = false;  // as the coefficients of a linear model have
};

}  // namespace

const RuleFactory kFeatureImportanceOverweight = {
    .name = "FeatureImportanceOverweight",
    .summary =
        "A few features carry almost all of the model's importance, so the "
        "model depends on them.",
    .condition =
        "Fires when the 'nfeatures' largest importances of a step make up "
        "more than 'threshold' of their sum. With 'nfeatures' features or "
        "fewer, nothing is judged, unless the run has the number of all "
        "features (hyperparameters/num_feature) and the model uses only these.",
    .advice = kFeatureImportanceOverweightAdvice,
    .parameters = kFeatureImportanceOverweightParameters,
    .make = make_rule<FeatureImportanceOverweight>,
    .has_own_start_step = true,
    .subject = "the tensors of XGBoost",
};

}  // namespace smdebug
