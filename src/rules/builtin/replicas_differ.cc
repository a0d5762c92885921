// ReplicasDiffer: weights that should be equal on every worker are not. The
// replicas of a data-parallel training drift apart if a gradient is not shared,
// or if a worker started from other weights. The original has no such rule.
//
// At each step every worker is compared with the first one that saved the
// tensor, or the same part of a distributed one. Without elements, statistics
// that differ by more than the tolerance allows prove a difference, but cannot
// rule out a small one. NaN equals NaN.
//
// A training may cut a tensor by itself. So a layer passes if one of its
// tensors differs when the workers are compared for the first time while others
// do not.

#include <algorithm>
#include <cmath>
#include <set>
#include <span>
#include <string_view>
#include <unordered_set>
#include <vector>

#include <fmt/format.h>

#include "smdebug/base/try.h"
#include "smdebug/core/tensor_view.h"

#include "base/text_hash.h"
#include "rules/builtin/builtin.h"
#include "rules/engine/finding.h"
#include "rules/engine/layer_name.h"
#include "rules/engine/shared_parameters.h"
#include "rules/measures/quantity.h"
#include "rules/measures/tolerance.h"

namespace smdebug {
namespace {

const ParameterSpec kReplicasDifferParameters[] = {
    {.name = kCollectionNames.name,
     .type = ParameterType::text_list,
     .default_text = "weights,biases",
     .description =
         "Collections of tensors that must be the same on every worker."},
    {.name = kTensorRegex.name,
     .type = ParameterType::text_list,
     .default_text = "",
     .description = "Patterns of the names of such tensors."},
    kRtol,
    kAtol,
    kStartStep,
    kEndStep,
    kPreset,
};

const Advice kReplicasDifferAdvice[] = {
    {.cause =
         "workers that started from different weights, or a gradient that is "
         "not averaged over them (layers used outside the wrapped model, "
         "no_sync, parameters that are not in the graph of one worker)",
     .advice =
         "start all workers from the same weights, make sure that every "
         "gradient is averaged, and give all optimizers the same settings"},
};

// The result of comparing two replicas.
struct Comparison {
  bool is_judged = false;
  std::string quantity = "difference";
  MaxDeviation deviation = {};
};

class ReplicasDiffer : public Rule {
 public:
  ReplicasDiffer(TensorSelector selector, const Tolerance& tolerance)
      : selector_(std::move(selector)), tolerance_(tolerance) {
    tolerance_.equal_nan = true;
  }

  RuleNeeds needs() const override { return {{selector_}}; }

  Outcome on_step(const RuleStep& step) override {
    std::vector<Evidence> offenders;
    std::vector<std::string_view> equal;  // tensors
    std::set<std::string_view> cut;       // layers
    const std::vector<const Observation*> tensors = by_part(step);
    for (auto first = tensors.begin(); first != tensors.end();) {
      const auto end =
          std::find_if_not(first, tensors.end(), [&](const Observation* each) {
            return compare_parts(**first, *each) == 0;
          });
      const Replicas replicas(first, end);
      first = end;
      if (replicas.size() == 1) continue;
      const std::size_t before = offenders.size();
      SMD_CHECK_OK(add_offenders(replicas, step.step, offenders));
      const std::string_view name = replicas.front()->name;
      const bool is_first = note_compared(name);
      if (offenders.size() > before) {
        if (is_first) cut.insert(layer_of(name));
      } else if (!is_constant(*replicas.front())) {
        equal.push_back(name);
      }
    }
    if (offenders.empty()) return no_finding();
    const bool has_other_layers = std::ranges::any_of(
        equal,
        [&](std::string_view name) { return !cut.contains(layer_of(name)); });
    if (has_other_layers) cut_layers_.insert(cut.begin(), cut.end());
    std::erase_if(offenders, [&](const Evidence& each) {
      return cut_layers_.contains(layer_of(each.tensor));
    });
    if (offenders.empty()) return no_finding();
    std::ranges::stable_sort(offenders, std::ranges::greater(),
                             &Evidence::value);
    return std::optional(finding(std::move(offenders), step.step));
  }

  Outcome finish() override {
    if (has_judged() || workers_.empty()) return no_finding();
    if (workers_.size() == 1) {
      return Error{Error::Code::unsupported,
                   fmt::format("nothing to judge: only {} saved these "
                               "tensors; save those of all workers "
                               "(include_workers='all')",
                               *workers_.begin())};
    }
    return Error{Error::Code::not_found,
                 "nothing to judge: no two workers saved values, statistics or "
                 "bounds of the same tensor at the same step"};
  }

 private:
  // The observations of a tensor, or of a part of a distributed one.
  using Replicas = std::span<const Observation* const>;

  // Below 0 if the part of `a` comes first, 0 if it is that of `b`.
  static int compare_parts(const Observation& a, const Observation& b) {
    if (const int order = a.name.compare(b.name)) return order;
    if (!a.placement || !b.placement) {
      return int(a.placement != nullptr) - int(b.placement != nullptr);
    }
    if (*a.placement < *b.placement) return -1;
    return *b.placement < *a.placement ? 1 : 0;
  }

  // Returns whether no two replicas of the tensor were compared before.
  bool note_compared(std::string_view name) {
    return !compared_.contains(name) && compared_.emplace(name).second;
  }

