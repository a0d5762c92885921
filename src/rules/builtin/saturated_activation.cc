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
// not a sample. If the facts say that a loss is given the output of a tanh or
// sigmoid, the last layer of that kind is not judged: it saturates where the
// model is sure.

#include <algorithm>
#include <map>
#include <ranges>
#include <set>

#include <fmt/format.h>

#include "smdebug/base/try.h"

#include "base/strings.h"
#include "rules/builtin/builtin.h"
#include "rules/engine/finding.h"
#include "rules/engine/shared_parameters.h"
#include "rules/measures/inactive_layer_rule.h"

namespace smdebug {
namespace {

const ParameterSpec kSaturatedActivationParameters[] = {
    {.name = kCollectionNames.name,
     .type = ParameterType::text_list,
     .default_text = "tanh_input,sigmoid_input",
     .description =
         "Collections to judge; in PyTorch, these two contain the inputs of "
         "all Tanh and Sigmoid modules, whatever their names."},
    // Names of layers: in MXNet and PyTorch, and in Keras.
    {.name = kTensorRegex.name,
     .type = ParameterType::text_list,
     .default_text = ".*tanh_input,.*sigmoid_input,"
                     "([Tt]anh|[Ss]igmoid)(_?\\d+)?[_/]input",
     .description =
         "Patterns of the names of tanh and sigmoid inputs to judge."},
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

const Advice kSaturatedActivationAdvice[] = {
    {.cause =
         "weights or inputs that are too large: where the function is flat, it "
         "propagates no gradient, so the layers before it no longer learn",
     .advice = "normalize the inputs, initialize with smaller weights "
               "(Xavier), lower the learning rate, or use ReLU"},
};

enum class Function { none, tanh, sigmoid };

// If a name contains both words, the last one is the layer's.
Function function_in(std::string_view name) {
  const auto last = [&](std::string_view word) {
    return std::ranges::find_end(name, word, {}, lower_ascii);
  };
  const auto tanh = last("tanh"), sigmoid = last("sigmoid");
  if (tanh.empty() && sigmoid.empty()) return Function::none;
  if (tanh.empty() || sigmoid.empty()) {
    return tanh.empty() ? Function::sigmoid : Function::tanh;
  }
  return tanh.begin() > sigmoid.begin() ? Function::tanh : Function::sigmoid;
}

struct Ranges {
  ActiveRange tanh, sigmoid;

  const ActiveRange& of(Function function) const {
    return function == Function::tanh ? tanh : sigmoid;
  }
};

// Returns one selector per collection, because its name may contain the
// function, and one for the patterns.
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

class SaturatedActivation : public InactiveLayerRule {
 public:
  SaturatedActivation(std::vector<TensorSelector> selectors,
                      const Ranges& ranges, const InactiveLimits& limits)
      : InactiveLayerRule(limits, kWords, kSaturatedActivationAdvice),
        selectors_(std::move(selectors)),
        ranges_(ranges) {}

  void on_facts(std::string_view, const RunFacts& facts) override {
    for (const LossFacts& loss : facts.losses) {
      if (!loss.input) continue;
      if (loss.input->activation == "Tanh") before_loss_.insert(Function::tanh);
      if (loss.input->activation == "Sigmoid")
        before_loss_.insert(Function::sigmoid);
    }
  }

  RuleNeeds needs() const override {
    return {selectors_, RuleNeeds::Depth::values, 0,
            InactiveLayers::kSampledElements};
  }

  Outcome finish() override {
    if (!has_seen_layers() && !unnamed_.empty()) {
      return Error{Error::Code::not_found,
                   "nothing to judge: " + unnamed_text()};
    }
    if (!has_seen_layers() && !left_out_.empty()) {
      return Error{Error::Code::not_found,
                   fmt::format("nothing to judge: {} is the input of the "
                               "activation before the loss, which saturates "
                               "where the model is sure",
                               left_out_)};
    }
    return InactiveLayerRule::finish();
  }

  std::string not_judged() const override {
    return unnamed_.empty() ? "" : unnamed_text();
  }

 private:
  static constexpr Words kWords = {.quantity = "saturated units in percent",
                                   .units = "saturated units",
                                   .tensors = "inputs of tanh or sigmoid"};

  std::vector<Input> inputs_of(const RuleStep& step) override {
    std::vector<Input> inputs;
    const auto found = functions_of(step);
    const std::set<const Observation*> last = before_the_loss(found);
    for (const auto& [tensor, function] : found) {
      if (function == Function::none) {
        unnamed_ = tensor->name;
      } else if (last.contains(tensor)) {
        left_out_ = tensor->name;
      } else {
        inputs.push_back({tensor, &ranges_.of(function)});
      }
    }
    return inputs;
  }

  // Of each function whose output a loss is given, the last tensor of each
  // worker: tensors are in the order of the forward pass.
  std::set<const Observation*> before_the_loss(
      const std::vector<std::pair<const Observation*, Function>>& found) const {
    std::set<const Observation*> last;
    std::set<std::pair<std::string_view, Function>> seen;
    for (const auto& [tensor, function] : std::views::reverse(found)) {
      if (before_loss_.contains(function) &&
          seen.emplace(tensor->worker, function).second)
        last.insert(tensor);
    }
    return last;
  }

  // Each selected tensor once, with the function in its name, or else in the
  // name of its collection.
  std::vector<std::pair<const Observation*, Function>> functions_of(
      const RuleStep& step) const {
    std::vector<std::pair<const Observation*, Function>> found;
    std::map<const Observation*, std::size_t> places;
    for (std::size_t i = 0; i < selectors_.size(); ++i) {
      for (const Observation* tensor : step.by_selector(i)) {
        if (is_string(tensor->dtype)) continue;
        const auto [place, is_new] = places.try_emplace(tensor, found.size());
        if (is_new) found.emplace_back(tensor, function_in(tensor->name));
        Function& function = found[place->second].second;
        if (function == Function::none && !selectors_[i].collections.empty()) {
          function = function_in(selectors_[i].collections.front());
        }
      }
    }
    return found;
  }

  std::string active_text(const ActiveRange& range) const override {
    return fmt::format("have an input of {} between {:g} and {:g}",
                       &range == &ranges_.tanh ? "tanh" : "sigmoid",
                       range.above, *range.below);
  }

  std::string unnamed_text() const {
    return fmt::format(
        "tensors such as {}: neither their names nor their collections contain "
        "'tanh' or 'sigmoid', so their limits are unknown",
        unnamed_);
  }

  std::vector<TensorSelector> selectors_;
  Ranges ranges_;
  std::set<Function> before_loss_;
  std::string unnamed_;   // a tensor whose function is not known
  std::string left_out_;  // the input of an activation before the loss
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

Result<std::unique_ptr<Rule>> make_saturated_activation(
    const Parameters& parameters) {
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
    .advice = kSaturatedActivationAdvice,
    .parameters = kSaturatedActivationParameters,
    .make = make_saturated_activation,
    .subject =
        "the inputs of tanh and sigmoid layers (use nn.Tanh and "
        "nn.Sigmoid: functions such as torch.tanh have none)",
};

}  // namespace smdebug
