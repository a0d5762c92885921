// UnchangedTensor: a tensor does not change over its last saved steps.
//
//   numpy.allclose(newest, t) for each of the num_steps - 1 tensors t before it
//
// The documents leave the rest open. A different shape is a change, and an
// empty tensor is skipped. Weights do not change during an evaluation, so
// without a mode only training steps are judged. If the elements were not
// saved, a tensor is unchanged if its statistics are equal to the last bit, or
// its saved reductions are and a sum over all elements is among them.

#include <algorithm>
#include <deque>
#include <map>
#include <unordered_map>

#include <fmt/format.h>

#include "smdebug/base/try.h"

#include "base/text_hash.h"
#include "rules/builtin/builtin.h"
#include "rules/engine/counted_step.h"
#include "rules/engine/finding.h"
#include "rules/engine/layer_name.h"
#include "rules/engine/shared_parameters.h"
#include "rules/measures/quantity.h"
#include "rules/measures/tolerance.h"

namespace smdebug {
namespace {

const ParameterSpec kUnchangedTensorParameters[] = {
    kCollectionNames,
    kTensorRegex,
    {.name = "num_steps",
     .type = ParameterType::integer,
     .default_text = "3",
     .description = "Number of consecutive saved steps over which an unchanged "
                    "tensor fires; one fewer is kept in memory.",
     .minimum = 2.0},
    kRtol,
    kAtol,
    kEqualNan,
    {.name = "mode",
     .type = ParameterType::text,
     .default_text = "",
     .description = "The mode whose steps are judged; default: TRAIN, or all "
                    "steps of a run without modes.",
     .choices = {"TRAIN", "EVAL", "PREDICT", "GLOBAL"}},
    kStartStep,
    kEndStep,
    kPreset,
};

const Advice kUnchangedTensorAdvice[] = {
    {.cause = "a parameter that is frozen, not passed to the optimizer or "
              "without a gradient, a learning rate that is zero or far too "
              "small, or identical batches",
     .advice = "check requires_grad, the parameters of the optimizer and the "
               "learning rate of their group, and exclude layers that are "
               "frozen on purpose"},
};

// One tensor at one step, in the best form in which it was kept.
struct Snapshot {
  Step counted = 0;
  Step global = 0;
  KeptTensorPtr values;
  std::optional<TensorStatistics> statistics;
  std::vector<SavedReduction> reductions;

  bool is_usable() const;
};

// Whether every element contributes to a reduction. If such reductions are
// equal to the last bit over steps, the tensor is unchanged. Equal bounds do
// not show that: those of a sigmoid are often 0 and 1.
bool sums_up(const SavedReduction& saved) {
  switch (saved.op.reduction) {
    case Reduction::mean:
    case Reduction::sum:
    case Reduction::l1:
    case Reduction::l2:
    case Reduction::std:
    case Reduction::variance:
      return true;
    default:
      return false;
  }
}

bool Snapshot::is_usable() const {
  if (values) return values->size() > 0;
  if (statistics) return statistics->count > 0;
  return std::ranges::any_of(reductions, sums_up);
}

bool same_reductions(const std::vector<SavedReduction>& a,
                     const std::vector<SavedReduction>& b) {
  return std::ranges::equal(
      a, b, [](const SavedReduction& x, const SavedReduction& y) {
        return x.op == y.op && x.value == y.value;
      });
}

bool is_unchanged(const Snapshot& newest, const Snapshot& before,
                  const Tolerance& tolerance) {
  if (newest.statistics && before.statistics &&
      !max_deviation(*newest.statistics, *before.statistics, tolerance)
           .is_close()) {
    return false;
  }
  if (newest.values && before.values) {
    return newest.values->shape() == before.values->shape() &&
           max_deviation(*newest.values, *before.values, tolerance).is_close();
  }
  if (newest.statistics && before.statistics) {
    return *newest.statistics == *before.statistics;
  }
  return !newest.reductions.empty() &&
         same_reductions(newest.reductions, before.reductions);
}

class UnchangedTensor : public Rule {
 public:
  UnchangedTensor(TensorSelector selector, const Parameters& parameters)
      : selector_(std::move(selector)),
        num_steps_(static_cast<std::size_t>(parameters.integer("num_steps"))),
        tolerance_(Tolerance::of(parameters)),
        mode_(find_mode(parameters.text("mode"))) {}

  RuleNeeds needs() const override {
    return {{selector_}, RuleNeeds::Depth::values, 0};
  }

