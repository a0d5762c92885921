// SimilarAcrossRuns: a tensor differs from that of another run at the same
// step. The rule fires when they differ, although its name says the opposite.
//
//   |a - b| > atol + rtol * |b| for some element, where b is of the other run
//
// Tensors are compared by name and worker at equal global steps, as
// numpy.allclose does.
//
// The documents leave the rest open. Different shapes are a difference. A
// tensor of only one run is not compared. If one run did not save the elements,
// the rule compares statistics or saved reductions. These can prove a
// difference but not equality.
//
// The rule keeps the selected tensors of one step of the judged run. The other
// runs are fed up to that step before the next one comes.

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "smdebug/base/try.h"

#include "rules/builtin/builtin.h"
#include "rules/engine/finding.h"
#include "rules/engine/shared_parameters.h"
#include "rules/measures/tensor_difference.h"

namespace smdebug {
namespace {

const ParameterSpec kSimilarAcrossRunsParameters[] = {
    {.name = "other_trials",
     .type = ParameterType::text_list,
     .default_text = "",
     .description = "Runs to compare with; required. 'other_trial' and "
                    "'other_trial_0', 'other_trial_1', ... add further runs."},
    {.name = "collection_names",
     .type = ParameterType::text_list,
     .default_text = "",
     .description = "Collections to compare; default, without tensor_regex: "
                    "every tensor of the run."},
    {.name = "tensor_regex",
     .type = ParameterType::text_list,
     .default_text = "",
     .description = "Patterns of the names of tensors to compare."},
    kRtol,
    kAtol,
    {.name = "equal_nan",
     .type = ParameterType::boolean,
     .default_text = "true",
     .description = "Whether NaN in both runs counts as equal."},
    kStartStep,
    kEndStep,
    kPreset,
};

const Advice kSimilarAcrossRunsAdvice[] = {
    {.cause = "a different seed, data order, initialization, library version "
              "or machine",
     .advice = "compare these between the two runs; if only the last digits "
               "differ, raise rtol"},
};

class SimilarAcrossRuns : public Rule {
 public:
  explicit SimilarAcrossRuns(const Parameters& parameters)
      : others_(parameters.text_list("other_trials")) {
    selector_ = selected_or_every_tensor(parameters);
    tolerance_ = Tolerance::of(parameters);
  }

  RuleNeeds needs() const override {
    RuleNeeds needs;
    needs.selectors.push_back(selector_);
    needs.depth = RuleNeeds::Depth::values;
    needs.other_runs = others_;
    return needs;
  }

  Outcome on_step(const RuleStep& step) override {
    std::optional<Finding> finding;
    if (step.run == 0) {
      SMD_CHECK_OK(keep(step));
      return finding;
    }
    if (step.step.global != step_.global) return finding;
    SMD_TRY(const auto differing, compare(step));
    if (!differing.empty()) {
      finding = describe(differing, others_[step.run - 1]);
    }
    return finding;
  }

  Outcome finish() override {
    if (has_judged() || names_.empty()) return no_finding();
    return Error{Error::Code::not_found,
                 fmt::format("nothing to judge: no tensor of {} that this run "
                             "saved is also in {} at the same step",
                             names_.size(), fmt::join(others_, ", "))};
  }

 private:
  struct Differing {
    TensorDifference difference;
    std::vector<std::int64_t> shape, reference_shape;
    Evidence place;

    double share() const {
      if (difference.by == TensorDifference::By::shape) return 2;
      return static_cast<double>(difference.different) /
             static_cast<double>(
                 std::max<std::uint64_t>(1, difference.compared));
    }
  };

  static std::string key(const Observation& tensor) {
    return std::string(tensor.worker) + '/' + std::string(tensor.name);
  }

  Status keep(const RuleStep& step) {
    // A running step comes in two parts.
    if (step.step.global != step_.global) copies_.clear();
    step_ = step.step;
    for (const Observation* tensor : step.by_selector(0)) {
      SMD_TRY(auto copy, TensorCopy::of(*tensor));
      copies_.insert_or_assign(key(*tensor), std::move(copy));
      names_.emplace(tensor->name);
    }
    return {};
  }

