// SchedulerNotStepped: a scheduler of learning rates was made for an optimizer,
// and the loop never steps it.
//
// A scheduler may step once per epoch, so the rule waits until the loop has
// begun several passes over its data, and fires at the end of the run. Without
// data loaders, evaluations take the place of passes: with them, a long epoch
// may have several. Of several schedulers of an optimizer, one that steps is
// enough: others may take over later. The original has no such rule.

#include <algorithm>
#include <map>
#include <string>

#include <fmt/format.h>

#include "base/strings.h"
#include "rules/builtin/builtin.h"
#include "rules/engine/finding.h"
#include "rules/engine/shared_parameters.h"
#include "rules/measures/facts_rule.h"

namespace smdebug {
namespace {

const ParameterSpec kSchedulerNotSteppedParameters[] = {
    {.name = "num_passes",
     .type = ParameterType::integer,
     .default_text = "3",
     .description = "Number of passes over the training data, or of "
                    "evaluations, in which a scheduler should have stepped.",
     .minimum = 1.0},
    kStartStep,
    kEndStep,
    kPreset,
};

const Advice kSchedulerNotSteppedAdvice[] = {
    {.cause = "a call of scheduler.step() that is missing, or is never "
              "reached: the learning rate stays what it was at first",
     .advice = "call scheduler.step() after each epoch, or after each update "
               "if the schedule counts updates"},
};

// Hooks describe the first schedulers that step, at most this many.
constexpr std::size_t kMostSchedulers = 4;

// Whether a scheduler has stepped that is, or may be, of an optimizer.
bool may_have_stepped(const LoopFacts& loop, std::size_t optimizer) {
  return loop.schedulers.size() >= kMostSchedulers ||
         std::ranges::any_of(loop.schedulers, [&](const SchedulerFacts& one) {
           return one.optimizer.value_or(optimizer) == optimizer;
         });
}

class SchedulerNotStepped : public FactsRule {
 public:
  explicit SchedulerNotStepped(const Parameters& parameters)
      : num_passes_(
            static_cast<std::uint64_t>(parameters.integer("num_passes"))) {}

  Outcome on_step(const RuleStep& step) override {
    evaluations_ += step.step.mode == Mode::eval && mode_ == Mode::train;
    mode_ = step.step.mode;
    return FactsRule::on_step(step);
  }

  Outcome finish() override {
    if (auto found = judge_rest()) return found;
    for (const auto& [worker, facts] : facts_) {
      if (auto found = find(facts, worker)) return found;
    }
    if (has_judged()) return no_finding();
    if (!has_scheduler_) {
      return Error{Error::Code::unsupported,
                   "nothing to judge: no scheduler of learning rates was made "
                   "for an optimizer; hooks for PyTorch can see that"};
    }
    return Error{Error::Code::not_found,
                 fmt::format("nothing to judge: fewer passes over the data, or "
                             "evaluations, began than num_passes={}",
                             num_passes_)};
  }

 private:
  // Keeps the last facts: a scheduler may step late.
  std::optional<Finding> judge(const RunFacts& facts,
                               std::string_view worker) override {
    facts_[std::string(worker)] = facts;
    return std::nullopt;
  }

  std::optional<Finding> find(const RunFacts& facts, std::string_view worker) {
    for (std::size_t i = 0; i < facts.optimizers.size(); ++i) {
      if (facts.optimizers[i].has_scheduler != true) continue;
      has_scheduler_ = true;
      if (passes_of(facts) < num_passes_) continue;
      count_judged();
      if (!may_have_stepped(facts.loop, i)) {
        return describe(facts.optimizers[i].kind, worker, facts.loop);
      }
    }
    return std::nullopt;
  }

  std::uint64_t passes_of(const RunFacts& facts) const {
    return facts.loop.data_passes.value_or(evaluations_);
  }

  Finding describe(const std::string& kind, std::string_view worker,
                   const LoopFacts& loop) const {
    Finding finding;
    finding.message = fmt::format(
        "{}: a scheduler of learning rates was made for it and has not stepped "
        "until {}, although {} began",
        tensor_text(kind, worker), step_text(last_step()),
        loop.data_passes
            ? fmt::format("at least {} passes over the data", *loop.data_passes)
            : count_text(evaluations_, "evaluation"));
    set_advice(finding, kSchedulerNotSteppedAdvice[0]);
    Evidence& evidence = finding.evidence.emplace_back();
    evidence.tensor = kind;
    evidence.worker = worker;
    evidence.step = last_step();
    evidence.quantity = "steps of the scheduler";
    evidence.relation = "<";
    evidence.threshold = 1;
    return finding;
  }

  std::uint64_t num_passes_;
  std::uint64_t evaluations_ = 0;
  Mode mode_ = Mode::global;
  bool has_scheduler_ = false;
  std::map<std::string, RunFacts, std::less<>> facts_;  // by worker
};

}  // namespace

const RuleFactory kSchedulerNotStepped = {
    .name = "SchedulerNotStepped",
    .summary = "A scheduler of learning rates was made but never steps.",
    .condition =
        "Fires at the end of a training in which at least 'num_passes' passes "
        "over the data or evaluations began, if a scheduler of learning rates "
        "was made for an optimizer and none of that optimizer has stepped.",
    .advice = kSchedulerNotSteppedAdvice,
    .parameters = kSchedulerNotSteppedParameters,
    .make = make_rule<SchedulerNotStepped>,
};

}  // namespace smdebug
