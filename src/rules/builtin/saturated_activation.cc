// SaturatedActivation: most units of a tanh or sigmoid layer have inputs where
// the function is flat, so almost no gradient passes. The original once called
// it TanhSaturation.
//
//   100 * saturated units / units > threshold_layer, where saturated means
//   100 * active samples / samples < threshold_inactivity
//
// The default limits are those of the documents, which leave the rest open. The
// name of the tensor decides between tanh and sigmoid, and otherwise the name
// of its collection. A unit is an index behind the batch dimension, and active
// in a sample if its input lies within the limits. Samples are counted within
// the step, or over the last 10 steps if a step has one sample per unit. NaN is
// not a sample.

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/plural.h"
#include "base/words.h"
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
     .default_text = "tanh_input,sigmoid_input",
     .description = "Collections to judge; in PyTorch these two hold what Tanh "
                    "and Sigmoid modules take, whatever their names."},
    // As MXNet and PyTorch name a layer, and as Keras does.
    {.name = kTensorRegex.name,
     .type = ParameterType::text_list,
     .default_text = ".*tanh_input,.*sigmoid_input,"
                     "([Tt]anh|[Ss]igmoid)(_?\\d+)?[_/]input",
     .description =
         "Patterns of names of inputs of tanh and sigmoid to judge."},
    {.name = "threshold_tanh_min",
     .type = ParameterType::real,
     .default_text = "-9.4999",
     .description = "An input of tanh at or below this is saturated.",
     .tuned_text = "-5"},
    {.name = "threshold_tanh_max",
     .type = ParameterType::real,
     .default_text = "9.4999",
     .description = "An input of tanh at or above this is saturated.",
     .tuned_text = "5"},
    {.name = "threshold_sigmoid_min",
     .type = ParameterType::real,
     .default_text = "-23",
     .description = "An input of sigmoid at or below this is saturated.",
     .tuned_text = "-10"},
    {.name = "threshold_sigmoid_max",
     .type = ParameterType::real,
     .default_text = "16.99999",
     .description = "An input of sigmoid at or above this is saturated.",
     .tuned_text = "10"},
    tuned(kThresholdInactivity, "25"),
    kThresholdLayer,
    kUnit,
    kStartStep,
    kEndStep,
    kPreset,
};

const Advice kAdvice[] = {
    {.cause = "weights or inputs that are too large: where the function is "
              "flat no gradient passes, so the layers before it no longer "
              "learn",
     .advice = "normalize the inputs, initialize with smaller weights "
               "(Xavier), lower the learning rate, or use ReLU"},
};

enum class Function { none, tanh, sigmoid };

// Where a name holds both words, its layer is what stands last.
Function function_in(std::string_view name) {
  const std::string lower = lower_case(name);
  const auto tanh = lower.rfind("tanh");
  const auto sigmoid = lower.rfind("sigmoid");
  if (tanh == std::string::npos && sigmoid == std::string::npos) {
    return Function::none;
  }
  if (tanh == std::string::npos) return Function::sigmoid;
  if (sigmoid == std::string::npos) return Function::tanh;
  return tanh > sigmoid ? Function::tanh : Function::sigmoid;
}

struct Ranges {
  ActiveRange tanh, sigmoid;

  const ActiveRange& of(Function function) const {
    return function == Function::tanh ? tanh : sigmoid;
  }
};

// One selector per collection, which may tell the function, and one for the
// patterns.
std::vector<TensorSelector> split(TensorSelector whole) {
  std::vector<TensorSelector> selectors;
  for (std::string& collection : whole.collections) {
    selectors.push_back({{std::move(collection)}, {}});
  }
  if (!whole.regexes.empty()) {
    selectors.push_back({{}, std::move(whole.regexes)});
  }
  return selectors;
}

class SaturatedActivation : public Rule {
 public:
  SaturatedActivation(std::vector<TensorSelector> selectors,
                      const Ranges& ranges, const InactiveLimits& limits)
      : selectors_(std::move(selectors)), ranges_(ranges), layers_(limits) {}

  RuleNeeds needs() const override {
    return {selectors_, RuleNeeds::Depth::values, 0};
  }

