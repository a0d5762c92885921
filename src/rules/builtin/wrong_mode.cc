// WrongMode: an optimizer updates a model that is in evaluation mode.
//
// The facts of a training have the mode of each module during an update, and
// are reported again when a mode changes. The rule fires if they show the whole
// model in evaluation mode for num_steps. If only some parts are, it advises
// when the training has ended, because that may be on purpose. It advises as
// well if a model is evaluated in training mode. The original has no such rule.

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "smdebug/base/try.h"

#include "base/strings.h"
#include "rules/builtin/builtin.h"
#include "rules/engine/coming_facts.h"
#include "rules/engine/finding.h"
#include "rules/engine/shared_parameters.h"
#include "rules/measures/module_modes.h"

namespace smdebug {
namespace {

const ParameterSpec kWrongModeParameters[] = {
    {.name = "num_steps",
     .type = ParameterType::integer,
     .default_text = "10",
     .description = "Number of global steps that the model must remain in "
                    "evaluation mode.",
     .minimum = 1.0},
    kStartStep,
    kEndStep,
    kPreset,
};

const Advice kWrongModeAdvice[] = {
    {.when = "the whole model",
     .cause = "a call to model.eval() for an evaluation, without model.train() "
              "after it, or a pretrained model, which loads in evaluation "
              "mode: dropout drops nothing, and the running statistics of "
              "normalization do not change",
     .advice = "call model.train() before the first step and after each "
               "evaluation"},
    {.when = "some modules",
     .cause = "a call to eval() on a part of the model whose parameters still "
              "train; some fine-tuning does this on purpose",
     .advice = "call train() on these modules, or freeze their parameters if "
               "evaluation mode is intended",
     .severity = Severity::advice},
    {.when = "an evaluation in training mode",
     .cause = "no call to model.eval() before the evaluation: dropout drops "
              "elements, and a batch normalization uses the statistics of each "
              "batch and adds them to its running statistics",
     .advice = "call model.eval() before each evaluation, and model.train() "
               "after it",
     .severity = Severity::advice},
};

constexpr std::size_t kModulesShown = 3;
// Losses in training mode that are no accident.
constexpr std::uint64_t kEvaluations = 10;

// "1 (BatchNorm2d), 5 (Dropout) and 3 more".
std::string modules_text(const std::vector<const ModuleFacts*>& modules) {
  std::string text;
  for (std::size_t i = 0; i < modules.size() && i < kModulesShown; ++i) {
    text += fmt::format("{}{} ({})", i ? ", " : "", modules[i]->path,
                        modules[i]->kind);
  }
  if (modules.size() > kModulesShown) {
    text += fmt::format(" and {} more", modules.size() - kModulesShown);
  }
  return text;
}

class WrongMode : public Rule {
 public:
  explicit WrongMode(const Parameters& parameters)
      : num_steps_(parameters.integer("num_steps")) {}

  // Facts need no tensor; requesting losses ensures that steps are saved.
  RuleNeeds needs() const override {
    return {{{.collections = {"losses"}, .regexes = {}}}};
  }

  void on_facts(std::string_view name, const RunFacts& facts) override {
    workers_[std::string(name)].coming.add(facts);
  }

  Outcome on_step(const RuleStep& step) override {
    if (step.step.global == last_.global) return no_finding();
    known_until_ = last_.global;
    last_ = step.step;
    if (first_ < 0) first_ = last_.global;
    bool is_judged = false;
    for (auto& [name, worker] : workers_) {
      worker.take_facts(last_.global);
      is_judged |= worker.has_dependent();
    }
    if (is_judged) count_judged();
    if (auto found = find(/*is_whole=*/true)) return found;
    return find_evaluation();
  }

  Outcome finish() override {
    known_until_ = last_.global;
    for (auto& [name, worker] : workers_) {
      worker.take_facts(last_.global + 1);
    }
    if (auto found = find(/*is_whole=*/true)) return found;
    if (auto found = find(/*is_whole=*/false)) return found;
    if (auto found = find_evaluation()) return found;
    if (has_judged()) {
      return fail_if_too_few(last_.global - first_ + 1, "step", num_steps_ + 1);
    }
    std::size_t modules = 0;
    for (const auto& [name, worker] : workers_) {
      modules = std::max(modules, worker.facts.modules.size());
    }
    if (modules == 0) {
      return Error{Error::Code::unsupported,
                   "nothing to judge: the run has no modes of modules; hooks "
                   "for PyTorch report them when an optimizer acts in a saved "
                   "step"};
    }
    return Error{Error::Code::unsupported,
                 fmt::format("nothing to judge: of {}, none that trains is a "
                             "dropout or a normalization with running "
                             "statistics",
                             count_text(modules, "module"))};
  }

