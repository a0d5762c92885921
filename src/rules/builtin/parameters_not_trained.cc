// ParametersNotTrained: parameters that should train do not move.
//
// A parameter is stuck if all of its statistics are equal, to the last bit, at
// all saved steps since the first, over at least num_steps training steps. The
// facts of the training and the gradients then give the cause; without facts,
// the rule only fires if no parameter with a gradient moves. The original has
// no such rule.
//
// A model of Keras that is trained although all of its parameters are frozen
// shows only in the facts: its optimizer holds no parameter.
//
// Weights move at each update. Under gradient accumulation, an update may come
// after many steps, so the rule waits for 2 * num_steps if no optimizer was
// seen to act. A layer without a gradient gets the same time, because an expert
// of a mixture may be used rarely.

#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include "smdebug/base/try.h"
#include "smdebug/rules/runner.h"

#include "base/strings.h"
#include "rules/builtin/builtin.h"
#include "rules/engine/coming_facts.h"
#include "rules/engine/counted_step.h"
#include "rules/engine/finding.h"
#include "rules/engine/layer_name.h"
#include "rules/engine/shared_parameters.h"
#include "rules/measures/parameter_movement.h"
#include "rules/measures/wiring_fault.h"

namespace smdebug {
namespace {

const ParameterSpec kParametersNotTrainedParameters[] = {
    {.name = "num_steps",
     .type = ParameterType::integer,
     .default_text = "30",
     .description = "Number of training steps in which a parameter must not "
                    "move. Set it to the number of steps per update if that is "
                    "more than 60.",
     .minimum = 1.0},
    {.name = "expect_frozen",
     .type = ParameterType::text,
     .default_text = "",
     .description = "Pattern of the names of weights and biases that must not "
                    "move; the rule fires if one does."},
    kStartStep,
    kEndStep,
    kPreset,
};

// The first seven are in the order of `WiringFault`.
const Advice kParametersNotTrainedAdvice[] = {
    {.when = "nothing moves and no optimizer acts",
     .cause = "optimizer.step() is never called, or a gradient scaler skips "
              "every step because the gradients are not finite",
     .advice = "call optimizer.step() after each backward pass; with mixed "
               "precision, call scaler.step(optimizer) and scaler.update(), "
               "and look for NaN and infinite gradients",
     .severity = Severity::fatal},
    {.when = "nothing moves although an optimizer acts",
     .cause = "gradients that are cleared or clipped to 0 between the backward "
              "pass and the update, or a learning rate too small for the dtype "
              "of the parameters",
     .advice = "call zero_grad() before the backward pass, never between it "
               "and optimizer.step(), and check the limit of gradient clipping "
               "and the learning rate",
     .severity = Severity::fatal},
    {.when = "the optimizer holds other parameters",
     .cause = "an optimizer that was made before the model was copied, "
              "replaced, initialized again or moved: it updates parameters "
              "that the model no longer uses",
     .advice = "make the optimizer from the parameters of the final model, "
               "after it was built, loaded, wrapped and moved to its device",
     .severity = Severity::fatal},
    {.when = "in no optimizer",
     .cause = "a layer that was created or replaced after the optimizer was "
              "made, a parameter group that was not passed to it, or a second "
              "optimizer whose step() is never called",
     .advice = "pass these parameters to the optimizer (add_param_group adds "
               "them later), or set requires_grad=False if they should not "
               "train"},
    {.when = "a learning rate of 0",
     .cause = "a parameter group whose learning rate is 0, or a schedule that "
              "never leaves 0",
     .advice = "set the learning rate of this group and check the schedule, or "
               "set requires_grad=False if the group should not train"},
    {.when = "no gradient",
     .cause = "a part of the model that is detached from the loss: detach(), "
              "no_grad(), .data, a conversion to numpy, or an output that the "
              "loss does not use",
     .advice = "find where the path from these parameters to the loss is cut; "
               "set requires_grad=False if they should not train"},
    {.when = "gradients of 0",
     .cause = "layers after these that pass no gradient on, because their "
              "weights are 0 or their units are dead, or a loss multiplied by "
              "0",
     .advice = "check the initialization of the layers after them and the "
               "weights of the loss, and look for units that are always 0",
     .severity = Severity::advice},
    {.when = "a frozen parameter moves",
     .cause = "a parameter that should be frozen but is still in an optimizer "
              "that updates it, through a gradient, momentum or weight decay",
     .advice = "set requires_grad=False before the optimizer is made, and pass "
               "only trainable parameters to it"},
    {.when = "no part of the model",
     .cause = "layers in a Python list or dictionary: model.parameters() does "
              "not contain theirs, so they keep their initial values; in "
              "Keras, variables that were listed before the model was built",
     .advice = "put the layers into an nn.ModuleList or nn.ModuleDict, or set "
               "requires_grad=False if they should not train; in Keras, call "
               "the model once before model.trainable_variables"},
    {.when = "no parameter of the model is trainable",
     .cause = "trainable=False for too many layers, such as for all but the "
              "last one, which is an activation and has no parameters",
     .advice = "freeze only the layers that should keep their weights, and "
               "call compile() again; model.summary() counts the trainable "
               "parameters"},
    {.when = "weights that were not loaded",
     .cause = "a state whose names are not those of the model, such as with a "
              "prefix 'module.' or 'backbone.', under strict=False: no "
              "parameter is loaded, and all keep their initial values",
     .advice = "print the result of load_state_dict(), which lists the missing "
               "and the unexpected names, and rename them, for example with "
               "name.removeprefix('module.')"},
};
const Advice& kFrozenMoves = kParametersNotTrainedAdvice[7];
const Advice& kLayersOutside = kParametersNotTrainedAdvice[8];
const Advice& kAllFrozen = kParametersNotTrainedAdvice[9];
const Advice& kNotLoaded = kParametersNotTrainedAdvice[10];

// Whether it has the name of a weight in Keras: "dense/weights/dense/kernel:0".
bool is_of_keras(const ParameterFacts& parameter) {
  return parameter.tensor.find("/weights/") != std::string::npos &&
         parameter.tensor.ends_with(":0");
}

// In Keras, the optimizer of a compiled model holds what the model trains. In
// PyTorch, one without parameters may be a part of another, or hold copies.
bool trains_nothing(const RunFacts& facts) {
  const bool has_frozen =
      std::ranges::any_of(facts.parameters, [](const ParameterFacts& each) {
        return is_of_keras(each) && !each.is_trainable &&
               !is_moving_statistic(each.tensor);
      });
  return has_frozen &&
         std::ranges::any_of(
             facts.optimizers, [](const OptimizerFacts& optimizer) {
               return !optimizer.groups.empty() &&
                      std::ranges::all_of(optimizer.groups,
                                          [](const OptimizerGroupFacts& each) {
                                            return each.parameters == 0;
                                          });
             });
}

const Advice& advice_on(WiringFault fault) {
  return kParametersNotTrainedAdvice[static_cast<std::size_t>(fault)];
}

// "a, b, c and 12 more", of parameters or their facts.
template <typename Parameter>
std::string parameters_text(const std::vector<const Parameter*>& parameters,
                            std::string_view worker) {
  std::vector<std::string> names;
  for (const Parameter* parameter : parameters) {
    names.push_back(names.empty() ? tensor_text(parameter->tensor, worker)
                                  : parameter->tensor);
  }
  return names_text(names);
}

// "4 of 6 trainable parameters have not", "none of 6 trainable parameters has".
std::string count_of(const WiringFinding& found) {
  const std::size_t count = found.parameters.size();
  const std::string all = count_text(found.trainable, "trainable parameter");
  if (count == found.trainable) return fmt::format("none of {} has", all);
  return fmt::format("{} of {} {} not", count, all,
                     count == 1 ? "has" : "have");
}

// The end of the message.
std::string_view fault_text(WiringFault fault) {
  switch (fault) {
    case WiringFault::no_update:
      return "they receive gradients, but no optimizer was seen to act";
    case WiringFault::update_is_zero:
      return "they receive gradients, and an optimizer acts";
    case WiringFault::other_parameters:
      return "the optimizer holds none of them, only parameters that no "
             "recorded model has";
    case WiringFault::no_optimizer:
      return "they receive gradients, but no optimizer that acts holds them";
    case WiringFault::zero_rate:
      return "the learning rate of their optimizer group is 0";
    case WiringFault::no_gradient:
      return "an optimizer holds them, but they never receive a gradient";
    case WiringFault::zero_gradient:
      return "an optimizer holds them, but their gradients are always 0";
  }
  return "";
}

class ParametersNotTrained : public Rule {
 public:
  ParametersNotTrained(Step num_steps, std::optional<TensorMatcher> frozen)
      : num_steps_(num_steps), frozen_(std::move(frozen)) {}

