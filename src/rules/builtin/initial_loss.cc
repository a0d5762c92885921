// InitialLoss: a classifier begins with a much higher loss than a guess, or
// with the loss of a guess times -1.
//
// A model with random weights should give each class about the same
// probability, so that its loss is ln(classes). A much higher one means that it
// is sure of wrong classes, and the first updates only undo that. Such a
// training may still succeed, so the finding is advice. A model that was
// trained before may be sure for good reasons, and is not judged. A cross
// entropy is never below 0: one of more than two classes that begins near
// -ln(classes) was negated, and the training makes the model worse. The
// original has no such rule.

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "smdebug/base/try.h"

#include "rules/builtin/builtin.h"
#include "rules/engine/coming_facts.h"
#include "rules/engine/counted_step.h"
#include "rules/engine/finding.h"
#include "rules/engine/shared_parameters.h"
#include "rules/measures/loss_of_guess.h"
#include "rules/measures/quantity.h"
#include "rules/measures/untrained_weights.h"

namespace smdebug {
namespace {

const ParameterSpec kInitialLossParameters[] = {
    {.name = "max_ratio",
     .type = ParameterType::real,
     .default_text = "4",
     .description = "The rule fires if the first losses exceed that of a guess "
                    "by more than this factor.",
     .minimum = 0.0},
    {.name = "num_steps",
     .type = ParameterType::integer,
     .default_text = "3",
     .description = "Number of saved training steps, from the first one on, "
                    "that must all have such a loss.",
     .minimum = 1.0},
    kStartStep,
    kEndStep,
    kPreset,
};

const Advice kInitialLossAdvice[] = {
    {.when = "far above a guess",
     .cause = "initial weights of the last layer that are too large, such as "
              "those of an embedding that it shares, or inputs that are not "
              "scaled: the model is sure of wrong classes before it has "
              "learned anything",
     .advice = "make the initial weights of the last layer smaller, and scale "
               "the inputs to a mean of 0 and a standard deviation of 1, until "
               "the first loss is about the logarithm of the number of classes",
     .severity = Severity::advice},
    {.when = "the wrong sign",
     .cause =
         "a loss that was negated: the updates make the right classes less "
         "likely, and the loss falls without limit",
     .advice = "remove the minus sign: minimize the cross entropy itself"},
};

// The range, in losses of a guess, in which a negated first loss lies.
constexpr double kLeastNegated = 0.5, kMostNegated = 2;

class InitialLoss : public Rule {
 public:
  explicit InitialLoss(const Parameters& parameters)
      : max_ratio_(parameters.real("max_ratio")),
        num_steps_(static_cast<std::size_t>(parameters.integer("num_steps"))) {}

  RuleNeeds needs() const override {
    return {{{.collections = {"weights"}, .regexes = {}},
             {.collections = {"losses"}, .regexes = {}}}};
  }

  void on_facts(std::string_view name, const RunFacts& facts) override {
    workers_[std::string(name)].coming.add(facts);
  }

  Outcome on_step(const RuleStep& step) override {
    if (!counted_step(step.step, std::nullopt)) return no_finding();
    if (step.step.global > last_) {
      if (auto found = judge_before(step.step.global)) return found;
      last_ = step.step.global;
    }
    for (const Observation* loss : step.by_selector(1)) {
      SMD_TRY(const auto value, quantity(*loss, {Reduction::mean}));
      if (!value) continue;
      auto& losses = worker_of(*loss).losses[std::string(loss->name)];
      const bool is_new =
          losses.empty() || losses.back().step.global < step.step.global;
      if (is_new && losses.size() < num_steps_) {
        losses.push_back({step.step, *value});
      }
    }
    for (const Observation* weight : step.by_selector(0)) {
      Worker& worker = worker_of(*weight);
      if (worker.first_weights < 0) worker.first_weights = step.step.global;
      if (worker.first_weights != step.step.global) continue;
      SMD_TRY(const auto statistics, full_statistics(*weight));
      if (!statistics || weight->shape.size() < 2) continue;
      ++(have_tails(*statistics) ? worker.trained : worker.untrained);
    }
    return no_finding();
  }

  Outcome finish() override {
    if (auto found = judge_before(std::numeric_limits<Step>::max())) {
      return found;
    }
    if (has_judged()) return no_finding();
    return Error{Error::Code::unsupported,
                 "nothing to judge: the training has no cross entropy with "
                 "a known number of classes as its only loss, or too few saved "
                 "steps, or its first loss was not saved, or its weights were "
                 "trained before"};
  }

 private:
  struct Loss {
    StepId step;
    double value = 0;
  };

  struct Worker {
    ComingFacts coming;
    std::optional<RunFacts> facts;
    std::map<std::string, std::vector<Loss>, std::less<>> losses;  // by tensor
    Step first_weights = -1;
    std::size_t trained = 0, untrained = 0;  // weights of that step
    bool is_judged = false;
  };

