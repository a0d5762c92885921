// ExplodingTensor: a tensor contains NaN or infinity.
//
// The documents leave the details open. Integers, booleans and strings are
// skipped. If only reductions were saved, NaN or infinity in mean, sum, l1 or
// l2, or NaN in min or max, proves that the tensor contained one.

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "smdebug/base/try.h"
#include "smdebug/core/tensor_names.h"
#include "smdebug/core/tensor_view.h"

#include "base/strings.h"
#include "rules/builtin/builtin.h"
#include "rules/engine/finding.h"
#include "rules/engine/shared_parameters.h"
#include "rules/measures/adjacent_layers.h"
#include "rules/measures/non_finite.h"

namespace smdebug {
namespace {

const ParameterSpec kExplodingTensorParameters[] = {
    {.name = "collection_names",
     .type = ParameterType::text_list,
     .default_text = "",
     .description = "Collections to judge; default, without tensor_regex: "
                    "every tensor of the run.",
     .tuned_text = "losses,gradients,weights,biases"},
    {.name = "tensor_regex",
     .type = ParameterType::text_list,
     .default_text = "",
     .description = "Patterns of the names of tensors to judge."},
    {.name = "only_nan",
     .type = ParameterType::boolean,
     .default_text = "false",
     .description = "Whether to ignore infinities."},
    {.name = "pass_scaled",
     .type = ParameterType::boolean,
     .default_text = "false",
     .description = "Whether to ignore gradients while a gradient scaler is in "
                    "use, which skips the update if one is not finite.",
     .tuned_text = "true"},
    kStartStep,
    kEndStep,
    kPreset,
};

const Advice kExplodingTensorAdvice[] = {
    {.cause = "a learning rate that is too high, a division by zero, the "
              "logarithm of zero, or a float16 overflow in the operation that "
              "computes the first such tensor: from there on, the training "
              "computes meaningless numbers",
     .advice = "inspect the operation that computes the first such tensor of "
               "the step, lower the learning rate, or clip the gradients",
     .severity = Severity::fatal},
};

// XGBoost's column of thresholds, which is NaN for leaves.
constexpr std::string_view kTreeSplits = "trees/Split";

// ", the first at [2, 7]"; empty if the elements were not saved.
std::string first_place_text(const Observation& observation, bool only_nan) {
  const auto view = observation.values->load();
  if (!view) return "";
  const auto index = first_non_finite(*view, only_nan);
  if (!index || index->empty()) return "";
  return fmt::format(", the first at [{}]", fmt::join(*index, ", "));
}

std::string counts_text(const Observation& observation,
                        const NonFinite& found) {
  if (!found.counts) {
    return fmt::format("{} in the saved {}", found.has_nan ? "NaN" : "infinity",
                       found.seen_in);
  }
  const std::int64_t size = element_count(observation.shape);
  return fmt::format("{} NaN, {} +inf, {} -inf in {}", found.counts->nan,
                     found.counts->positive_inf, found.counts->negative_inf,
                     count_text(static_cast<std::uint64_t>(size), "element"));
}

class ExplodingTensor : public Rule {
 public:
  ExplodingTensor(TensorSelector selector, bool only_nan, bool pass_scaled)
      : selector_(std::move(selector)),
        only_nan_(only_nan),
        pass_scaled_(pass_scaled) {}

  RuleNeeds needs() const override {
    RuleNeeds needs;
    needs.selectors.push_back(selector_);
    return needs;
  }

  Outcome on_scalars(std::string_view worker,
                     std::span<const ScalarSeriesView> series) override {
    for (const ScalarSeriesView& one : series) {
      if (one.name == name_parts::kGradientScale && !one.samples.empty()) {
        scaled_.emplace(worker);
      }
    }
    return no_finding();
  }

  Outcome on_step(const RuleStep& step) override {
    if (auto held = take_held()) return held;
    SMD_TRY(auto finding, judge(step));
    // The scale of the first step may be known one step later.
    const bool is_first = !std::exchange(has_seen_step_, true);
    if (finding && pass_scaled_ && is_first && are_gradients(*finding)) {
      held_ = std::move(finding);
      return no_finding();
    }
    return finding;
  }

  Outcome finish() override { return take_held(); }

 private:
  Outcome judge(const RuleStep& step) {
    std::optional<Finding> finding;
    for (const Observation* tensor : step.by_selector(0)) {
      if (selector_.every_tensor && tensor->name == kTreeSplits) continue;
      SMD_TRY(const auto found, find_non_finite(*tensor));
      if (!found) continue;
      count_judged();
      if (!found->has_nan && (only_nan_ || !found->has_inf)) continue;
      if (is_handled(tensor->name, tensor->worker)) continue;
      if (!finding) finding = describe(*tensor, *found, step.step);
      finding->evidence.push_back(evidence(*tensor, *found, step.step));
    }
    if (finding) {
      SMD_TRY(
          const std::string adjacent,
          adjacent_layers_text(step.by_selector(0), finding->evidence.front()));
      finding->message += adjacent;
      const TensorCount all = count_tensors(finding->evidence);
      finding->message += others_text(
          all, fmt::format("{} tensors of this step have such elements",
                           all.tensors));
    }
    return finding;
  }