  RuleNeeds needs() const override {
    return {{{.collections = {"weights", "biases"}, .regexes = {}},
             {.collections = {"gradients"}, .regexes = {}}}};
  }

  void on_facts(std::string_view name, const RunFacts& facts) override {
    workers_[std::string(name)].coming.add(facts);
  }

  Outcome on_step(const RuleStep& step) override {
    has_parameters_ |= !step.by_selector(0).empty();
    note_expected(step);
    const auto counted = counted_step(step.step, std::nullopt);
    if (!counted) return no_finding();
    has_trained_ |= !step.by_selector(0).empty();
    for (auto& [name, worker] : workers_) {
      take_facts(worker, step.step.global);
      follow_frozen(worker, *counted);
    }
    for (const Observation* gradient : step.by_selector(1)) {
      SMD_CHECK_OK(movement_of(*gradient).add_gradient(*gradient, *counted));
    }
    for (const Observation* parameter : step.by_selector(0)) {
      SMD_TRY(const FollowedParameter* followed,
              movement_of(*parameter)
                  .add_parameter(*parameter, step.step, *counted));
      if (!followed) continue;
      last_ = step.step;
      if (followed->has_moved || followed->has_rested(num_steps_)) {
        count_judged();
      }
    }
    if (auto found = layers_outside(step.step)) return found;
    if (auto found = weights_not_loaded(step.step)) return found;
    if (auto found = all_frozen(step.step, *counted)) return found;
    if (auto found = frozen_that_move(step.step)) return found;
    return find(step.step, /*with_minor=*/false);
  }

