// NormalizationTrouble: the running statistics of a normalization do not become
// those of the data, so that an evaluation normalizes by other numbers than the
// training.
//
// An update moves them to the statistics of its batch by a share s: `momentum`
// of PyTorch, 1 - `momentum` of Keras. After n updates the share (1 - s)^n of
// their first values, mean 0 and variance 1, is left. The rule fires if they
// cannot move or are not finite, and advises if they are those of the last
// batch, if most of
// their first values is left where the model was evaluated, and if a batch has
// a single sample, whose statistics are not those of the data either. The
// original has no such rule.

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "smdebug/base/try.h"

#include "base/strings.h"
#include "rules/builtin/builtin.h"
#include "rules/engine/coming_facts.h"
#include "rules/engine/finding.h"
#include "rules/engine/shared_parameters.h"
#include "rules/measures/module_modes.h"
#include "rules/measures/quantity.h"

namespace smdebug {
namespace {

const ParameterSpec kNormalizationTroubleParameters[] = {
    {.name = "num_steps",
     .type = ParameterType::integer,
     .default_text = "20",
     .description = "Number of TRAIN steps before the rule judges.",
     .minimum = 1.0},
    {.name = "last_batch_share",
     .type = ParameterType::real,
     .default_text = "0.9",
     .description = "Share of the statistics of a batch, from which on the "
                    "running ones are those of the last batch.",
     .minimum = 0.0,
     .maximum = 1.0},
    {.name = "first_values_share",
     .type = ParameterType::real,
     .default_text = "0.5",
     .description = "Share of their first values that the running statistics "
                    "may still have at the last evaluation.",
     .minimum = 0.0,
     .maximum = 1.0},
    kStartStep,
    kEndStep,
    kPreset,
};

enum class Trouble { fixed, last_batch, single_sample, lags, not_finite };

constexpr const char* kUsualMomentum =
    "use the usual momentum: 0.1 in PyTorch, where it is the share of the new "
    "batch, and 0.99 in Keras, where it is the share of the old statistics";

// In the order of `Trouble`.
const Advice kNormalizationTroubleAdvice[] = {
    {.when = "running statistics that do not change",
     .cause = "a momentum that keeps the running statistics of a normalization "
              "where they began: an evaluation normalizes by other numbers "
              "than the training",
     .advice = kUsualMomentum},
    {.when = "running statistics of the last batch",
     .cause = "a momentum with the meaning of another framework: the running "
              "statistics are those of the last batch, so each evaluation "
              "depends on it",
     .advice = kUsualMomentum,
     .severity = Severity::advice},
    {.when = "a batch of one sample",
     .cause = "a normalization over a batch of one: the training normalizes "
              "each sample by itself, and an evaluation by the running "
              "statistics",
     .advice = "use larger batches, or GroupNorm, LayerNorm or InstanceNorm, "
               "which do not need them",
     .severity = Severity::advice},
    {.when = "running statistics that lag behind",
     .cause = "fewer updates than the momentum of a normalization needs: its "
              "running statistics are still near their first values, by which "
              "an evaluation normalizes",
     .advice = "train longer, or let the statistics follow faster: by a higher "
               "momentum in PyTorch, a lower one in Keras",
     .severity = Severity::advice},
    {.when = "running statistics that are not finite",
     .cause = "a batch with NaN or infinity, such as an overflow in float16: "
              "the training normalizes by other batches and continues, but the "
              "running statistics, and with them every evaluation, stay NaN",
     .advice = "skip batches that are not finite, continue from a checkpoint "
               "before that step, or reset the statistics with "
               "reset_running_stats() and train on"},
};

// Of PyTorch, MXNet and Keras.
constexpr const char* kRunningStatistics =
    "(running|moving)_(mean|var|variance)(:0)?$";
// They are small, but there are many.
constexpr Step kStatisticsInterval = 50;

const Advice& advice_on(Trouble trouble) {
  return kNormalizationTroubleAdvice[static_cast<std::size_t>(trouble)];
}

// Steps in which the inputs of a model must have been measured.
constexpr std::uint64_t kMeasuredSteps = 3;

// The share of a batch in the running statistics after it; none if the module
// has none or does not update them by a momentum.
std::optional<double> batch_share(const ModuleFacts& module) {
  const auto tracks = setting(module.settings, "track_running_stats");
  const auto momentum = setting(module.settings, "momentum");
  if (tracks.value_or(0) <= 0 || !momentum || module.is_training != true) {
    return std::nullopt;
  }
  const bool is_of_keras = module.kind == "BatchNormalization";
  return is_of_keras ? 1 - *momentum : *momentum;
}

bool have_one_sample(const RunFacts& facts) {
  return !facts.inputs.empty() &&
         std::ranges::all_of(facts.inputs, [](const DataFacts& input) {
           return input.steps >= kMeasuredSteps && input.shape.size() > 1 &&
                  input.shape.front() == 1;
         });
}

class NormalizationTrouble : public Rule {
 public:
  explicit NormalizationTrouble(const Parameters& parameters)
      : num_steps_(parameters.integer("num_steps")),
        last_batch_share_(parameters.real("last_batch_share")),
        first_values_share_(parameters.real("first_values_share")) {}

