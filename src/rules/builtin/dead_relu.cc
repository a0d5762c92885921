// DeadRelu: most units of a ReLU layer are almost always zero, so their weights
// no longer learn.
//
//   100 * dead units / units > threshold_layer, where dead means
//   100 * active samples / samples < threshold_inactivity
//
// The documents leave the rest open. A unit is an index behind the batch
// dimension, and active in a sample if its output is above 0. Samples are
// counted within the step, or over the last 10 steps if a step has one sample
// per unit. NaN is not a sample.

#include <fmt/format.h>

#include "base/plural.h"
#include "rules/builtin/builtin.h"
#include "rules/engine/evidence.h"
#include "rules/engine/preset.h"
#include "rules/engine/selection.h"
#include "rules/engine/step_bounds.h"
#include "rules/engine/wording.h"
#include "rules/measures/adjacent_layers.h"
#include "rules/measures/inactive_layers.h"

namespace smdebug {
namespace {

const ParameterSpec kParameters[] = {
    {.name = kCollectionNames.name,
     .type = ParameterType::text_list,
     .default_text = "relu_output",
     .description = "Collections to judge; in PyTorch 'relu_output' holds what "
                    "ReLU modules give, whatever their names."},
    // As MXNet and PyTorch name a layer, and as Keras does.
    {.name = kTensorRegex.name,
     .type = ParameterType::text_list,
     .default_text =
         ".*relu_output,.*ReLU_output,"
         "(?<![PpYy])(?<![Pp]_)(?<![Yy]_)[Rr]e_?[Ll][Uu](_?\\d+)?[_/]output,"
         "/outputs/.*[Rr]elu(_\\d+)?:\\d+$",
     .description = "Patterns of names of ReLU outputs to judge."},
    kThresholdInactivity,
    tuned(kThresholdLayer, "80"),
    kUnit,
    kStartStep,
    kEndStep,
    kPreset,
};

const Advice kAdvice[] = {
    {.cause = "an update that was too large, or a bias that is very negative: "
              "a dead ReLU gives zero and passes no gradient, so its weights "
              "stay as they are",
     .advice = "lower the learning rate, initialize for ReLU (He) with biases "
               "at zero, normalize the inputs, or use LeakyReLU"},
};

class DeadRelu : public Rule {
 public:
  DeadRelu(TensorSelector selector, const InactiveLimits& limits)
      : selector_(std::move(selector)), layers_(limits) {}

  RuleNeeds needs() const override {
    return {{selector_}, RuleNeeds::Depth::values, 0};
  }

  Outcome on_step(const RuleStep& step) override {
    std::optional<Finding> finding;
    std::vector<JudgedTensor> judged;
    double worst = 0;
    for (const Observation* output : step.by_selector(0)) {
      if (is_string(output->dtype)) continue;
      ++seen_;
      SMD_TRY(const auto activity, layers_.judge(*output, kActive));
      if (!activity) continue;
      count_judged();
      judged.push_back({output, activity->inactive_percent});
      if (!layers_.is_met(*activity)) continue;
      if (!finding) finding.emplace();
      if (activity->inactive_percent > worst) {
        worst = activity->inactive_percent;
        describe(*finding, *output, *activity, step.step);
      }
      finding->evidence.push_back(evidence(*output, *activity, step.step));
    }
    if (!finding) return finding;
    sort_worst_first(finding->evidence);
    finding->message +=
        describe_adjacent_layers(judged, finding->evidence.front());
    if (finding->evidence.size() > 1) {
      finding->message += fmt::format("; {} layers of this step are so",
                                      finding->evidence.size());
    }
    return finding;
  }

  Outcome finish() override {
    if (has_judged() || seen_ == 0) return no_finding();
    return Error{Error::Code::not_found,
                 fmt::format("nothing to judge: outputs of ReLUs came {}, "
                             "but {}",
                             count_text(seen_, "time"), layers_.why_not())};
  }

 private:
  static constexpr ActiveRange kActive = {};

  void describe(Finding& finding, const Observation& output,
                const LayerActivity& activity, const StepId& step) const {
    const InactiveLimits& limits = layers_.limits();
    finding.message = fmt::format(
        "{}: {} ({:.3g} %) are above 0 in less than {:g} % of the samples, "
        "more "
        "than the {:g} % allowed, at {}",
        tensor_text(output.name, output.worker),
        InactiveLayers::units_text(output, activity), activity.inactive_percent,
        limits.inactivity_percent, limits.layer_percent, step_text(step));
    set_advice(finding, kAdvice[0]);
  }

  Evidence evidence(const Observation& output, const LayerActivity& activity,
                    const StepId& step) const {
    Evidence evidence = evidence_of(output, step);
    evidence.quantity = "dead units in percent";
    evidence.value = activity.inactive_percent;
    evidence.relation = ">";
    evidence.threshold = layers_.limits().layer_percent;
    return evidence;
  }

  TensorSelector selector_;
  InactiveLayers layers_;
  std::uint64_t seen_ = 0;
};

Result<std::unique_ptr<Rule>> make(const Parameters& parameters) {
  SMD_TRY(TensorSelector selector, required_tensors(parameters));
  return make_rule<DeadRelu>(std::move(selector),
                             InactiveLimits::of(parameters));
}

}  // namespace

const RuleFactory kDeadRelu = {
    .name = "DeadRelu",
    .summary =
        "Most units of a ReLU layer are always zero and no longer learn.",
    .condition =
        "Fires when more than 'threshold_layer' percent of the units of a "
        "layer are above 0 in less than 'threshold_inactivity' percent of the "
        "samples of a step.",
    .advice = kAdvice,
    .parameters = kParameters,
    .make = make,
};

}  // namespace smdebug
