// WeightUpdateRatio: the weights of a layer change too much, or hardly at all,
// from one saved step to another.
//
//   r = |W_s - W_p| / (|W_p| + epsilon), r > large_threshold or
//   r < small_threshold
//
// The documents leave the rest open. The norms are Euclidean. Integer tensors
// are skipped, and so are weights that seem to be frozen: they never changed
// and the run has no gradient of them, while other weights do change or have
// one.

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <set>

#include <fmt/format.h>

#include "smdebug/base/try.h"

#include "base/strings.h"
#include "rules/builtin/builtin.h"
#include "rules/engine/counted_step.h"
#include "rules/engine/finding.h"
#include "rules/engine/layer_name.h"
#include "rules/engine/shared_parameters.h"
#include "rules/measures/adjacent_layers.h"
#include "rules/measures/kept_tensor.h"

namespace smdebug {
namespace {

const ParameterSpec kWeightUpdateRatioParameters[] = {
    {.name = "num_steps",
     .type = ParameterType::integer,
     .default_text = "",
     .description = "Compare with the oldest weights saved within this many "
                    "steps; default: with the weights saved last. All saved "
                    "weights of this many steps are kept in memory.",
     .minimum = 1.0},
    {.name = "large_threshold",
     .type = ParameterType::real,
     .default_text = "10.0",
     .description = "The rule fires if a ratio is above this.",
     .minimum = 0.0,
     .tuned_text = "1"},
    {.name = "small_threshold",
     .type = ParameterType::real,
     .default_text = "1e-8",
     .description = "The rule fires if a ratio is below this.",
     .minimum = 0.0},
    {.name = "epsilon",
     .type = ParameterType::real,
     .default_text = "1e-9",
     .description = "Added to the norm of the weights, so that the ratio is "
                    "defined for weights of zero.",
     .minimum = 0.0},
    {.name = "skip_frozen",
     .type = ParameterType::boolean,
     .default_text = "true",
     .description = "Whether to ignore weights that never change and have no "
                    "gradient in the run, while other weights do."},
    kStartStep,
    kEndStep,
    kPreset,
};

const Advice kWeightUpdateRatioAdvice[] = {
    {.when = "too large",
     .cause = "a learning rate that is too high or exploding gradients: "
              "updates this large erase what the model has learned",
     .advice = "lower the learning rate or clip the gradients"},
    {.when = "too small",
     .cause =
         "parameters that are not passed to the optimizer or get no gradient, "
         "or a learning rate that is too low: the layer hardly learns",
     .advice = "check that the parameters are passed to the optimizer and get "
               "gradients, raise the learning rate, or exclude layers that are "
               "frozen on purpose"},
};

struct SavedWeight {
  Step step = 0;
  StepId id;
  KeptTensorPtr values;
};

// The weights of one tensor from one worker, as far back as they are compared.
class WeightSeries {
 public:
  bool has(Step step) const {
    return !saved_.empty() && saved_.back().step >= step;
  }
  KeptTensorPtr last() const {
    return saved_.empty() ? nullptr : saved_.back().values;
  }
  bool has_changed() const { return has_changed_; }

  // Adds the newest; returns what it is compared with, if anything.
  std::optional<SavedWeight> add(SavedWeight newest,
                                 std::optional<Step> num_steps) {
    if (last() && last()->shape() != newest.values->shape()) saved_.clear();
    has_changed_ |= last() && last() != newest.values;
    while (num_steps && !saved_.empty() &&
           saved_.front().step < newest.step - *num_steps) {
      saved_.pop_front();
    }
    std::optional<SavedWeight> before;
    if (!saved_.empty()) before = saved_.front();
    if (!num_steps) saved_.clear();
    saved_.push_back(std::move(newest));
    return before;
  }

 private:
  bool has_changed_ = false;
  std::deque<SavedWeight> saved_;
};

// Keras, unlike other frameworks, lists among the weights of a normalization
// its offset, which starts at 0 like a bias, and moving statistics, which no
// optimizer updates.
bool is_beside_weights(std::string_view name) {
  constexpr std::array<std::string_view, 3> kVariables = {
      "/beta:0", "/moving_mean:0", "/moving_variance:0"};
  return std::ranges::any_of(kVariables, [name](std::string_view variable) {
    return name.ends_with(variable);
  });
}

class WeightUpdateRatio : public Rule {
 public:
  explicit WeightUpdateRatio(const Parameters& parameters)
      : large_(parameters.real("large_threshold")),
        small_(parameters.real("small_threshold")),
        epsilon_(parameters.real("epsilon")),
        skip_frozen_(parameters.boolean("skip_frozen")) {
    if (parameters.has("num_steps")) {
      num_steps_ = parameters.integer("num_steps");
    }
  }

  RuleNeeds needs() const override {
    RuleNeeds needs;
    needs.selectors.push_back({.collections = {"weights"}, .regexes = {}});
    needs.selectors.push_back(
        {.collections = {"gradients"}, .regexes = {}, .if_saved = true});
    needs.depth = RuleNeeds::Depth::values;
    needs.interval = num_steps_.value_or(0);
    return needs;
  }

