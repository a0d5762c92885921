// PoorWeightInitialization: the first steps show that the weights were badly
// initialized. The variances of activations differ widely, gradients have
// almost no spread, or the loss does not fall.
//
// Healthy trainings have all of these too, so the tuned rule judges the weights
// instead (weights_at_start.h). The rest of this comment is about the
// documented rule.
//
// The documents leave the details open. The variances are those of the inputs
// of activations. Training steps are counted as they were saved. Each of the
// three checks suffices, and the verdict names a check without tensors. If only
// the bounds of a gradient were saved, they prove a spread below the range if
// their distance is below it.

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <span>

#include <fmt/format.h>

#include "smdebug/base/try.h"

#include "base/strings.h"
#include "rules/builtin/builtin.h"
#include "rules/builtin/weights_at_start.h"
#include "rules/engine/counted_step.h"
#include "rules/engine/finding.h"
#include "rules/engine/layer_name.h"
#include "rules/engine/shared_parameters.h"
#include "rules/measures/element_values.h"
#include "rules/measures/quantity.h"

namespace smdebug {
namespace {

// Names of layers: in MXNet and PyTorch, and in Keras.
constexpr std::string_view kReluInputs =
    ".*relu_input,.*ReLU_input,"
    "(?<![PpYy])(?<![Pp]_)(?<![Yy]_)[Rr]e_?[Ll][Uu](_?\\d+)?[_/]input";

constexpr std::string_view kJudgeSignal = "signal", kJudgeWeights = "weights";

const ParameterSpec kPoorWeightInitializationParameters[] = {
    {.name = "judged",
     .type = ParameterType::text,
     .default_text = kJudgeSignal,
     .description =
         "The basis of the verdict: 'signal', the activation inputs, gradients "
         "and losses of the first steps; 'weights', the weights themselves.",
     .choices = {kJudgeSignal, kJudgeWeights},
     .tuned_text = kJudgeWeights},
    {.name = "max_scale",
     .type = ParameterType::real,
     .default_text = "4",
     .description = "With judged=weights, weights are too large if the median "
                    "of the scales of the layers is above this. The scale is "
                    "the root mean square of the weights times the square root "
                    "of the inputs of a unit.",
     .minimum = 0.0},
    {.name = "min_scale",
     .type = ParameterType::real,
     .default_text = "0.02",
     .description = "With judged=weights, weights are too small if the median "
                    "of the scales is below this.",
     .minimum = 0.0},
    {.name = "activation_inputs_regex",
     .type = ParameterType::text_list,
     .default_text = kReluInputs,
     .description =
         "Patterns of the names of activation inputs. The default also selects "
         "the collection 'relu_input', which in PyTorch contains the inputs of "
         "all ReLU modules, whatever their names."},
    {.name = "threshold",
     .type = ParameterType::real,
     .default_text = "10.0",
     .description = "The rule fires if the largest variance of an activation "
                    "input exceeds the smallest by more than this factor.",
     .minimum = 0.0},
    {.name = "distribution_range",
     .type = ParameterType::real,
     .default_text = "0.001",
     .description = "The rule fires if the 95th percentile of a gradient "
                    "exceeds its 5th by less than this.",
     .minimum = 0.0},
    {.name = "patience",
     .type = ParameterType::integer,
     .default_text = "5",
     .description = "The rule fires if the loss reaches no new minimum for "
                    "this many saved steps.",
     .minimum = 1.0},
    {.name = "steps",
     .type = ParameterType::real,
     .default_text = "10",
     .description = "Number of saved steps that are judged, from the start of "
                    "the training.",
     .minimum = 1.0},
    kStartStep,
    kEndStep,
    kPreset,
};

// First those of `weights_at_start`.
const Advice kPoorWeightInitializationAdvice[] = {
    {.when = "weights of 0",
     .cause = "weights that were all set to 0: no layer passes a gradient on, "
              "and all units of a layer stay equal",
     .advice = "initialize the weights at random, by the size of each layer "
               "(He for ReLU, Xavier for tanh and sigmoid); only biases and "
               "the last layers of residual branches may begin with 0"},
    {.when = "weights that are all equal",
     .cause = "weights that were all set to one constant: the units of a layer "
              "compute the same and get the same gradient, so they stay equal",
     .advice = "initialize the weights at random, by the size of each layer "
               "(He for ReLU, Xavier for tanh and sigmoid)"},
    {.when = "weights that are too large",
     .cause = "weights that were initialized without regard to the size of "
              "their layer, such as with a standard deviation of 1: each layer "
              "multiplies the signal",
     .advice = "divide the initial weights by the square root of the inputs of "
               "their layer: He for ReLU, Xavier for tanh and sigmoid, or the "
               "default of the framework"},
    {.when = "weights that are too small",
     .cause = "a standard deviation of the initial weights that is too small "
              "for the size of their layers: each layer shrinks the signal and "
              "the gradient until nothing is left of them",
     .advice = "initialize by the size of each layer: He for ReLU, Xavier for "
               "tanh and sigmoid, or the default of the framework"},
    {.when = "the signal of the first steps",
     .cause =
         "weights that were initialized without regard to the size of their "
         "layer, or inputs that are not normalized: the signal grows or "
         "vanishes between layers before the model learns anything",
     .advice = "initialize by the size of each layer (He for ReLU, Xavier for "
               "tanh and sigmoid), never with one constant, add normalization, "
               "and normalize the inputs; if only the loss does not change, "
               "try another learning rate"},
};

constexpr std::size_t kOfWeights = 4;
const Advice& kSignalAdvice = kPoorWeightInitializationAdvice[kOfWeights];

// Positions of the selectors.
constexpr std::size_t kActivations = 0;
constexpr std::size_t kGradients = 1;
constexpr std::size_t kLosses = 2;

struct Limits {
  double variance_ratio;
  double distribution_range;
  std::int64_t patience;
  double steps;
};

struct Best {
  double loss = std::numeric_limits<double>::infinity();
  std::int64_t steps_since = 0;
  bool is_first = true;
};

class PoorWeightInitialization : public Rule {
 public:
  PoorWeightInitialization(TensorSelector activations, const Limits& limits)
      : activations_(std::move(activations)), limits_(limits) {}