  Outcome finish() override {
    for (auto& [name, worker] : workers_) {
      take_facts(worker, last_.global + 1);
    }
    if (auto found = layers_outside(last_)) return found;
    if (auto found = find(last_, /*with_minor=*/true)) return found;
    if (has_judged()) return no_finding();
    if (!has_parameters_) {
      return Error{Error::Code::unsupported,
                   "nothing to judge: no weights or biases were saved"};
    }
    if (last_.global < 0) {
      return Error{Error::Code::not_found,
                   has_trained_ ? "nothing to judge: weights and biases were "
                                  "saved without values and statistics"
                                : "nothing to judge: no weights or biases were "
                                  "saved in a training step"};
    }
    return Error{Error::Code::not_found,
                 fmt::format("nothing to judge: no parameter moved, and "
                             "none was saved at two training steps that are "
                             "num_steps={} apart",
                             num_steps_)};
  }

  std::string not_judged() const override {
    std::vector<std::string> parts;
    if (lacks_frozen()) parts.push_back(lacking_frozen_text());
    for (const auto& [name, worker] : workers_) {
      if (const std::string young = too_young(worker); !young.empty()) {
        parts.push_back(young);
      }
      if (!parts.empty()) break;
    }
    return fmt::format("{}", fmt::join(parts, "; "));
  }

  std::string note() const override {
    if (lacks_frozen()) return "ParametersNotTrained: " + lacking_frozen_text();
    for (const auto& [name, worker] : workers_) {
      std::string text = frozen_text(worker, name);
      const auto unused = worker.judge(num_steps_).unused();
      if (!unused.empty()) {
        text += fmt::format("{}{} without a gradient and in no optimizer: {}",
                            text.empty() ? "" : "; ",
                            count_text(unused.size(), "parameter"),
                            parameters_text(unused, name));
      }
      if (!text.empty()) return text;
    }
    return {};
  }

 private:
  // A pattern without a parameter is a mistake that watches nothing.
  bool lacks_frozen() const { return frozen_ && !has_expected_; }

  std::string lacking_frozen_text() const {
    return "no parameter of the run matches expect_frozen='" +
           given().at("expect_frozen") + "'";
  }

  void note_expected(const RuleStep& step) {
    if (!lacks_frozen()) return;
    has_expected_ = std::ranges::any_of(
        step.by_selector(0), [&](const Observation* parameter) {
          return frozen_->matches(parameter->name);
        });
  }

  struct Worker {
    ParameterMovement movement;
    std::optional<RunFacts> facts;
    ComingFacts coming;
    // The training step since which a model is trained without any trainable
    // parameter.
    std::optional<Step> frozen_since;

    WiringJudge judge(Step patience) const {
      return {movement, facts ? &*facts : nullptr, patience};
    }
  };

  static std::string frozen_text(const Worker& worker, std::string_view name) {
    if (!worker.facts) return "";
    std::vector<const ParameterFacts*> frozen;
    std::size_t parameters = 0;
    for (const ParameterFacts& each : worker.facts->parameters) {
      if (is_moving_statistic(each.tensor)) continue;
      ++parameters;
      if (!each.is_trainable) frozen.push_back(&each);
    }
    if (frozen.empty()) return "";
    return fmt::format("{} of {} {} frozen: {}", frozen.size(),
                       count_text(parameters, "parameter"),
                       frozen.size() == 1 ? "is" : "are",
                       parameters_text(frozen, name));
  }

