// MixedPrecision: narrow numbers spoil the training, or hide that it is
// spoiled.
//
// Two faults follow from the facts of a training: gradients that are clipped
// while they carry the scale of a gradient scaler, and float16 weights with an
// optimizer whose epsilon is 0 in float16. The second is only reported once a
// loss is not finite, because an optimizer of a library may keep its state in
// float32. A third is the log of a trainer that leaves out such losses.
//
// Whether a gradient scaler skips updates follows from its scale, which is
// lower after each skipped update and after no other. A new scaler begins with
// a scale that is too high and skips until it fits; in a sound training that is
// far above 1. The original has no such rule.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "smdebug/base/try.h"
#include "smdebug/core/tensor_names.h"

#include "base/strings.h"
#include "rules/builtin/builtin.h"
#include "rules/engine/coming_facts.h"
#include "rules/engine/counted_step.h"
#include "rules/engine/finding.h"
#include "rules/engine/shared_parameters.h"
#include "rules/measures/scale_course.h"
#include "rules/measures/training_losses.h"

namespace smdebug {
namespace {

const ParameterSpec kMixedPrecisionParameters[] = {
    {.name = "skipped_share",
     .type = ParameterType::real,
     .default_text = "0.25",
     .description = "Share of skipped updates above which the gradient scaler "
                    "skips too many.",
     .minimum = 0.0,
     .maximum = 1.0},
    kStartStep,
    kEndStep,
    kPreset,
};

enum class PrecisionFault {
  clipped_while_scaled,
  epsilon_is_zero,
  always_skips,
  often_skips,
  hidden_by_log,
};

// In the order of `PrecisionFault`.
const Advice kMixedPrecisionAdvice[] = {
    {.when = "gradients clipped before they are unscaled",
     .cause = "a missing scaler.unscale_(optimizer): the limit applies to "
              "gradients that are thousands of times too large, so the "
              "updates become thousands of times too small",
     .advice = "call scaler.unscale_(optimizer) after the backward pass and "
               "before the clipping",
     .severity = Severity::fatal},
    {.when = "float16 weights with an epsilon that is 0",
     .cause = "a model in float16, in which the epsilon of the optimizer "
              "rounds to 0: an update divides by 0, and the weights become NaN",
     .advice = "keep the weights in float32 and use autocast with a gradient "
               "scaler, or use bfloat16",
     .severity = Severity::fatal},
    {.when = "a gradient scaler that skips each update",
     .cause = "gradients that are NaN or infinite at any scale, often because "
              "the loss is",
     .advice = "look for the first tensor that is not finite, run the backward "
               "pass without autocast, or use bfloat16",
     .severity = Severity::fatal},
    {.when = "a gradient scaler that skips many updates",
     .cause = "a scale that grows after a few updates, or gradients that often "
              "overflow in float16",
     .advice = "use the default growth_interval of the scaler, or bfloat16, "
               "and look for batches with very large losses"},
    {.when = "a log that hides NaN",
     .cause = "the filter of the trainer's log (logging_nan_inf_filter of "
              "Transformers): the log shows 0.0, or the mean of earlier steps, "
              "where the loss is NaN or infinite",
     .advice = "set logging_nan_inf_filter=False, and search what makes the "
               "loss NaN"},
};

// Updates in which gradients were clipped: one may be an accident.
constexpr std::uint64_t kClippings = 3;
// A limit that was multiplied by the scale is in the hundreds or more.
constexpr double kHighestLimit = 100;
// float16 numbers up to this one round to 0.
constexpr double kRoundsToZero = 0x1p-25;

// A parameter whose optimizer divides by 0 if a gradient is 0, or so small that
// its square is.
struct NarrowWeight {
  const ParameterFacts* parameter;
  std::string_view optimizer;
  double eps;
};

std::optional<NarrowWeight> narrow_weight(const RunFacts& facts) {
  for (const ParameterFacts& each : facts.parameters) {
    if (!each.is_trainable || each.dtype != "float16" || !each.updated_by) {
      continue;
    }
    const OptimizerFacts& optimizer =
        facts.optimizers[each.updated_by->optimizer];
    const auto eps =
        setting(optimizer.groups[each.updated_by->group].settings, "eps");
    if (eps && *eps >= 0 && *eps <= kRoundsToZero) {
      return NarrowWeight{&each, optimizer.kind, *eps};
    }
  }
  return std::nullopt;
}

// Whether the facts can have one of the faults. A training in float32 without a
// gradient scaler cannot.
bool may_have_fault(const RunFacts& facts) {
  return facts.loop.scaled_clippings > 0 || facts.loop.log_hides_not_finite ||
         std::ranges::any_of(facts.parameters, [](const ParameterFacts& each) {
           return each.updated_by && each.dtype == "float16";
         });
}

class MixedPrecision : public Rule {
 public:
  explicit MixedPrecision(const Parameters& parameters)
      : skipped_share_(parameters.real("skipped_share")) {}