  // Requesting losses ensures that steps are saved, for facts.
  RuleNeeds needs() const override {
    return {.selectors = {{.collections = {"losses"}, .regexes = {}},
                          {.collections = {}, .regexes = {kRunningStatistics}}},
            .interval = kStatisticsInterval};
  }

  void on_facts(std::string_view name, const RunFacts& facts) override {
    workers_[std::string(name)].coming.add(facts);
  }

  Outcome on_step(const RuleStep& step) override {
    if (step.step.global == last_.global) return no_finding();
    last_ = step.step;
    if (last_.mode == Mode::train) updates_ = last_.mode_step + 1;
    if (last_.mode == Mode::eval) updates_when_evaluated_ = updates_;
    take_facts(last_.global);
    SMD_TRY(auto not_finite, find_not_finite(step));
    if (not_finite) return not_finite;
    return updates_ < num_steps_ ? no_finding() : find(/*has_ended=*/false);
  }

  Outcome finish() override {
    take_facts(last_.global + 1);
    if (updates_ >= num_steps_) {
      if (auto found = find(/*has_ended=*/true)) return found;
    }
    if (has_judged()) return no_finding();
    return Error{Error::Code::unsupported, "nothing to judge: " + why_not()};
  }

 private:
  struct Worker {
    RunFacts facts;
    ComingFacts coming;
  };
  using Modules = std::vector<const ModuleFacts*>;

  void take_facts(Step step) {
    for (auto& [name, worker] : workers_) {
      while (auto next = worker.coming.take_before(step)) {
        worker.facts = *std::move(next);
      }
      has_modules_ |= !worker.facts.modules.empty();
      const bool has_statistics = std::ranges::any_of(
          worker.facts.modules, [](const ModuleFacts& module) {
            return batch_share(module).has_value();
          });
      has_statistics_ |= has_statistics;
      if (has_statistics && updates_ >= num_steps_) count_judged();
    }
  }

  std::string why_not() const {
    if (has_statistics_) {
      return fmt::format("it needs {} TRAIN steps, and the run has {}",
                         num_steps_, updates_);
    }
    return has_modules_ ? "no normalization that trains has running statistics "
                          "with a momentum"
                        : "the run has no settings of modules; hooks for "
                          "PyTorch and Keras report them when an optimizer "
                          "acts in a saved step";
  }

  Outcome find_not_finite(const RuleStep& step) {
    std::optional<Finding> finding;
    for (const Observation* statistic : step.by_selector(1)) {
      SMD_TRY(const auto statistics, full_statistics(*statistic));
      if (!statistics || !is_floating(statistic->dtype)) continue;
      count_judged();
      if (!statistics->has_non_finite()) continue;
      if (!finding) {
        finding.emplace();
        finding->message =
            fmt::format("{}: {} of {} are NaN or infinite, at {}",
                        tensor_text(statistic->name, statistic->worker),
                        statistics->count - statistics->finite(),
                        count_text(statistics->count, "running statistic"),
                        step_text(step.step));
        set_advice(*finding, advice_on(Trouble::not_finite));
      }
      Evidence& evidence = finding->evidence.emplace_back();
      evidence.tensor = statistic->name;
      evidence.worker = statistic->worker;
      evidence.step = step.step;
      evidence.quantity = "elements that are NaN or infinite";
      evidence.value =
          static_cast<double>(statistics->count - statistics->finite());
      evidence.relation = ">";
      evidence.threshold = 0;
    }
    return finding;
  }