  RuleNeeds needs() const override {
    RuleNeeds needs;
    needs.selectors = {activations_, {{"gradients"}, {}}, {{"losses"}, {}}};
    needs.depth = RuleNeeds::Depth::values;
    return needs;
  }

  Outcome on_step(const RuleStep& step) override {
    std::optional<Finding> none;
    const bool is_empty = std::ranges::all_of(
        step.selected, [](const auto& tensors) { return tensors.empty(); });
    if (is_empty || !counted_step(step.step, std::nullopt)) return none;
    if (static_cast<double>(++steps_seen_) > limits_.steps) return none;
    std::vector<Problem> problems;
    SMD_CHECK_OK(check_activations(step, problems));
    SMD_CHECK_OK(check_gradients(step, problems));
    SMD_CHECK_OK(check_losses(step, problems));
    if (problems.empty()) return none;
    return std::optional(finding(problems, step.step));
  }

  Outcome finish() override {
    if (observations_judged() > 0 || steps_seen_ == 0) {
      return no_finding();
    }
    return Error{Error::Code::not_found, "nothing to judge: " + not_judged()};
  }

  std::uint64_t observations_judged() const override {
    return judged_[kActivations] + judged_[kGradients] + judged_[kLosses];
  }

  std::string not_judged() const override {
    constexpr std::array<std::string_view, 3> kMissing = {
        "the variances of activation inputs (fewer than two were saved in a "
        "step)",
        "the spread of the gradients (no gradient with values was saved)",
        "the loss (none was saved)"};
    std::vector<std::string_view> missing;
    for (std::size_t i = 0; i < kMissing.size(); ++i) {
      if (judged_[i] == 0) missing.push_back(kMissing[i]);
    }
    return fmt::format("{}", fmt::join(missing, ", "));
  }

 private:
  struct Problem {
    std::string text;
    Evidence evidence;
  };