  // Facts and series need no tensor; requesting losses ensures that steps are
  // saved.
  RuleNeeds needs() const override {
    return {{{.collections = {"losses"}, .regexes = {}}}};
  }

  void on_facts(std::string_view name, const RunFacts& facts) override {
    workers_[std::string(name)].coming.add(facts);
  }

  Outcome on_scalars(std::string_view name,
                     std::span<const ScalarSeriesView> series) override {
    Worker& worker = workers_[std::string(name)];
    std::optional<Finding> finding;
    for (const ScalarSeriesView& one : series) {
      if (one.name == name_parts::kGradientScale && !finding) {
        finding = follow_scale(worker, one, name);
      } else if (names_loss(one.name)) {
        note_losses(worker, one);
      }
    }
    return finding;
  }

  Outcome on_step(const RuleStep& step) override {
    if (step.step.global == last_.global) return no_finding();
    last_ = step.step;
    return judge(last_.global);
  }

  Outcome finish() override {
    SMD_TRY(auto found, judge(std::numeric_limits<Step>::max()));
    if (found || has_judged()) return found;
    return Error{Error::Code::unsupported,
                 "nothing to judge: no optimizer updates float16 weights, and "
                 "there is neither the scale of a gradient scaler nor a log "
                 "that hides NaN; hooks for PyTorch report them when an "
                 "optimizer acts"};
  }

 private:
  struct Loss {
    std::string tensor;
    ScalarSample sample;
  };

  struct Worker {
    RunFacts facts;
    ComingFacts coming;
    std::optional<Step> first_update;
    ScaleCourse scale;
    std::optional<Loss> not_finite;  // the first such loss
  };

  static void note_losses(Worker& worker, const ScalarSeriesView& series) {
    for (const ScalarSample& sample : series.samples) {
      if (std::isfinite(sample.value) ||
          !counted_step(sample.step, std::nullopt)) {
        continue;
      }
      auto& first = worker.not_finite;
      if (!first || sample.step.global < first->sample.step.global) {
        first = Loss{std::string(series.name), sample};
      }
      return;
    }
  }

  std::optional<Finding> follow_scale(Worker& worker,
                                      const ScalarSeriesView& series,
                                      std::string_view name) {
    for (const ScalarSample& sample : series.samples) {
      count_judged();
      worker.scale.add(sample.value);
      const ScaleCourse::Answer answer = worker.scale.judge(skipped_share_);
      if (answer == ScaleCourse::Answer::sound) continue;
      const bool is_always = answer == ScaleCourse::Answer::always_skips;
      Finding finding;
      finding.message = fmt::format(
          "the gradient scaler{} has skipped {} of the last {}; its scale {} "
          "{:.4g} at {}",
          tensor_text("", name), worker.scale.skipped(),
          count_text(worker.scale.updates(), "update"),
          is_always ? fmt::format("fell from {:.4g} to", worker.scale.highest())
                    : "is",
          sample.value, step_text(sample.step));
      set_advice(finding, advice_on(is_always ? PrecisionFault::always_skips
                                              : PrecisionFault::often_skips));
      Evidence& evidence = finding.evidence.emplace_back();
      evidence.tensor = series.name;
      evidence.worker = name;
      evidence.step = sample.step;
      evidence.quantity = "share of skipped updates";
      evidence.value = static_cast<double>(worker.scale.skipped()) /
                       static_cast<double>(worker.scale.updates());
      evidence.relation = ">";
      evidence.threshold = skipped_share_;
      return finding;
    }
    return std::nullopt;
  }

  Outcome judge(Step step) {
    for (auto& [name, worker] : workers_) {
      while (auto next = worker.coming.take_before(step)) {
        worker.facts = *std::move(next);
        if (worker.facts.optimizers.empty()) continue;
        if (may_have_fault(worker.facts)) count_judged();
        if (!worker.first_update) worker.first_update = worker.facts.step;
      }
      if (auto found = clipping(worker.facts, name)) return found;
      // The facts of an update are known one step later.
      const auto& loss = worker.not_finite;
      if (!loss || loss->sample.step.global >= step) continue;
      const bool is_updated = worker.first_update &&
                              loss->sample.step.global > *worker.first_update;
      if (is_updated) {
        if (auto found = narrow(worker.facts, *loss, name)) return found;
      }
      if (auto found = hidden(worker.facts, *loss, name)) return found;
    }
    return no_finding();
  }