  static void follow_frozen(Worker& worker, Step counted) {
    if (!worker.facts || !trains_nothing(*worker.facts)) {
      worker.frozen_since.reset();
    } else if (!worker.frozen_since) {
      worker.frozen_since = counted;
    }
  }

  ParameterMovement& movement_of(const Observation& observation) {
    auto known = workers_.find(observation.worker);
    if (known == workers_.end()) {
      known = workers_.emplace(observation.worker, Worker()).first;
    }
    return known->second.movement;
  }

  static void take_facts(Worker& worker, Step now) {
    while (auto next = worker.coming.take_before(now)) {
      if (worker.facts) restart_changed(worker, *next);
      worker.facts = std::move(next);
    }
  }

  // Follows a parameter from now on that was unfrozen or got an optimizer.
  static void restart_changed(Worker& worker, const RunFacts& facts) {
    std::map<std::string_view, const ParameterFacts*> before;
    for (const ParameterFacts& each : worker.facts->parameters) {
      before.emplace(each.tensor, &each);
    }
    for (const ParameterFacts& each : facts.parameters) {
      const auto known = before.find(each.tensor);
      if (known == before.end() ||
          known->second->is_trainable != each.is_trainable ||
          known->second->updated_by != each.updated_by) {
        worker.movement.restart(parameter_of_weight(each.tensor));
      }
    }
  }

  // Those that have not moved, but were not followed for long enough.
  std::string too_young(const Worker& worker) const {
    std::size_t count = 0;
    for (const FollowedParameter& each : worker.movement.parameters()) {
      count += !each.has_moved && !each.has_rested(num_steps_);
    }
    if (count == 0) return "";
    return fmt::format("{} that did not move, in fewer than num_steps={} steps",
                       count_text(count, "parameter"), num_steps_);
  }

  // The fault of the first worker that has one, with the evidence of all that
  // have the same.
  std::optional<Finding> find(const StepId& step, bool with_minor) const {
    std::optional<Finding> finding;
    WiringFault fault = {};
    for (const auto& [name, worker] : workers_) {
      if (std::ranges::none_of(worker.movement.parameters(),
                               [&](const FollowedParameter& each) {
                                 return each.has_rested(num_steps_);
                               })) {
        continue;
      }
      const auto found = worker.judge(num_steps_).find(with_minor);
      if (!found || (finding && found->fault != fault)) continue;
      if (!finding) finding = describe(*found, name, step);
      fault = found->fault;
      add_evidence(*finding, found->parameters, name, step);
    }
    return finding;
  }

  static Finding describe(const WiringFinding& found, std::string_view worker,
                          const StepId& step) {
    Finding finding;
    finding.message =
        fmt::format("{} moved since step {}: {}; {}, at {}", count_of(found),
                    found.parameters.front()->first.global,
                    parameters_text(found.parameters, worker),
                    fault_text(found.fault), step_text(step));
    set_advice(finding, advice_on(found.fault));
    if (found.is_minor) finding.severity = Severity::advice;
    if (found.parameters.size() == found.trainable) {
      finding.severity = Severity::fatal;
    }
    return finding;
  }

  static void add_evidence(
      Finding& finding, const std::vector<const FollowedParameter*>& parameters,
      std::string_view worker, const StepId& step) {
    for (const FollowedParameter* parameter : parameters) {
      Evidence& evidence = finding.evidence.emplace_back();
      evidence.tensor = parameter->tensor;
      evidence.worker = worker;
      evidence.step = step;
      evidence.quantity = fmt::format(
          "largest change of a statistic since "
          "step {}",
          parameter->first.global);
      evidence.relation = "<=";
      evidence.threshold = 0;
    }
  }

  std::optional<Finding> layers_outside(const StepId& step) {
    for (const auto& [name, worker] : workers_) {
      if (!worker.facts || worker.facts->loop.layers_outside.empty()) continue;
      const std::vector<std::string>& kinds = worker.facts->loop.layers_outside;
      count_judged();
      Finding finding;
      finding.message = fmt::format(
          "{}the model calls {} that {} no part of it, and no optimizer holds "
          "{} parameters: {}, at {}",
          workers_.size() > 1 ? name + ": " : "",
          count_text(kinds.size(), "layer"), kinds.size() == 1 ? "is" : "are",
          kinds.size() == 1 ? "its" : "their", fmt::join(kinds, ", "),
          step_text(step));
      set_advice(finding, kLayersOutside);
      Evidence& evidence = finding.evidence.emplace_back();
      evidence.worker = name;
      evidence.step = step;
      evidence.quantity = "layers outside of the model";
      evidence.value = static_cast<double>(kinds.size());
      evidence.relation = ">";
      evidence.threshold = 0;
      return finding;
    }
    return std::nullopt;
  }