  struct Input {
    const Observation* tensor = nullptr;
    double variance = 0;
  };

  // The inputs of one worker with the smallest and the largest variance.
  struct Spread {
    Input least, most;
    std::uint64_t count = 0;

    void add(const Observation& tensor, double variance) {
      if (count == 0 || variance < least.variance) least = {&tensor, variance};
      if (count == 0 || variance > most.variance) most = {&tensor, variance};
      ++count;
    }

    double ratio() const {
      if (count < 2) return 1;
      if (least.variance > 0) return most.variance / least.variance;
      return most.variance > 0 ? std::numeric_limits<double>::infinity() : 1;
    }
  };

  // Compares the layers of each worker, and reports the worst worker.
  Status check_activations(const RuleStep& step,
                           std::vector<Problem>& problems) {
    std::map<std::string_view, Spread> by_worker;
    for (const Observation* input : step.by_selector(kActivations)) {
      SMD_TRY(const auto variance, variance_of(*input));
      if (!variance || std::isnan(*variance)) continue;
      by_worker[input->worker].add(*input, *variance);
    }
    const Spread* worst = nullptr;
    for (const auto& [worker, spread] : by_worker) {
      if (spread.count < 2) continue;
      judged_[kActivations] += spread.count;
      if (!worst || spread.ratio() > worst->ratio()) worst = &spread;
    }
    if (worst && worst->ratio() > limits_.variance_ratio) {
      problems.push_back(problem_of(*worst, step.step));
    }
    return {};
  }

  Problem problem_of(const Spread& spread, const StepId& step) const {
    const auto& [least, most, count] = spread;
    const double ratio = spread.ratio();
    Evidence evidence = evidence_of(*most.tensor, step);
    evidence.quantity =
        fmt::format("variance over that of {}", least.tensor->name);
    evidence.value = ratio;
    evidence.relation = ">";
    evidence.threshold = limits_.variance_ratio;
    return {
        fmt::format("{}: the variance {} of the input of layer {} is {} times "
                    "that of layer {}, more than {:g} times",
                    tensor_text(most.tensor->name, most.tensor->worker),
                    short_number(most.variance), layer_of(most.tensor->name),
                    short_number(ratio), layer_of(least.tensor->name),
                    limits_.variance_ratio),
        std::move(evidence)};
  }

  Status check_gradients(const RuleStep& step, std::vector<Problem>& problems) {
    std::optional<Problem> worst;
    for (const Observation* gradient : step.by_selector(kGradients)) {
      SMD_TRY(const auto range, range_of(*gradient));
      if (!range) continue;
      ++judged_[kGradients];
      if (!(*range < limits_.distribution_range)) continue;
      if (worst && worst->evidence.value <= *range) continue;
      Evidence evidence = evidence_of(*gradient, step.step);
      evidence.quantity = "p95 - p5";
      evidence.value = *range;
      evidence.relation = "<";
      evidence.threshold = limits_.distribution_range;
      worst = Problem{
          fmt::format("{}: the middle 90 % of the gradient of layer {} span "
                      "{}, less than {:g}",
                      tensor_text(gradient->name, gradient->worker),
                      layer_of(gradient->name), short_number(*range),
                      limits_.distribution_range),
          std::move(evidence)};
    }
    if (worst) problems.push_back(*std::move(worst));
    return {};
  }

  // The 95th percentile minus the 5th; without elements, the distance of the
  // bounds if it is already below the limit. None if neither is known, for NaN,
  // and for fewer than two elements.
  Result<std::optional<double>> range_of(const Observation& gradient) const {
    std::optional<double> range;
    SMD_TRY(const auto view, elements_of(gradient));
    if (view) {
      if (view->size() >= 2) range = percentile_range(*view, 5, 95);
      return range;
    }
    if (gradient.statistics && gradient.statistics->count < 2) return range;
    SMD_TRY(const auto min, quantity(gradient, {Reduction::min}));
    SMD_TRY(const auto max, quantity(gradient, {Reduction::max}));
    if (min && max && *max - *min < limits_.distribution_range) {
      range = *max - *min;
    }
    return range;
  }