  Outcome on_step(const RuleStep& step) override {
    std::optional<Finding> finding;
    std::vector<JudgedTensor> judged;
    for (const auto& [input, function] : inputs_of(step)) {
      if (function == Function::none) {
        unnamed_ = input->name;
        continue;
      }
      ++seen_;
      SMD_TRY(const auto activity, layers_.judge(*input, ranges_.of(function)));
      if (!activity) continue;
      count_judged();
      judged.push_back({input, activity->inactive_percent});
      if (!layers_.is_met(*activity)) continue;
      add(finding, *input, function, *activity, step.step);
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
    if (has_judged()) return no_finding();
    if (seen_ > 0) {
      return Error{Error::Code::not_found,
                   fmt::format("nothing to judge: inputs of tanh or sigmoid "
                               "came {}, but {}",
                               count_text(seen_, "time"), layers_.why_not())};
    }
    if (unnamed_.empty()) return no_finding();
    return Error{Error::Code::not_found, "nothing to judge: " + unnamed_text()};
  }

  std::string not_judged() const override {
    return unnamed_.empty() ? "" : unnamed_text();
  }

 private:
  struct Input {
    const Observation* tensor;
    Function function;
  };

  // Each tensor that a selector took, once, with what its name or else its
  // collection says.
  std::vector<Input> inputs_of(const RuleStep& step) const {
    std::vector<Input> inputs;
    std::map<const Observation*, std::size_t> places;
    for (std::size_t i = 0; i < selectors_.size(); ++i) {
      for (const Observation* tensor : step.by_selector(i)) {
        if (is_string(tensor->dtype)) continue;
        const auto [place, is_new] = places.try_emplace(tensor, inputs.size());
        if (is_new) inputs.push_back({tensor, function_in(tensor->name)});
        Function& function = inputs[place->second].function;
        if (function == Function::none && !selectors_[i].collections.empty()) {
          function = function_in(selectors_[i].collections.front());
        }
      }
    }
    return inputs;
  }

  void add(std::optional<Finding>& finding, const Observation& input,
           Function function, const LayerActivity& activity,
           const StepId& step) const {
    if (!finding) finding.emplace();
    const bool is_worst =
        std::ranges::all_of(finding->evidence, [&](const Evidence& other) {
          return activity.inactive_percent > other.value;
        });
    if (is_worst) describe(*finding, input, function, activity, step);
    Evidence evidence = evidence_of(input, step);
    evidence.quantity = "saturated units in percent";
    evidence.value = activity.inactive_percent;
    evidence.relation = ">";
    evidence.threshold = layers_.limits().layer_percent;
    finding->evidence.push_back(std::move(evidence));
  }

  void describe(Finding& finding, const Observation& input, Function function,
                const LayerActivity& activity, const StepId& step) const {
    const InactiveLimits& limits = layers_.limits();
    const ActiveRange& range = ranges_.of(function);
    finding.message = fmt::format(
        "{}: {} ({:.3g} %) have an input of {} between {:g} and {:g} in less "
        "than "
        "{:g} % of the samples, more than the {:g} % allowed, at {}",
        tensor_text(input.name, input.worker),
        InactiveLayers::units_text(input, activity), activity.inactive_percent,
        function == Function::tanh ? "tanh" : "sigmoid", range.above,
        *range.below, limits.inactivity_percent, limits.layer_percent,
        step_text(step));
    set_advice(finding, kAdvice[0]);
  }

  std::string unnamed_text() const {
    return fmt::format(
        "tensors such as {}: neither their names nor their collections say "
        "'tanh' or 'sigmoid', so their limits are not known",
        unnamed_);
  }

  std::vector<TensorSelector> selectors_;
  Ranges ranges_;
  InactiveLayers layers_;
  std::string unnamed_;  // a tensor whose function is not known
  std::uint64_t seen_ = 0;
};

Result<ActiveRange> range_of(const Parameters& parameters,
                             const std::string& function) {
  const std::string min = "threshold_" + function + "_min";
  const std::string max = "threshold_" + function + "_max";
  const ActiveRange range = {parameters.real(min), parameters.real(max)};
  if (range.above < *range.below) return range;
  return Error{Error::Code::invalid_config,
               fmt::format("rule SaturatedActivation: {} should be below {} "
                           "but they are {:g} and {:g}",
                           min, max, range.above, *range.below)};
}

Result<std::unique_ptr<Rule>> make(const Parameters& parameters) {
  SMD_TRY(TensorSelector selector, required_tensors(parameters));
  Ranges ranges;
  SMD_TRY(ranges.tanh, range_of(parameters, "tanh"));
  SMD_TRY(ranges.sigmoid, range_of(parameters, "sigmoid"));
  return make_rule<SaturatedActivation>(split(std::move(selector)), ranges,
                                        InactiveLimits::of(parameters));
}

}  // namespace

const RuleFactory kSaturatedActivation = {
    .name = "SaturatedActivation",
    .summary =
        "Most units of a tanh or sigmoid layer are saturated and pass no "
        "gradient.",
    .condition =
        "Fires when more than 'threshold_layer' percent of the units of a "
        "layer have inputs within the limits of the function in less than "
        "'threshold_inactivity' percent of the samples of a step.",
    .advice = kAdvice,
    .parameters = kParameters,
    .make = make,
};

}  // namespace smdebug