  // Compares each replica with the first.
  Status add_offenders(Replicas replicas, const StepId& step,
                       std::vector<Evidence>& offenders) {
    const Observation& reference = *replicas.front();
    for (std::size_t i = 1; i < replicas.size(); ++i) {
      SMD_TRY(const Comparison found, compare(*replicas[i], reference));
      if (!found.is_judged) continue;
      count_judged();
      if (found.deviation.is_close()) continue;
      Evidence evidence = evidence_of(*replicas[i], step);
      evidence.quantity =
          fmt::format("{} from {}", found.quantity, reference.worker);
      evidence.value = found.deviation.value;
      evidence.relation = ">";
      evidence.threshold = found.deviation.allowed;
      offenders.push_back(std::move(evidence));
    }
    return {};
  }

  // Whether it is the same on all workers wherever they start from, as a bias
  // that begins as zeros.
  static bool is_constant(const Observation& tensor) {
    return tensor.statistics &&
           tensor.statistics->min == tensor.statistics->max;
  }

  // FullyShardedDataParallel of torch does not record which part a worker has.
  static bool is_cut_by_torch(std::string_view name) {
    return name.find("_fsdp_wrapped_module") != std::string_view::npos ||
           name.find("_flat_param") != std::string_view::npos;
  }

  // The observations with those of a part beside each other, by worker; none
  // if only one worker is known.
  std::vector<const Observation*> by_part(const RuleStep& step) {
    std::vector<const Observation*> tensors;
    for (const Observation* tensor : step.by_selector(0)) {
      if (is_string(tensor->dtype) || is_cut_by_torch(tensor->name)) continue;
      tensors.push_back(tensor);
      if (!workers_.contains(tensor->worker)) workers_.emplace(tensor->worker);
    }
    if (workers_.size() < 2) return {};
    std::ranges::stable_sort(
        tensors, [](const Observation* a, const Observation* b) {
          const int order = compare_parts(*a, *b);
          return order == 0 ? a->worker < b->worker : order < 0;
        });
    return tensors;
  }

  Result<Comparison> compare(const Observation& replica,
                             const Observation& reference) const {
    if (!std::ranges::equal(replica.shape, reference.shape)) {
      return Comparison{true,
                        "elements of another shape",
                        {static_cast<double>(element_count(replica.shape)), 0}};
    }
    if (replica.statistics && reference.statistics &&
        *replica.statistics == *reference.statistics) {
      return Comparison{replica.statistics->count > 0};
    }
    SMD_TRY(const KeptTensorPtr mine, keep(replica));
    SMD_TRY(const KeptTensorPtr theirs, keep(reference));
    if (mine && theirs) {
      return Comparison{mine->size() > 0, "largest difference",
                        max_deviation(*mine, *theirs, tolerance_)};
    }
    if (replica.statistics && reference.statistics) {
      return Comparison{replica.statistics->count > 0,
                        "difference of a statistic",
                        max_deviation(*replica.statistics,
                                      *reference.statistics, tolerance_)};
    }
    return by_bounds(replica, reference);
  }

  // Saved bounds of equal tensors are equal; sums need not be.
  Comparison by_bounds(const Observation& replica,
                       const Observation& reference) const {
    Comparison found;
    found.quantity = "difference of a saved bound";
    for (const SavedReduction& mine : replica.reductions) {
      const auto theirs = saved_reduction(reference, mine.op);
      if (!theirs || !std::isfinite(*theirs) || !std::isfinite(mine.value) ||
          (mine.op.reduction != Reduction::min &&
           mine.op.reduction != Reduction::max)) {
        continue;
      }
      found.is_judged = true;
      const MaxDeviation deviation = {
          std::abs(mine.value - *theirs),
          tolerance_.atol + tolerance_.rtol * std::abs(*theirs)};
      if (deviation.value > found.deviation.value) found.deviation = deviation;
    }
    return found;
  }

  static Finding finding(std::vector<Evidence> offenders, const StepId& step) {
    const Evidence& worst = offenders.front();
    std::set<std::string_view> tensors;
    for (const Evidence& each : offenders) tensors.insert(each.tensor);
    Finding finding;
    finding.message =
        fmt::format("{} ({}): {} in layer {} is {}, above {}, at {}",
                    worst.tensor, worst.worker, worst.quantity,
                    layer_of(worst.tensor), short_number(worst.value),
                    short_number(worst.threshold.value_or(0)), step_text(step));
    if (tensors.size() > 1) {
      finding.message +=
          fmt::format("; {} tensors differ between workers", tensors.size());
    }
    set_advice(finding, kReplicasDifferAdvice[0]);
    finding.evidence = std::move(offenders);
    return finding;
  }

  TensorSelector selector_;
  Tolerance tolerance_;
  std::set<std::string, std::less<>> workers_;
  // Names of tensors.
  std::unordered_set<std::string, TextHash, std::equal_to<>> compared_;
  std::set<std::string, std::less<>> cut_layers_;  // which pass
};

Result<std::unique_ptr<Rule>> make_replicas_differ(
    const Parameters& parameters) {
  SMD_TRY(TensorSelector selector, required_tensors(parameters));
  return make_rule<ReplicasDiffer>(std::move(selector),
                                   Tolerance::of(parameters));
}

}  // namespace

const RuleFactory kReplicasDiffer = {
    .name = "ReplicasDiffer",
    .summary = "Weights that should be equal on all workers are not.",
    .condition =
        "Fires when a tensor of one worker does not equal, as in "
        "numpy.allclose, that of the first worker at the same step.",
    .advice = kReplicasDifferAdvice,
    .parameters = kReplicasDifferParameters,
    .make = make_replicas_differ,
};

}  // namespace smdebug