  Status check_losses(const RuleStep& step, std::vector<Problem>& problems) {
    for (const Observation* tensor : step.by_selector(kLosses)) {
      SMD_TRY(const auto loss, quantity(*tensor, {Reduction::mean}));
      if (!loss) continue;
      ++judged_[kLosses];
      Best& best =
          best_[{std::string(tensor->name), std::string(tensor->worker)}];
      const bool improved = *loss < best.loss;
      best.steps_since = improved || best.is_first ? 0 : best.steps_since + 1;
      best.is_first = false;
      if (improved) best.loss = *loss;
      if (best.steps_since < limits_.patience) continue;
      Evidence evidence = evidence_of(*tensor, step.step);
      evidence.quantity = "saved steps since the loss was lowest";
      evidence.value = static_cast<double>(best.steps_since);
      evidence.relation = ">=";
      evidence.threshold = static_cast<double>(limits_.patience);
      problems.push_back(
          {fmt::format("{}: the loss {:.4g} was not below {:.4g} for {} saved "
                       "steps, at least {}",
                       tensor_text(tensor->name, tensor->worker), *loss,
                       best.loss, best.steps_since, limits_.patience),
           std::move(evidence)});
    }
    return {};
  }

  Finding finding(const std::vector<Problem>& problems,
                  const StepId& step) const {
    Finding finding;
    std::vector<std::string_view> texts;
    for (const Problem& problem : problems) {
      texts.push_back(problem.text);
      finding.evidence.push_back(problem.evidence);
    }
    sort_worst_first(finding.evidence);
    finding.message =
        fmt::format("{}, at {}, saved step {} of the training",
                    fmt::join(texts, "; "), step_text(step), steps_seen_);
    if (const std::string missing = not_judged(); !missing.empty()) {
      finding.message += "; not judged: " + missing;
    }
    set_advice(finding, kSignalAdvice);
    return finding;
  }

  TensorSelector activations_;
  Limits limits_;
  std::int64_t steps_seen_ = 0;
  std::map<std::pair<std::string, std::string>, Best> best_;
  std::array<std::uint64_t, 3> judged_ = {};  // by position of the selector
};

Result<std::unique_ptr<Rule>> make_poor_weight_initialization(
    const Parameters& parameters) {
  if (parameters.text("judged") == kJudgeWeights) {
    return weights_at_start(
        {parameters.real("max_scale"), parameters.real("min_scale")},
        std::span(kPoorWeightInitializationAdvice).first<kOfWeights>());
  }
  TensorSelector activations;
  activations.regexes = parameters.text_list("activation_inputs_regex");
  if (activations.regexes == split_list(kReluInputs)) {
    activations.collections.push_back("relu_input");
  }
  return make_rule<PoorWeightInitialization>(
      std::move(activations),
      Limits{parameters.real("threshold"),
             parameters.real("distribution_range"),
             parameters.integer("patience"), parameters.real("steps")});
}

}  // namespace

const RuleFactory kPoorWeightInitialization = {
    .name = "PoorWeightInitialization",
    .summary = "The first steps show that the weights were badly initialized.",
    .condition =
        "Judges the first 'steps' saved training steps. Fires when the "
        "largest variance of an activation input is more than 'threshold' "
        "times the smallest, when p95 - p5 of a gradient is below "
        "'distribution_range', or when the loss did not reach a new low for "
        "'patience' saved steps. With judged=weights, judges the weights of "
        "the first saved training step instead. Fires when those of at least "
        "three quarters of the layers are constant, when the median of their "
        "scales is above 'max_scale' and the first loss above twice that of "
        "a model that knows nothing (without normalization, a fifth above it "
        "if the median is above 1.75 times 'max_scale', as saturated units "
        "hide large weights), and when the median is below "
        "'min_scale' and the loss does not depend on the weights yet.",
    .advice = kPoorWeightInitializationAdvice,
    .parameters = kPoorWeightInitializationParameters,
    .make = make_poor_weight_initialization,
};

}  // namespace smdebug