  Outcome on_step(const RuleStep& step) override {
    const auto counted = counted_step(step.step, mode_);
    if (!counted) return no_finding();
    std::vector<Evidence> offenders;
    for (const Observation* tensor : step.by_selector(0)) {
      History& history = history_of(*tensor);
      if (!history.empty() && history.back().counted >= *counted) continue;
      SMD_TRY(Snapshot newest, snapshot(*tensor, history));
      if (!newest.is_usable()) continue;
      ++seen_;
      newest.counted = *counted;
      newest.global = step.step.global;
      if (history.size() + 1 == num_steps_) {
        count_judged();
        if (stands_still(newest, history)) {
          offenders.push_back(evidence(*tensor, newest, history, step.step));
        }
        history.pop_front();
      }
      history.push_back(std::move(newest));
    }
    if (offenders.empty()) return no_finding();
    // The worst offender is the tensor with the smallest change.
    std::ranges::stable_sort(offenders, {}, &Evidence::value);
    return std::optional(finding(std::move(offenders), step.step));
  }

  Outcome finish() override {
    if (has_judged() || seen_ == 0) return no_finding();
    return Error{Error::Code::not_found,
                 fmt::format("nothing to judge: no tensor was saved at "
                             "num_steps={} steps of the judged mode",
                             num_steps_)};
  }

 private:
  using History = std::deque<Snapshot>;

  History& history_of(const Observation& tensor) {
    auto workers = histories_.find(tensor.name);
    if (workers == histories_.end()) {
      workers = histories_.try_emplace(std::string(tensor.name)).first;
    }
    const auto known = workers->second.find(tensor.worker);
    if (known != workers->second.end()) return known->second;
    return workers->second[std::string(tensor.worker)];
  }

  static Result<Snapshot> snapshot(const Observation& tensor,
                                   const History& history) {
    Snapshot made;
    const KeptTensorPtr previous =
        history.empty() ? nullptr : history.back().values;
    SMD_TRY(made.values, keep(tensor, previous));
    if (tensor.statistics && !is_string(tensor.dtype)) {
      made.statistics = *tensor.statistics;
    }
    made.reductions.assign(tensor.reductions.begin(), tensor.reductions.end());
    return made;
  }

  bool stands_still(const Snapshot& newest, const History& history) const {
    return std::ranges::all_of(history, [&](const Snapshot& before) {
      return is_unchanged(newest, before, tolerance_);
    });
  }

  Evidence evidence(const Observation& tensor, const Snapshot& newest,
                    const History& history, const StepId& step) const {
    Evidence evidence = evidence_of(tensor, step);
    const Step first = history.front().global;
    if (!newest.values || !history.front().values) {
      evidence.quantity = fmt::format(
          "largest change of {} since step {}",
          newest.statistics ? "a statistic" : "a saved reduction", first);
      evidence.relation = "<=";
      evidence.threshold = 0;
      return evidence;
    }
    evidence.quantity = fmt::format("largest change since step {}", first);
    evidence.relation = "<=";
    for (const Snapshot& before : history) {
      const MaxDeviation deviation =
          max_deviation(*newest.values, *before.values, tolerance_);
      if (evidence.threshold && deviation.value <= evidence.value) continue;
      evidence.value = deviation.value;
      evidence.threshold = deviation.allowed;
    }
    return evidence;
  }

  Finding finding(std::vector<Evidence> offenders, const StepId& step) const {
    const Evidence& worst = offenders.front();
    Finding finding;
    const std::string amount =
        *worst.threshold > 0
            ? fmt::format("{}, within {}", short_number(worst.value),
                          short_number(*worst.threshold))
            : short_number(worst.value);
    finding.message = fmt::format(
        "{}: unchanged in layer {} over {} saved steps: the {} is {}, at {}",
        tensor_text(worst.tensor, worst.worker), layer_of(worst.tensor),
        num_steps_, worst.quantity, amount, step_text(step));
    const TensorCount found = count_tensors(offenders);
    finding.message += others_text(
        found, fmt::format("{} tensors are unchanged", found.tensors));
    set_advice(finding, kUnchangedTensorAdvice[0]);
    finding.evidence = std::move(offenders);
    return finding;
  }

  TensorSelector selector_;
  std::size_t num_steps_;
  Tolerance tolerance_;
  std::optional<Mode> mode_;
  // By the name of the tensor, then by worker.
  std::unordered_map<std::string, std::map<std::string, History, std::less<>>,
                     TextHash, std::equal_to<>>
      histories_;
  std::uint64_t seen_ = 0;
};

Result<std::unique_ptr<Rule>> make_unchanged_tensor(
    const Parameters& parameters) {
  SMD_TRY(TensorSelector selector, required_tensors(parameters));
  return make_rule<UnchangedTensor>(std::move(selector), parameters);
}

}  // namespace

const RuleFactory kUnchangedTensor = {
    .name = "UnchangedTensor",
    .summary = "A tensor does not change over its last saved steps.",
    .condition =
        "Fires when a tensor equals, as in numpy.allclose, each of the "
        "'num_steps' - 1 saved before it.",
    .advice = kUnchangedTensorAdvice,
    .parameters = kUnchangedTensorParameters,
    .make = make_unchanged_tensor,
};

}  // namespace smdebug