  std::optional<Finding> weights_not_loaded(const StepId& step) {
    for (const auto& [name, worker] : workers_) {
      if (!worker.facts || worker.facts->loop.empty_loads == 0) continue;
      const std::uint64_t loads = worker.facts->loop.empty_loads;
      count_judged();
      Finding finding;
      finding.message = fmt::format(
          "{} of load_state_dict() found no parameter of the model, which "
          "trains from its initial values",
          count_text(loads, "call"));
      set_advice(finding, kNotLoaded);
      Evidence& evidence = finding.evidence.emplace_back();
      evidence.worker = name;
      evidence.step = step;
      evidence.quantity = "calls without a parameter of the model";
      evidence.value = static_cast<double>(loads);
      evidence.relation = ">";
      evidence.threshold = 0;
      return finding;
    }
    return std::nullopt;
  }

  std::optional<Finding> all_frozen(const StepId& step, Step counted) {
    for (const auto& [name, worker] : workers_) {
      if (!worker.frozen_since || counted - *worker.frozen_since < num_steps_) {
        continue;
      }
      count_judged();
      Finding finding;
      finding.message = fmt::format(
          "none of the parameters of a model is trainable, and it is trained; "
          "{}, at {}",
          frozen_text(worker, name), step_text(step));
      set_advice(finding, kAllFrozen);
      Evidence& evidence = finding.evidence.emplace_back();
      evidence.worker = name;
      evidence.step = step;
      evidence.quantity = "parameters in the optimizer of a model";
      evidence.value = 0;
      evidence.relation = "<=";
      evidence.threshold = 0;
      return finding;
    }
    return std::nullopt;
  }

  std::optional<Finding> frozen_that_move(const StepId& step) {
    if (!frozen_) return std::nullopt;
    std::optional<Finding> finding;
    for (const auto& [name, worker] : workers_) {
      std::vector<const FollowedParameter*> moved;
      for (const FollowedParameter& each : worker.movement.parameters()) {
        if (each.has_moved && frozen_->matches(each.tensor)) {
          moved.push_back(&each);
        }
      }
      if (moved.empty()) continue;
      if (!finding) {
        finding.emplace();
        finding->message = fmt::format(
            "{} that should be frozen moved since step {}: {}, at {}",
            count_text(moved.size(), "parameter"), moved.front()->first.global,
            parameters_text(moved, name), step_text(step));
        set_advice(*finding, kFrozenMoves);
      }
      for (const FollowedParameter* each : moved) {
        Evidence& evidence = finding->evidence.emplace_back();
        evidence.tensor = each->tensor;
        evidence.worker = name;
        evidence.step = step;
        evidence.quantity =
            fmt::format("changed since step {}", each->first.global);
        evidence.value = 1;
        evidence.relation = ">";
        evidence.threshold = 0;
      }
    }
    return finding;
  }

  Step num_steps_;
  std::optional<TensorMatcher> frozen_;
  std::map<std::string, Worker, std::less<>> workers_;
  StepId last_;  // the last training step with usable parameters
  bool has_parameters_ = false;
  bool has_trained_ = false;   // a training step had parameters
  bool has_expected_ = false;  // one that should be frozen was seen
};

Result<std::unique_ptr<Rule>> make_parameters_not_trained(
    const Parameters& parameters) {
  std::optional<TensorMatcher> frozen;
  if (const std::string& pattern = parameters.text("expect_frozen");
      !pattern.empty()) {
    SMD_TRY(frozen, TensorMatcher::create(
                        {.collections = {}, .regexes = {pattern}}, {}));
  }
  return make_rule<ParametersNotTrained>(parameters.integer("num_steps"),
                                         std::move(frozen));
}

}  // namespace

const RuleFactory kParametersNotTrained = {
    .name = "ParametersNotTrained",
    .summary = "Parameters that should train do not move.",
    .condition =
        "Fires when trainable parameters have not changed in 'num_steps' steps "
        "although they receive gradients, are in no optimizer or have a "
        "learning rate of 0, or in twice as many steps if they receive no "
        "gradient, or if nothing moves and no optimizer was seen to act. Fires "
        "as well if a model calls layers that are no part of it and that no "
        "optimizer holds, or if a model of Keras is trained for 'num_steps' "
        "steps although all of its parameters are frozen, or if a call of "
        "load_state_dict() found no parameter of the model.",
    .advice = kParametersNotTrainedAdvice,
    .parameters = kParametersNotTrainedParameters,
    .make = make_parameters_not_trained,
};

}  // namespace smdebug