 private:
  struct Worker {
    RunFacts facts;
    std::vector<ModelModes> models;     // point into `facts`
    std::map<std::string, Step> since;  // model -> first step in evaluation
    ComingFacts coming;

    void take_facts(Step step) {
      while (auto next = coming.take_before(step)) {
        facts = *std::move(next);
        models = modes_of_trained_models(facts);
        note_evaluation();
      }
    }

    void note_evaluation() {
      std::map<std::string, Step> before = std::move(since);
      since.clear();
      for (const ModelModes& model : models) {
        if (model.evaluating.empty()) continue;
        const auto known = before.find(model.model);
        since[model.model] = known == before.end() ? facts.step : known->second;
      }
    }

    bool has_dependent() const {
      return std::ranges::any_of(
          models, [](const ModelModes& model) { return model.dependent > 0; });
    }
  };

  // The first model of a worker that has been in evaluation mode long enough.
  std::optional<Finding> find(bool is_whole) const {
    for (const auto& [name, worker] : workers_) {
      for (const ModelModes& model : worker.models) {
        const auto since = worker.since.find(model.model);
        if (since == worker.since.end() ||
            known_until_ - since->second < num_steps_ ||
            model.is_all_evaluating() != is_whole) {
          continue;
        }
        return describe(model, since->second, name);
      }
    }
    return std::nullopt;
  }

  Finding describe(const ModelModes& model, Step since,
                   std::string_view worker) const {
    Finding finding;
    const bool is_whole = model.is_all_evaluating();
    finding.message = fmt::format(
        "{}: an optimizer has updated {} in evaluation mode since step {}, "
        "with "
        "{} of {} dropout and normalization modules: {}, at {}",
        tensor_text(model.model, worker),
        is_whole ? "the model" : "a part of the model", since,
        model.evaluating.size(), model.dependent,
        modules_text(model.evaluating), step_text(last_));
    set_advice(finding, kWrongModeAdvice[is_whole ? 0 : 1]);
    for (const ModuleFacts* module : model.evaluating) {
      add_evidence(finding, module->path, worker);
      finding.evidence.back().quantity = "training mode";
      finding.evidence.back().relation = "<";
      finding.evidence.back().threshold = 1;
    }
    return finding;
  }

  std::optional<Finding> find_evaluation() const {
    for (const auto& [name, worker] : workers_) {
      const auto& losses = worker.facts.loop.evaluations_in_training_mode;
      if (!losses || *losses < kEvaluations) continue;
      for (const ModelModes& model : worker.models) {
        if (model.dependent == 0) continue;
        Finding finding;
        finding.message = fmt::format(
            "{}: all {} losses without gradients were computed in training "
            "mode, although the model has {}, until {}",
            tensor_text(model.model, name), *losses,
            count_text(model.dependent, "dropout and normalization module"),
            step_text(last_));
        set_advice(finding, kWrongModeAdvice[2]);
        add_evidence(finding, model.model, name);
        finding.evidence.back().quantity = "losses without gradients";
        finding.evidence.back().value = static_cast<double>(*losses);
        finding.evidence.back().relation = ">=";
        finding.evidence.back().threshold = static_cast<double>(kEvaluations);
        return finding;
      }
    }
    return std::nullopt;
  }

  void add_evidence(Finding& finding, std::string_view tensor,
                    std::string_view worker) const {
    Evidence& evidence = finding.evidence.emplace_back();
    evidence.tensor = tensor;
    evidence.worker = worker;
    evidence.step = last_;
  }

  Step num_steps_;
  std::map<std::string, Worker, std::less<>> workers_;
  Step first_ = -1;
  StepId last_;
  // The last step whose facts have arrived, if they changed.
  Step known_until_ = -1;
};

}  // namespace

const RuleFactory kWrongMode = {
    .name = "WrongMode",
    .summary =
        "An optimizer updates a model that is in evaluation mode, or a "
        "model is evaluated in training mode.",
    .condition =
        "Fires when a model is updated in evaluation mode for 'num_steps' "
        "steps although it has a dropout that drops something or a "
        "normalization with running statistics, and advises if only some of "
        "these modules are in evaluation mode, or if such a model is evaluated "
        "in training mode.",
    .advice = kWrongModeAdvice,
    .parameters = kWrongModeParameters,
    .make = make_rule<WrongMode>,
};

}  // namespace smdebug
