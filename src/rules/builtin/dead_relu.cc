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

#include "smdebug/base/try.h"

#include "rules/builtin/builtin.h"
#include "rules/engine/finding.h"
#include "rules/engine/shared_parameters.h"
#include "rules/measures/inactive_layer_rule.h"

namespace smdebug {
namespace {

const ParameterSpec kDeadReluParameters[] = {
    {.name = kCollectionNames.name,
     .type = ParameterType::text_list,
     .default_text = "relu_output",
     .description = "Collections to judge; in PyTorch, 'relu_output' contains "
                    "the outputs of all ReLU modules, whatever their names."},
    // Names of layers: in MXNet and PyTorch, and in Keras.
    {.name = kTensorRegex.name,
     .type = ParameterType::text_list,
     .default_text =
         ".*relu_output,.*ReLU_output,"
         "(?<![PpYy])(?<![Pp]_)(?<![Yy]_)[Rr]e_?[Ll][Uu](_?\\d+)?[_/]output,"
         "/outputs/.*[Rr]elu(_\\d+)?:\\d+$",
     .description = "Patterns of the names of ReLU outputs to judge."},
    kThresholdInactivity,
    tuned(kThresholdLayer, "80"),
    kUnit,
    kStartStep,
    kEndStep,
    kPreset,
};

const Advice kDeadReluAdvice[] = {
    {.when = "dead from the first step on",
     .cause = "weights that are all 0, a very negative bias, or inputs that "
              "are not scaled: a dead ReLU returns zero and propagates no "
              "gradient, so its weights do not change",
     .advice = "initialize for ReLU (He) with biases at zero, and scale the "
               "inputs"},
    {.when = "dead after updates",
     .cause = "an update that was too large: a dead ReLU returns zero and "
              "propagates no gradient, so its weights no longer change",
     .advice = "lower the learning rate, scale the inputs, or use LeakyReLU"},
};

class DeadRelu : public InactiveLayerRule {
 public:
  DeadRelu(TensorSelector selector, const InactiveLimits& limits)
      : InactiveLayerRule(limits, kWords, kDeadReluAdvice),
        selector_(std::move(selector)) {}

  RuleNeeds needs() const override {
    return {{selector_},
            RuleNeeds::Depth::values,
            0,
            InactiveLayers::kSampledElements};
  }

 private:
  static constexpr ActiveRange kActive = {};
  static constexpr Words kWords = {.quantity = "dead units in percent",
                                   .units = "dead units",
                                   .tensors = "outputs of ReLUs"};

  std::vector<Input> inputs_of(const RuleStep& step) override {
    std::vector<Input> inputs;
    for (const Observation* output : step.by_selector(0)) {
      if (!is_string(output->dtype)) inputs.push_back({output, &kActive});
    }
    return inputs;
  }

  std::string active_text(const ActiveRange&) const override {
    return "are above 0";
  }

  TensorSelector selector_;
};

Result<std::unique_ptr<Rule>> make_dead_relu(const Parameters& parameters) {
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
    .advice = kDeadReluAdvice,
    .parameters = kDeadReluParameters,
    .make = make_dead_relu,
    .subject =
        "the outputs of ReLU layers (use nn.ReLU: functions such as "
        "F.relu, torch.relu and tf.nn.relu have none)",
};

}  // namespace smdebug