  std::optional<Finding> clipping(const RunFacts& facts,
                                  std::string_view worker) const {
    const LoopFacts& loop = facts.loop;
    if (loop.scaled_clippings < kClippings || !loop.scaled_clipping_limit ||
        *loop.scaled_clipping_limit > kHighestLimit) {
      return std::nullopt;
    }
    Finding finding;
    finding.message = fmt::format(
        "the gradients{} are clipped at {:.4g} while they carry the scale of "
        "the gradient scaler, in {} until {}",
        tensor_text("", worker), *loop.scaled_clipping_limit,
        count_text(loop.scaled_clippings, "update"), step_text(last_));
    set_advice(finding, advice_on(PrecisionFault::clipped_while_scaled));
    Evidence& evidence = finding.evidence.emplace_back();
    evidence.tensor = name_parts::kGradientScale;
    evidence.worker = worker;
    evidence.step = last_;
    evidence.quantity = "updates with clipped gradients that carry the scale";
    evidence.value = static_cast<double>(loop.scaled_clippings);
    evidence.relation = ">=";
    evidence.threshold = static_cast<double>(kClippings);
    return finding;
  }

  static std::optional<Finding> narrow(const RunFacts& facts, const Loss& loss,
                                       std::string_view worker) {
    const auto weight = narrow_weight(facts);
    if (!weight) return std::nullopt;
    Finding finding;
    finding.message = fmt::format(
        "{}: a float16 weight, in which the eps of {}, {:g}, is 0; {} is {} at "
        "{}",
        tensor_text(weight->parameter->tensor, worker), weight->optimizer,
        weight->eps, loss.tensor, not_finite_text(loss.sample.value),
        step_text(loss.sample.step));
    set_advice(finding, advice_on(PrecisionFault::epsilon_is_zero));
    Evidence& evidence = finding.evidence.emplace_back();
    evidence.tensor = weight->parameter->tensor;
    evidence.worker = worker;
    evidence.step = loss.sample.step;
    evidence.quantity = fmt::format("eps of {}", weight->optimizer);
    evidence.value = weight->eps;
    evidence.relation = "<=";
    evidence.threshold = kRoundsToZero;
    return finding;
  }

  static std::optional<Finding> hidden(const RunFacts& facts, const Loss& loss,
                                       std::string_view worker) {
    if (!facts.loop.log_hides_not_finite) return std::nullopt;
    Finding finding;
    finding.message = fmt::format(
        "{} is {} at {}, although the log of the trainer shows a number, 0.0 "
        "if no loss was finite",
        tensor_text(loss.tensor, worker), not_finite_text(loss.sample.value),
        step_text(loss.sample.step));
    set_advice(finding, advice_on(PrecisionFault::hidden_by_log));
    Evidence& evidence = finding.evidence.emplace_back();
    evidence.tensor = loss.tensor;
    evidence.worker = worker;
    evidence.step = loss.sample.step;
    evidence.quantity = "finite loss";
    evidence.value = 0;
    evidence.relation = "<";
    evidence.threshold = 1;
    return finding;
  }

  static const Advice& advice_on(PrecisionFault fault) {
    return kMixedPrecisionAdvice[static_cast<std::size_t>(fault)];
  }

  double skipped_share_;
  std::map<std::string, Worker, std::less<>> workers_;
  StepId last_;
};

}  // namespace

const RuleFactory kMixedPrecision = {
    .name = "MixedPrecision",
    .summary = "Narrow numbers spoil the training, or hide that it is spoiled.",
    .condition =
        "Fires when gradients are clipped in 3 updates while they carry the "
        "scale of a gradient scaler, at a limit of at most 100; when the scale "
        "falls below 1 because at least 10 of the last 64 updates are skipped; "
        "when more than 'skipped_share' of 64 updates are skipped, after the "
        "first 64; and when a loss is NaN or infinite with float16 weights "
        "whose optimizer has an epsilon that is 0 in float16, or with a "
        "trainer that hides it in its log.",
    .advice = kMixedPrecisionAdvice,
    .parameters = kMixedPrecisionParameters,
    .make = make_rule<MixedPrecision>,
};

}  // namespace smdebug
