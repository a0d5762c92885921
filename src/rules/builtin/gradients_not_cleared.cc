// GradientsNotCleared: each update uses the sum of all batches' gradients.
//
// The facts of a training tell it for each optimizer (`keeps_gradients`): the
// adapter has compared the gradients, bit for bit, over five updates in a row,
// so there is no threshold here. Accumulation over several batches does not
// count, because their sum is cleared after the update. The original has no
// such rule.
//
// A warning, not an error: sums of gradients are a momentum that never decays.
// Some trainings learn with it, though worse, and a few do it on purpose.

#include <limits>
#include <map>

#include <fmt/format.h>

#include "smdebug/base/try.h"

#include "base/strings.h"
#include "rules/builtin/builtin.h"
#include "rules/engine/coming_facts.h"
#include "rules/engine/finding.h"
#include "rules/engine/shared_parameters.h"

namespace smdebug {
namespace {

const ParameterSpec kParameters[] = {
    kStartStep,
    kEndStep,
    kPreset,
};

const Advice kAdvice[] = {
    {.cause = "a loop that never calls zero_grad(), or calls it for other "
              "parameters: PyTorch adds each new gradient to the last one, so "
              "the updates grow and repeat those before them",
     .advice = "call optimizer.zero_grad() once for each optimizer.step(), "
               "after it or before the next backward pass; for accumulation, "
               "once after each update"},
};

// The updates of an optimizer after which the adapter knows the answer.
constexpr std::string_view kEnough =
    "acted six times, or twice if its gradients are cleared, with plain or "
    "sparse gradients that a backward pass added to the model's parameters";

class GradientsNotCleared : public Rule {
 public:
  // Facts need no tensor; requesting losses ensures that steps are saved.
  RuleNeeds needs() const override {
    return {{{.collections = {"losses"}, .regexes = {}}}};
  }

  void on_facts(std::string_view name, const RunFacts& facts) override {
    workers_[std::string(name)].coming.add(facts);
  }

  Outcome on_step(const RuleStep& step) override {
    if (step.step.global == last_.global) return no_finding();
    last_ = step.step;
    return judge(last_.global);
  }

  Outcome finish() override {
    SMD_TRY(auto found, judge(std::numeric_limits<Step>::max()));
    if (found || has_judged()) return found;
    std::size_t optimizers = 0;
    for (const auto& [name, worker] : workers_) {
      optimizers += worker.facts.optimizers.size();
    }
    if (optimizers == 0) {
      return Error{Error::Code::unsupported,
                   "nothing to judge: the run has no facts of optimizers; "
                   "hooks for PyTorch report them when an optimizer acts in a "
                   "saved step"};
    }
    return Error{Error::Code::unsupported,
                 fmt::format("nothing to judge: of {}, none {}; hooks for "
                             "PyTorch and Keras can see that",
                             count_text(optimizers, "optimizer"), kEnough)};
  }

  std::string not_judged() const override {
    for (const auto& [name, worker] : workers_) {
      for (const OptimizerFacts& optimizer : worker.facts.optimizers) {
        if (!optimizer.keeps_gradients) {
          return fmt::format("{}: the hook did not see that it {}",
                             tensor_text(optimizer.kind, name), kEnough);
        }
      }
    }
    return "";
  }

 private:
  struct Worker {
    RunFacts facts;
    ComingFacts coming;

    void take_facts(Step step) {
      while (auto next = coming.take_before(step)) facts = *std::move(next);
    }
  };

  Outcome judge(Step step) {
    bool is_judged = false;
    std::optional<Finding> finding;
    for (auto& [name, worker] : workers_) {
      worker.take_facts(step);
      const auto& optimizers = worker.facts.optimizers;
      for (std::size_t i = 0; i < optimizers.size(); ++i) {
        is_judged |= optimizers[i].keeps_gradients.has_value();
        if (optimizers[i].keeps_gradients == true) {
          add(finding, worker.facts, i, name);
        }
      }
    }
    if (is_judged) count_judged();
    return finding;
  }

  void add(std::optional<Finding>& finding, const RunFacts& facts,
           std::size_t optimizer, std::string_view worker) const {
    std::vector<const ParameterFacts*> updated;
    for (const ParameterFacts& each : facts.parameters) {
      if (each.updated_by && each.updated_by->optimizer == optimizer) {
        updated.push_back(&each);
      }
    }
    const std::string& kind = facts.optimizers[optimizer].kind;
    const std::string first = updated.empty() ? "" : updated.front()->tensor;
    if (!finding) {
      finding.emplace();
      finding->message = fmt::format(
          "{}: five updates in a row used the sum of the gradients of all "
          "batches, because nothing cleared them, at {}",
          updater_text(kind, first, updated.size(), worker), step_text(last_));
      set_advice(*finding, kAdvice[0]);
    }
    Evidence& evidence = finding->evidence.emplace_back();
    evidence.tensor = first;
    evidence.worker = worker;
    evidence.step = last_;
    evidence.quantity = fmt::format("cleared gradients of {}", kind);
    evidence.relation = "<";
    evidence.threshold = 1;
  }

  // "SGD, which updates Net_fc1.weight and 3 others".
  static std::string updater_text(std::string_view kind,
                                  const std::string& first,
                                  std::size_t parameters,
                                  std::string_view worker) {
    std::string text = tensor_text(kind, worker);
    if (parameters > 0) text += ", which updates " + first;
    if (parameters > 1) {
      text += parameters == 2 ? " and one other"
                              : fmt::format(" and {} others", parameters - 1);
    }
    return text;
  }

  std::map<std::string, Worker, std::less<>> workers_;
  StepId last_;
};

}  // namespace

const RuleFactory kGradientsNotCleared = {
    .name = "GradientsNotCleared",
    .summary = "Each update uses the sum of the gradients of all batches.",
    .condition =
        "Fires when nothing clears the gradients of an optimizer between its "
        "updates: in five updates in a row, the backward pass adds to the "
        "gradients that the update before has used.",
    .advice = kAdvice,
    .parameters = kParameters,
    .make = [](const Parameters&) { return make_rule<GradientsNotCleared>(); },
};

}  // namespace smdebug