  Result<std::vector<Differing>> compare(const RuleStep& step) {
    std::vector<Differing> differing;
    for (const Observation* tensor : step.by_selector(0)) {
      const auto own = copies_.find(key(*tensor));
      if (own == copies_.end()) continue;
      SMD_TRY(const auto reference, TensorCopy::of(*tensor));
      const auto difference = difference_of(own->second, reference, tolerance_);
      if (!difference) continue;
      count_judged();
      if (!difference->found()) continue;
      differing.push_back({*difference, own->second.shape, reference.shape,
                           evidence_of(*tensor, step_)});
    }
    std::ranges::stable_sort(differing, std::ranges::greater(),
                             &Differing::share);
    return differing;
  }

  static std::string difference_text(const Differing& one) {
    const TensorDifference& difference = one.difference;
    switch (difference.by) {
      case TensorDifference::By::shape:
        return fmt::format("has shape ({}) and ({}) there",
                           fmt::join(one.shape, ", "),
                           fmt::join(one.reference_shape, ", "));
      case TensorDifference::By::strings:
        return fmt::format("differs in {} of {} strings", difference.different,
                           difference.compared);
      case TensorDifference::By::statistics:
        return fmt::format("has {} {:.6g} and {:.6g} there", difference.number,
                           difference.value, difference.reference);
      case TensorDifference::By::elements:
        break;
    }
    return fmt::format(
        "differs in {} of {} elements, most where {:.6g} is "
        "{:.6g} there",
        difference.different, difference.compared, difference.value,
        difference.reference);
  }

  Finding describe(const std::vector<Differing>& differing,
                   const std::string& other) const {
    Finding finding;
    const Differing& worst = differing.front();
    finding.message =
        fmt::format("{} {}, in run '{}', at {} (rtol {}, atol {})",
                    tensor_text(worst.place.tensor, worst.place.worker),
                    difference_text(worst), other, step_text(step_),
                    tolerance_.rtol, tolerance_.atol);
    for (const Differing& one : differing) {
      Evidence evidence = one.place;
      const bool by_shape = one.difference.by == TensorDifference::By::shape;
      const bool by_number =
          one.difference.by == TensorDifference::By::statistics;
      evidence.quantity = by_shape    ? "shape differs"
                          : by_number ? "statistics that differ"
                                      : "elements that differ";
      evidence.value =
          by_shape ? 1 : static_cast<double>(one.difference.different);
      evidence.relation = ">";
      evidence.threshold = 0;
      finding.evidence.push_back(std::move(evidence));
    }
    const TensorCount found = count_tensors(finding.evidence);
    finding.message += others_text(
        found, fmt::format("{} tensors of this step differ", found.tensors));
    set_advice(finding, kSimilarAcrossRunsAdvice[0]);
    return finding;
  }

  std::vector<std::string> others_;
  TensorSelector selector_;
  Tolerance tolerance_;
  StepId step_;                               // of `copies_`
  std::map<std::string, TensorCopy> copies_;  // by `key`
  std::set<std::string, std::less<>> names_;  // saved by the judged run
};

Result<std::unique_ptr<Rule>> make_similar_across_runs(
    const Parameters& parameters) {
  if (parameters.text_list("other_trials").empty()) {
    return Error{Error::Code::invalid_config,
                 "rule SimilarAcrossRuns: parameter 'other_trials' is missing; "
                 "give a comma-separated list of runs to compare with"};
  }
  return make_rule<SimilarAcrossRuns>(parameters);
}

}  // namespace

const RuleFactory kSimilarAcrossRuns = {
    .name = "SimilarAcrossRuns",
    .summary = "A tensor differs from the one in another run at the same step.",
    .condition =
        "Fires when a tensor that both runs contain has different shapes, or "
        "elements with |a - b| > 'atol' + 'rtol' * |b|, where b is from the "
        "other run.",
    .advice = kSimilarAcrossRunsAdvice,
    .parameters = kSimilarAcrossRunsParameters,
    .make = make_similar_across_runs,
};

}  // namespace smdebug