  Outcome on_step(const RuleStep& step) override {
    const auto counted = counted_step(step.step, std::nullopt);
    if (!counted) return no_finding();
    for (const Observation* gradient : step.by_selector(1)) {
      with_gradient_.emplace(parameter_of_gradient(gradient->name));
    }
    SMD_TRY(const std::vector<Update> updates,
            updates_of(step.by_selector(0), *counted, step.step));
    std::optional<Finding> finding;
    for (const Update& update : updates) {
      if (is_frozen(update, updates)) {
        frozen_.emplace(update.weight->name);
        continue;
      }
      count_judged();
      if (update.ratio > large_ || update.ratio < small_) {
        add(finding, update, step.step);
      }
    }
    if (finding) complete(*finding, updates, step.step);
    return finding;
  }

  Outcome finish() override {
    if (has_judged() || saved_ == 0) return no_finding();
    return Error{
        Error::Code::not_found,
        fmt::format("nothing to judge: weights were seen {}, but "
                    "none in two saved steps of the training{}",
                    count_text(saved_, "time"),
                    num_steps_ ? " that are at most num_steps apart" : "")};
  }

  std::string not_judged() const override {
    if (frozen_.empty()) return "";
    std::set<std::string_view> weights;
    for (const auto& [name_and_worker, series] : series_) {
      weights.insert(name_and_worker.first);
    }
    return fmt::format(
        "{} of {} weights, such as {}, which never change and "
        "seem to be frozen (skip_frozen=false judges them)",
        frozen_.size(), weights.size(), *frozen_.begin());
  }

 private:
  struct Update {
    const Observation* weight;
    Step from_global;
    double ratio;
    bool has_changed;  // ever
  };

  Result<std::vector<Update>> updates_of(
      std::span<const Observation* const> weights, Step counted,
      const StepId& step) {
    std::vector<Update> updates;
    for (const Observation* weight : weights) {
      if (!is_floating(weight->dtype) || is_beside_weights(weight->name)) {
        continue;
      }
      WeightSeries& series =
          series_[{std::string(weight->name), std::string(weight->worker)}];
      if (series.has(counted)) continue;
      SMD_TRY(const KeptTensorPtr values, keep(*weight, series.last()));
      if (!values || values->size() == 0) continue;
      ++saved_;
      const auto before = series.add({counted, step, values}, num_steps_);
      if (!before) continue;
      const double ratio = norm_of_difference(*values, *before->values) /
                           (norm_of(*before->values) + epsilon_);
      updates.push_back(
          {weight, before->id.global, ratio, series.has_changed()});
    }
    return updates;
  }

  // A weight is frozen if it never changes while others do.
  bool is_frozen(const Update& update,
                 const std::vector<Update>& updates) const {
    if (!skip_frozen_ || update.has_changed || has_gradient(*update.weight)) {
      return false;
    }
    return !with_gradient_.empty() ||
           std::ranges::any_of(updates, &Update::has_changed);
  }

  bool has_gradient(const Observation& weight) const {
    return with_gradient_.contains(parameter_of_weight(weight.name)) ||
           with_gradient_.contains(weight.name);
  }

  void add(std::optional<Finding>& finding, const Update& update,
           const StepId& step) const {
    if (!finding) finding.emplace();
    Evidence evidence = evidence_of(*update.weight, step);
    evidence.quantity =
        fmt::format("|update| / |weight| since step {}", update.from_global);
    evidence.value = update.ratio;
    evidence.relation = update.ratio > large_ ? ">" : "<";
    evidence.threshold = update.ratio > large_ ? large_ : small_;
    finding->evidence.push_back(std::move(evidence));
  }

  static void complete(Finding& finding, const std::vector<Update>& updates,
                       const StepId& step) {
    sort_worst_first(finding.evidence);
    std::vector<JudgedTensor> judged;
    for (const Update& update : updates) {
      judged.push_back({update.weight, update.ratio});
    }
    const std::string adjacent = describe_adjacent_layers(
        judged, finding.evidence.front(), [](const JudgedTensor& one) {
          return "a ratio of " + short_number(one.value);
        });
    const Evidence& worst = finding.evidence.front();
    const bool is_large = worst.relation == ">";
    finding.message = fmt::format(
        "{}: {} of layer {} is {}, {} {:g}, at {}",
        tensor_text(worst.tensor, worst.worker), worst.quantity,
        layer_of(worst.tensor), short_number(worst.value),
        is_large ? "above" : "below", *worst.threshold, step_text(step));
    finding.message += adjacent;
    std::set<std::string_view> weights;
    for (const Update& update : updates) weights.insert(update.weight->name);
    const TensorCount found = count_tensors(finding.evidence);
    finding.message +=
        others_text(found, fmt::format("{} of {} weights are out of bounds",
                                       found.tensors, weights.size()));
    set_advice(finding, kWeightUpdateRatioAdvice[is_large ? 0 : 1]);
  }

  std::optional<Step> num_steps_;
  double large_;
  double small_;
  double epsilon_;
  bool skip_frozen_;
  std::map<std::pair<std::string, std::string>, WeightSeries> series_;
  std::set<std::string, std::less<>> with_gradient_;  // parameters
  std::set<std::string, std::less<>> frozen_;         // names of weights
  std::uint64_t saved_ = 0;
};

}  // namespace

const RuleFactory kWeightUpdateRatio = {
    .name = "WeightUpdateRatio",
    .summary = "Weights change too much between saved steps, or hardly at all.",
    .condition =
        "Fires if |W_s - W_p| / (|W_p| + 'epsilon') is above 'large_threshold' "
        "or below 'small_threshold', for the weights W of a layer at step s "
        "and at the step p before it.",
    .advice = kWeightUpdateRatioAdvice,
    .parameters = kWeightUpdateRatioParameters,
    .make = make_rule<WeightUpdateRatio>,
};

}  // namespace smdebug