  std::optional<Finding> find(bool has_ended) const {
    for (const auto& [name, worker] : workers_) {
      for (const Trouble trouble : {Trouble::fixed, Trouble::last_batch,
                                    Trouble::single_sample, Trouble::lags}) {
        if (trouble == Trouble::lags && !has_ended) continue;
        const Modules modules = with(trouble, worker.facts);
        if (!modules.empty()) return describe(trouble, modules, name);
      }
    }
    return std::nullopt;
  }

  Modules with(Trouble trouble, const RunFacts& facts) const {
    Modules found;
    if (trouble == Trouble::single_sample && !have_one_sample(facts))
      return found;
    for (const ModuleFacts& module : facts.modules) {
      const auto share = batch_share(module);
      if (share && is_in(trouble, *share)) found.push_back(&module);
    }
    return found;
  }

  bool is_in(Trouble trouble, double share) const {
    switch (trouble) {
      case Trouble::fixed:
        return share <= 0;
      case Trouble::last_batch:
        return share >= last_batch_share_;
      case Trouble::single_sample:
        return true;
      case Trouble::lags:
        return updates_when_evaluated_ > 0 &&
               left_of_first(share) > first_values_share_;
      case Trouble::not_finite:
        break;
    }
    return false;
  }

  // The share of their first values that is left at the last evaluation.
  double left_of_first(double share) const {
    return std::pow(1 - share, static_cast<double>(updates_when_evaluated_));
  }

  std::string what(Trouble trouble, double share) const {
    switch (trouble) {
      case Trouble::fixed:
        return "the running statistics stay where they began";
      case Trouble::last_batch:
        return fmt::format(
            "the running statistics are to {:.3g} % those of the last batch",
            100 * share);
      case Trouble::single_sample:
        return "the statistics are those of a batch of one sample";
      case Trouble::lags:
        return fmt::format(
            "{:.2g} % of the first running statistics were left when the model "
            "was last evaluated, after about {} updates",
            100 * left_of_first(share), updates_when_evaluated_);
      case Trouble::not_finite:
        break;
    }
    return {};
  }

  Finding describe(Trouble trouble, const Modules& modules,
                   std::string_view worker) const {
    Finding finding;
    const ModuleFacts& first = *modules.front();
    const std::string others =
        modules.size() == 1
            ? ""
            : " and " + count_text(modules.size() - 1, "further normalization");
    finding.message = fmt::format(
        "{} ({}, momentum {:g}){}: {}, at {}", tensor_text(first.path, worker),
        first.kind, first.settings.at("momentum"), others,
        what(trouble, *batch_share(first)), step_text(last_));
    set_advice(finding, advice_on(trouble));
    for (const ModuleFacts* module : modules) {
      Evidence& evidence = finding.evidence.emplace_back();
      evidence.tensor = module->path;
      evidence.worker = worker;
      evidence.step = last_;
      evidence.quantity = "share of a batch in the running statistics";
      evidence.value = *batch_share(*module);
    }
    return finding;
  }

  Step num_steps_;
  double last_batch_share_, first_values_share_;
  std::map<std::string, Worker, std::less<>> workers_;
  StepId last_;
  Step updates_ = 0;  // TRAIN steps so far
  Step updates_when_evaluated_ = 0;
  bool has_modules_ = false, has_statistics_ = false;
};

}  // namespace

const RuleFactory kNormalizationTrouble = {
    .name = "NormalizationTrouble",
    .summary =
        "The running statistics of a normalization are not those of the "
        "data.",
    .condition =
        "Fires if a running statistic is NaN or infinite. After 'num_steps' "
        "TRAIN steps, fires if the momentum of a "
        "normalization keeps its running statistics where they began, and "
        "advises if they are those of the last batch ('last_batch_share'), if "
        "a batch has one sample, and at the end of the training if more than "
        "'first_values_share' of their first values was left when the model "
        "was last evaluated.",
    .advice = kNormalizationTroubleAdvice,
    .parameters = kNormalizationTroubleParameters,
    .make = make_rule<NormalizationTrouble>,
};

}  // namespace smdebug