  // Whether a gradient scaler skips the update if the tensor is not finite.
  bool is_handled(std::string_view tensor, std::string_view worker) const {
    return pass_scaled_ && tensor.starts_with(name_parts::kGradient) &&
           scaled_.contains(worker);
  }

  static bool are_gradients(const Finding& finding) {
    return std::ranges::all_of(finding.evidence, [](const Evidence& one) {
      return one.tensor.starts_with(name_parts::kGradient);
    });
  }

  // The finding of the first step, unless a gradient scaler handles it.
  std::optional<Finding> take_held() {
    auto held = std::exchange(held_, std::nullopt);
    if (held && std::ranges::all_of(held->evidence, [&](const Evidence& one) {
          return is_handled(one.tensor, one.worker);
        })) {
      held.reset();
    }
    return held;
  }

  // Compares the number of such elements; 1 if only a reduction shows some.
  Result<std::string> adjacent_layers_text(
      std::span<const Observation* const> tensors, Evidence& first) const {
    std::vector<JudgedTensor> judged;
    std::map<const Observation*, NonFinite> all_found;
    for (const Observation* tensor : tensors) {
      SMD_TRY(const auto found, find_non_finite(*tensor));
      if (!found) continue;
      judged.push_back({tensor, amount(*found)});
      all_found.emplace(tensor, *found);
    }
    return describe_adjacent_layers(
        judged, first, [&](const JudgedTensor& one) {
          return amount_text(one, all_found.at(one.tensor));
        });
  }

  // "no NaN or infinite elements", "3 NaN elements of 8".
  std::string amount_text(const JudgedTensor& judged,
                          const NonFinite& found) const {
    const std::string_view kind = only_nan_ ? "NaN" : "NaN or infinite";
    if (judged.value == 0) return fmt::format("no {} elements", kind);
    if (!found.counts) return fmt::format("{} elements", kind);
    return fmt::format("{} of {}",
                       count_text(static_cast<std::uint64_t>(judged.value),
                                  fmt::format("{} element", kind)),
                       element_count(judged.tensor->shape));
  }

  double amount(const NonFinite& found) const {
    if (!found.counts) return found.has_nan || (found.has_inf && !only_nan_);
    std::uint64_t count = found.counts->nan;
    if (!only_nan_) {
      count += found.counts->positive_inf + found.counts->negative_inf;
    }
    return static_cast<double>(count);
  }

  Finding describe(const Observation& tensor, const NonFinite& found,
                   const StepId& step) const {
    Finding finding;
    finding.message =
        fmt::format("{}: {} at {}{}", tensor_text(tensor.name, tensor.worker),
                    counts_text(tensor, found), step_text(step),
                    first_place_text(tensor, only_nan_));
    set_advice(finding, kExplodingTensorAdvice[0]);
    return finding;
  }

  Evidence evidence(const Observation& tensor, const NonFinite& found,
                    const StepId& step) const {
    Evidence evidence = evidence_of(tensor, step);
    evidence.quantity = only_nan_ ? "NaN elements" : "non-finite elements";
    evidence.relation = ">";
    evidence.threshold = 0;
    if (!found.counts) {
      evidence.quantity = "saved " + found.seen_in + " is not finite";
    }
    evidence.value = amount(found);
    return evidence;
  }

  TensorSelector selector_;
  bool only_nan_;
  bool pass_scaled_;
  std::set<std::string, std::less<>> scaled_;  // workers with a gradient scaler
  bool has_seen_step_ = false;
  std::optional<Finding> held_;
};

Result<std::unique_ptr<Rule>> make_exploding_tensor(
    const Parameters& parameters) {
  return make_rule<ExplodingTensor>(selected_or_every_tensor(parameters),
                                    parameters.boolean("only_nan"),
                                    parameters.boolean("pass_scaled"));
}

}  // namespace

const RuleFactory kExplodingTensor = {
    .name = "ExplodingTensor",
    .summary = "A tensor contains NaN or infinity.",
    .condition =
        "Fires when a tensor contains NaN, or infinity unless 'only_nan' is "
        "set. With 'pass_scaled', gradients do not count while a gradient "
        "scaler is in use.",
    .advice = kExplodingTensorAdvice,
    .parameters = kExplodingTensorParameters,
    .make = make_exploding_tensor,
};

}  // namespace smdebug
