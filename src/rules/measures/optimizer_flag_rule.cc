#include "rules/measures/optimizer_flag_rule.h"

#include <limits>
#include <vector>

#include <fmt/format.h>

#include "smdebug/base/try.h"

#include "base/strings.h"
#include "rules/engine/finding.h"

namespace smdebug {
namespace {

// "SGD, which updates Net_fc1.weight and 3 others".
std::string updater_text(std::string_view kind, const std::string& first,
                         std::size_t parameters, std::string_view worker) {
  std::string text = tensor_text(kind, worker);
  if (parameters > 0) text += ", which updates " + first;
  if (parameters > 1) {
    text += parameters == 2 ? " and one other"
                            : fmt::format(" and {} others", parameters - 1);
  }
  return text;
}

}  // namespace

// Facts need no tensor; requesting losses ensures that steps are saved.
RuleNeeds OptimizerFlagRule::needs() const {
  return {{{.collections = {"losses"}, .regexes = {}}}};
}

void OptimizerFlagRule::on_facts(std::string_view name, const RunFacts& facts) {
  workers_[std::string(name)].coming.add(facts);
}

Outcome OptimizerFlagRule::on_step(const RuleStep& step) {
  if (step.step.global == last_.global) return no_finding();
  last_ = step.step;
  return judge(last_.global);
}

Outcome OptimizerFlagRule::finish() {
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
               fmt::format("nothing to judge: of {}, none {}; {} can see that",
                           count_text(optimizers, "optimizer"), flag_.enough,
                           flag_.adapters)};
}

std::string OptimizerFlagRule::not_judged() const {
  for (const auto& [name, worker] : workers_) {
    for (const OptimizerFacts& optimizer : worker.facts.optimizers) {
      if (!(optimizer.*flag_.value)) {
        return fmt::format("{}: the hook did not see that it {}",
                           tensor_text(optimizer.kind, name), flag_.enough);
      }
    }
  }
  return "";
}

void OptimizerFlagRule::Worker::take_facts(Step step) {
  while (auto next = coming.take_before(step)) facts = *std::move(next);
}

Outcome OptimizerFlagRule::judge(Step step) {
  bool is_judged = false;
  std::optional<Finding> finding;
  for (auto& [name, worker] : workers_) {
    worker.take_facts(step);
    const auto& optimizers = worker.facts.optimizers;
    for (std::size_t i = 0; i < optimizers.size(); ++i) {
      const std::optional<bool>& value = optimizers[i].*flag_.value;
      is_judged |= value.has_value();
      if (value == true) add(finding, worker.facts, i, name);
    }
  }
  if (is_judged) count_judged();
  return finding;
}

void OptimizerFlagRule::add(std::optional<Finding>& finding,
                            const RunFacts& facts, std::size_t optimizer,
                            std::string_view worker) const {
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
        "{}: {}, at {}", updater_text(kind, first, updated.size(), worker),
        flag_.message, step_text(last_));
    set_advice(*finding, advice_);
  }
  Evidence& evidence = finding->evidence.emplace_back();
  evidence.tensor = first;
  evidence.worker = worker;
  evidence.step = last_;
  evidence.quantity = fmt::format("{} of {}", flag_.quantity, kind);
  evidence.value = flag_.found;
  evidence.relation = "<";
  evidence.threshold = flag_.least;
}

}  // namespace smdebug
