// Finds the explanation; explanation_text.cc formats it as text and JSON.

#include "smdebug/report/explanation.h"

#include <algorithm>

#include <fmt/format.h>

#include "smdebug/base/try.h"
#include "smdebug/config/framework.h"

#include "base/json.h"
#include "base/regex.h"
#include "base/suggestions.h"
#include "config/save_schedule.h"
#include "report/other_kind.h"
#include "report/saved_steps.h"
#include "report/wording.h"

namespace smdebug {
namespace {

// The collections that run.json lists as saved; none without such a list.
std::optional<std::vector<std::string>> saved_collections(Trial& trial) {
  const auto text = trial.run_file_text();
  if (!text) return std::nullopt;
  const auto json = Json::parse(*text);
  if (!json) return std::nullopt;
  const auto listed = json->array_at("saved_collections");
  if (!listed) return std::nullopt;
  std::vector<std::string> names;
  for (const Json& name : **listed)
    if (name.as_string()) names.push_back(*name.as_string());
  return names;
}

// Returns why `tensor` belongs to the collection; empty if it does not.
std::string reason_of(const TensorGroup& group, const std::string& tensor) {
  for (const std::string& pattern : group.include_regex) {
    const auto regex = Regex::compile(pattern);
    if (!regex) continue;
    const auto found = regex->search(tensor);
    if (found && *found) return "pattern " + python_string(pattern);
  }
  const bool is_listed =
      std::ranges::find(group.tensor_names, tensor) != group.tensor_names.end();
  return is_listed ? "listed name" : "";
}

std::string saved_as_text(const Collection& collection) {
  if (!collection.reduction_config) return "values";
  const ReductionConfig& config = *collection.reduction_config;
  std::vector<std::string> parts;
  if (config.save_raw_tensor) parts.push_back("values");
  if (config.save_shape) parts.push_back("shape");
  for (const ReductionOp op : config.ordered_ops())
    parts.push_back(reduction_op_name(op));
  return parts.empty() ? "statistics only"
                       : fmt::format("{}", fmt::join(parts, ", "));
}

void look_at_step(const Collection& collection, const StepId& step,
                  Explanation::Membership& member) {
  if (step.mode_step < 0) return;
  const bool is_learning =
      step.mode == Mode::train || step.mode == Mode::global;
  if (is_training_only(collection.name()) && !is_learning) {
    member.is_due = false;
    member.schedule = fmt::format("never in mode {}", mode_name(step.mode));
    return;
  }
  const auto& config = collection.save_config->mode(step.mode);
  const SaveConfigMode of_mode = config.value_or(SaveConfigMode{});
  member.is_due = of_mode.is_due(step.mode_step);
  member.due_before = due_before(of_mode, step.mode_step);
  member.due_after = due_after(of_mode, step.mode_step);
}

std::vector<Explanation::Membership> memberships_of(
    Trial& trial, const std::string& tensor, Mode mode,
    const std::optional<StepId>& step) {
  const auto saved = saved_collections(trial);
  std::vector<Explanation::Membership> memberships;
  for (const Collection& collection : trial.collections()) {
    std::string reason = reason_of(collection.tensors, tensor);
    if (reason.empty()) continue;
    Explanation::Membership& member = memberships.emplace_back();
    member.collection = collection.name();
    member.reason = std::move(reason);
    if (saved) {
      member.is_saved =
          std::ranges::find(*saved, collection.name()) != saved->end();
    }
    member.saved_as = saved_as_text(collection);
    if (!collection.save_config) continue;
    const auto& of_mode =
        collection.save_config->mode(step ? step->mode : mode);
    member.schedule = schedule_text(of_mode.value_or(SaveConfigMode{}));
    if (step) look_at_step(collection, *step, member);
  }
  return memberships;
}

// Identifies the requested step. The run does not record the mode of a step
// without files; it is inferred if the saved steps before and after it have the
// same difference between their global and mode step.
StepId identify(Trial& trial, Step step, Mode mode) {
  const auto global = trial.global_step(mode, step);
  if (const auto known = trial.step_id(global.value_or(-1))) return *known;
  if (mode != Mode::global) return {-1, mode, step};
  std::optional<StepId> before, after;
  for (const Step each : trial.steps(Mode::global, /*incomplete=*/true)) {
    (each < step ? before : after) = trial.step_id(each);
    if (after) break;
  }
  const std::optional<StepId>& near = before ? before : after;
  if (!near || trial.modes().size() > 1) return {step, Mode::global, -1};
  const Step offset = near->global - near->mode_step;
  if (after && after->global - after->mode_step != offset)
    return {step, Mode::global, -1};
  return {step, near->mode, step - offset};
}

std::string kept_text(Tensor& tensor, const StepQuery& query) {
  std::vector<std::string> kept;
  if (tensor.value(query)) kept.push_back("its values");
  const auto reductions = tensor.reductions(query);
  if (reductions && !reductions->empty())
    kept.push_back(count_text(reductions->size(), "reduction"));
  if (tensor.statistics(query)) kept.push_back("its statistics");
  return kept.empty() ? "its shape" : fmt::format("{}", fmt::join(kept, ", "));
}

// "; tensor 'a' at step 3: its value cannot be read: ..." if it was saved.
std::string unreadable_text(Tensor& tensor, const StepQuery& query) {
  const auto value = tensor.value(query);
  if (value || value.error().code == Error::Code::not_found) return "";
  return "; " + value.error().message;
}

// "collection 'weights'", "collections 'weights', 'all'".
template <typename Wanted>
std::string collections_text(const Explanation& explanation, Wanted wanted) {
  std::vector<std::string> names;
  for (const auto& member : explanation.memberships)
    if (wanted(member)) names.push_back(member.collection);
  if (names.empty()) return "";
  return (names.size() == 1 ? "collection " : "collections ") +
         quoted_list(names);
}

bool may_be_saved(const Explanation::Membership& member) {
  return member.is_saved.value_or(true);
}
bool is_due(const Explanation::Membership& member) {
  return may_be_saved(member) && member.is_due.value_or(false);
}

// "the run has ended; its last saved step is 390", "the last EVAL step of the
// run is 40".
std::string end_text(Trial& trial, const StepId& asked,
                     const std::vector<Step>& steps) {
  if (steps.empty()) {
    return asked.global < 0
               ? fmt::format("the run has no {} steps", mode_name(asked.mode))
               : std::string("the run has saved no step");
  }
  if (asked.global < 0) {
    return fmt::format("the last {} step of the run is {}",
                       mode_name(asked.mode), steps.back());
  }
  return fmt::format("the run {} {}",
                     trial.has_ended() ? "has ended; its last saved step is"
                                       : "has only reached step",
                     steps.back());
}

// `end_text` with the steps of the numbering in which the step was named.
std::string end_text(Trial& trial, const StepId& asked) {
  return end_text(trial, asked,
                  trial.steps(asked.global >= 0 ? Mode::global : asked.mode,
                              /*incomplete=*/true));
}

// Explains a tensor that was due at a step but was not saved.
std::string missing_text(Trial& trial, const Explanation& explanation) {
  const StepId& step = *explanation.step;
  const std::string due = collections_text(explanation, is_due);
  if (trial.step_id(step.global)) {
    std::string text =
        due +
        " was due and other tensors of the step exist, but not this one: its "
        "module was not called, it had no gradient, or it could not be read "
        "(see the status of the hook)";
    if (const auto dropped = trial.dropped_tensors())
      text += fmt::format("; {} of this run dropped because the queue was full",
                          count_text(dropped, "tensor"));
    return text;
  }
  const std::vector<Step> steps =
      trial.steps(step.global >= 0 ? Mode::global : step.mode,
                  /*incomplete=*/true);
  const Step asked = step.global >= 0 ? step.global : step.mode_step;
  if (steps.empty() || asked > steps.back()) {
    return due + " is due, but " + end_text(trial, step, steps);
  }
  return due +
         " was due, but the step has no readable files: they were removed or "
         "damaged, or the training was stopped before they were complete";
}

// Whether the run has ended before the step: a save was due between its last
// step and this one.
bool is_after_end(Trial& trial, const Explanation& explanation) {
  if (!trial.has_ended()) return false;
  const auto steps = trial.steps(explanation.step->mode, /*incomplete=*/true);
  return std::ranges::any_of(explanation.memberships, [&](const auto& member) {
    return may_be_saved(member) && member.due_before && !steps.empty() &&
           *member.due_before > steps.back();
  });
}

std::string not_due_text(const Explanation& explanation) {
  const auto it = std::ranges::find_if(explanation.memberships, may_be_saved);
  std::string text =
      fmt::format("{} is saved {}", collections_text(explanation, may_be_saved),
                  it->schedule);
  const auto count =
      std::ranges::count_if(explanation.memberships, may_be_saved);
  if (count > 1) {
    text = "none of " + collections_text(explanation, may_be_saved) +
           " is due at this step";
    return text;
  }
  if (it->due_before)
    text += fmt::format("; previously at {}", *it->due_before);
  if (it->due_after)
    text += fmt::format("{} {}", it->due_before ? ", next at" : "; next at",
                        *it->due_after);
  return text;
}

// The tensors of the run whose names are a part of this one, or have it as a
// part: "Net_fc_output_0" may stand for "fc_output_0".
std::vector<std::string> overlapping_names(Trial& trial,
                                           const std::string& tensor) {
  std::vector<std::string> names;
  for (std::string& name : nearest_names(tensor, trial.tensor_names(), 3)) {
    const bool overlaps = name.find(tensor) != name.npos ||
                          tensor.find("_" + name) != tensor.npos ||
                          tensor.find("/" + name) != tensor.npos;
    if (overlaps) names.push_back(std::move(name));
  }
  return names;
}

// The argument that saves a tensor of this name.
std::string remedy_text(const std::string& tensor) {
  const bool is_pattern =
      tensor.find_first_of("\\^$|?*+()[]{}\"'") == tensor.npos;
  return "; if the model has such a tensor, " +
         (is_pattern
              ? fmt::format("include_regex=[\"{}\"] of the hook saves it",
                            tensor)
              : std::string("a pattern in include_regex of the hook "
                            "saves it"));
}

// Explains why a tensor was not saved, at the step or at all.
std::string absence_text(Trial& trial, const Explanation& explanation) {
  const auto& members = explanation.memberships;
  if (members.empty()) {
    const auto meant = overlapping_names(trial, explanation.tensor);
    return "the run has no tensor of this name, and no collection lists it or "
           "has a pattern that matches it" +
           (meant.empty() ? remedy_text(explanation.tensor)
                          : "; did you mean " + quoted_choice(meant) + "?");
  }
  if (std::ranges::none_of(members, may_be_saved)) {
    return collections_text(explanation, [](const auto&) { return true; }) +
           " is not saved: add it to include_collections";
  }
  if (!explanation.step) {
    return collections_text(explanation, may_be_saved) +
           " would save it, but the training had no tensor of this name";
  }
  if (std::ranges::any_of(members, is_due))
    return missing_text(trial, explanation);
  const auto steps = trial.steps(Mode::global, /*incomplete=*/true);
  if (explanation.step->mode_step < 0 && trial.has_ended() && !steps.empty() &&
      explanation.step->global > steps.back()) {
    return end_text(trial, *explanation.step, steps);
  }
  if (explanation.step->mode_step < 0) {
    return "nothing was saved at this step, so its mode is unknown; use --mode "
           "to query a step of a mode";
  }
  if (is_after_end(trial, explanation))
    return end_text(trial, *explanation.step);
  return not_due_text(explanation);
}

void look_at_saved_steps(Tensor& tensor, Mode mode, Explanation& explanation) {
  const std::vector<Step> steps = tensor.steps(mode, /*incomplete=*/true);
  explanation.saved_steps = steps.size();
  if (steps.empty()) return;
  explanation.first_saved = steps.front();
  explanation.last_saved = steps.back();
}

}  // namespace

Result<Explanation> explain_tensor(Trial& trial,
                                   const ExplanationQuery& query) {
  if (query.step && *query.step < 0) {
    return Error{Error::Code::invalid_argument,
                 fmt::format("there is no step {}", *query.step)};
  }
  SMD_CHECK_OK(trial.refresh());
  Explanation explanation;
  explanation.run = trial.location();
  explanation.tensor = query.tensor;
  if (query.step) explanation.step = identify(trial, *query.step, query.mode);
  explanation.memberships =
      memberships_of(trial, query.tensor, query.mode, explanation.step);

  auto tensor = trial.tensor(query.tensor);
  if (!tensor) {
    if (tensor.error().code != Error::Code::not_found) return tensor.error();
    explanation.was_saved = false;
    explanation.step.reset();
    const std::string other = other_kind_text(trial, query.tensor);
    if (!other.empty()) {
      explanation.answer = "not a tensor but " + other;
      explanation.memberships.clear();
      return explanation;
    }
    explanation.nearest_names =
        nearest_names(query.tensor, trial.tensor_names(), 3);
    explanation.answer = absence_text(trial, explanation);
    return explanation;
  }
  look_at_saved_steps(*tensor, query.mode, explanation);
  if (!query.step) {
    explanation.was_saved = explanation.saved_steps > 0;
    explanation.answer =
        *explanation.was_saved
            ? "saved at " + count_text(explanation.saved_steps, "step")
            : fmt::format("not saved at any {} step; saved: {}",
                          mode_name(query.mode),
                          saved_steps_text(*tensor, query.mode));
    return explanation;
  }
  const auto workers = tensor->workers(*query.step, query.mode);
  explanation.was_saved = workers.ok() && !workers->empty();
  if (!*explanation.was_saved) {
    explanation.answer = absence_text(trial, explanation);
    if (!trial.step_id(explanation.step->global))
      explanation.answer += damage_note(trial.damage().size());
    return explanation;
  }
  const StepQuery at{*query.step, query.mode, workers->front()};
  const std::string due = collections_text(explanation, is_due);
  explanation.answer = fmt::format(
      "{} {}: {}, by {}", due.empty() ? "saved by the program itself" : due,
      due.empty() ? "at this step" : "was due", kept_text(*tensor, at),
      fmt::join(*workers, ", "));
  explanation.answer += unreadable_text(*tensor, at);
  return explanation;
}

}  // namespace smdebug