  Worker& worker_of(const Observation& observed) {
    const auto known = workers_.find(observed.worker);
    if (known != workers_.end()) return known->second;
    return workers_[std::string(observed.worker)];
  }

  // Judges the workers whose facts are known before `next`.
  std::optional<Finding> judge_before(Step next) {
    for (auto& [name, worker] : workers_) {
      while (auto facts = worker.coming.take_before(next)) {
        worker.facts = std::move(facts);
      }
      if (worker.is_judged || !worker.facts) continue;
      const auto guess = guess_of(*worker.facts);
      if (!guess) continue;
      const std::string& tensor = worker.facts->losses.front().tensor;
      const auto losses = worker.losses.find(tensor);
      if (losses == worker.losses.end() || losses->second.size() < num_steps_) {
        continue;
      }
      worker.is_judged = true;
      if (worker.trained > worker.untrained) continue;
      // A loss after the first update is not that of the initial weights.
      const Step first = losses->second.front().step.global;
      if (worker.first_weights >= 0 && first > worker.first_weights) continue;
      count_judged();
      if (auto found = judge(tensor, losses->second, *guess, name)) {
        return found;
      }
    }
    return std::nullopt;
  }

  std::optional<Finding> judge(const std::string& tensor,
                               const std::vector<Loss>& losses,
                               const Guess& guess,
                               std::string_view worker) const {
    const auto is_high = [&](const Loss& loss) {
      return std::isfinite(loss.value) && loss.value > max_ratio_ * guess.loss;
    };
    if (is_negated(losses, guess)) {
      return describe_negated(tensor, losses.front(), guess, worker);
    }
    if (!std::ranges::all_of(losses, is_high)) return std::nullopt;
    const Loss& first = losses.front();
    Finding finding;
    finding.message = fmt::format(
        "{}: the loss begins at {:.4g} and is {:.4g} in saved step {}, where a "
        "guess among {} classes has {:.4g}, at {}",
        tensor_text(tensor, worker), first.value, losses.back().value,
        losses.size(), guess.classes, guess.loss, step_text(first.step));
    set_advice(finding, kInitialLossAdvice[0]);
    Evidence& evidence =
        finding.evidence.emplace_back(place_of(tensor, worker, first));
    evidence.quantity = "loss / loss of a guess";
    evidence.value = first.value / guess.loss;
    evidence.relation = ">";
    evidence.threshold = max_ratio_;
    return finding;
  }

  static Evidence place_of(const std::string& tensor, std::string_view worker,
                           const Loss& loss) {
    Evidence evidence;
    evidence.tensor = tensor;
    evidence.worker = worker;
    evidence.step = loss.step;
    return evidence;
  }

  // The generator of an adversarial training may minimize the negative binary
  // cross entropy of its discriminator.
  static bool is_negated(const std::vector<Loss>& losses, const Guess& guess) {
    const double first = -losses.front().value / guess.loss;
    return guess.classes > 2 && first > kLeastNegated && first < kMostNegated &&
           std::ranges::all_of(losses,
                               [](const Loss& loss) { return loss.value < 0; });
  }

  static Finding describe_negated(const std::string& tensor, const Loss& first,
                                  const Guess& guess, std::string_view worker) {
    Finding finding;
    finding.message = fmt::format(
        "{}: the loss, a cross entropy, begins at {:.4g}, where a guess among "
        "{} classes has {:.4g}, at {}",
        tensor_text(tensor, worker), first.value, guess.classes, guess.loss,
        step_text(first.step));
    set_advice(finding, kInitialLossAdvice[1]);
    Evidence& evidence =
        finding.evidence.emplace_back(place_of(tensor, worker, first));
    evidence.quantity = "loss";
    evidence.value = first.value;
    evidence.relation = "<";
    evidence.threshold = 0;
    return finding;
  }

  double max_ratio_;
  std::size_t num_steps_;
  std::map<std::string, Worker, std::less<>> workers_;
  Step last_ = -1;
};

}  // namespace

const RuleFactory kInitialLoss = {
    .name = "InitialLoss",
    .summary =
        "A classifier begins with a much higher loss than a guess, or "
        "with a negative one.",
    .condition =
        "Fires when the only loss is a mean cross entropy and is more than "
        "'max_ratio' times the logarithm of the number of classes in each of "
        "the first 'num_steps' saved training steps; or, of more than two "
        "classes, when it is below 0 in all of them and begins near the "
        "negative of that logarithm. A model whose weights "
        "look trained, or whose loss before the first update was not saved, is "
        "not judged.",
    .advice = kInitialLossAdvice,
    .parameters = kInitialLossParameters,
    .make = make_rule<InitialLoss>,
};

}  // namespace smdebug
