#include "smdebug/report/model_table.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "smdebug/read/trial.h"

#include "report/json_parts.h"
#include "report/text_table.h"
#include "report/wording.h"

namespace smdebug {
namespace {

constexpr std::size_t kWorkersShown = 6;

// The last facts of each worker. Those of several workers are listed once if
// they are equal.
struct SharedFacts {
  std::vector<std::string> workers;
  const RunFacts* facts;
};

std::vector<SharedFacts> last_facts(std::span<const WorkerFacts> all) {
  std::map<std::string, const RunFacts*> last;
  for (const WorkerFacts& one : all) last[one.worker] = &one.facts;
  std::vector<SharedFacts> shared;
  for (const auto& [worker, facts] : last) {
    const auto same = std::ranges::find_if(
        shared, [&](const SharedFacts& s) { return *s.facts == *facts; });
    if (same != shared.end()) {
      same->workers.push_back(worker);
    } else {
      shared.push_back({{worker}, facts});
    }
  }
  return shared;
}

std::string optimizer_title(const RunFacts& facts, std::size_t position) {
  return fmt::format("{} {}", position, facts.optimizers[position].kind);
}

// "0 Adam, group 1"; "none"; the group is left out if there is only one.
std::string updater_text(const RunFacts& facts,
                         const ParameterFacts& parameter) {
  if (!parameter.updated_by) return "none";
  const auto [optimizer, group] = *parameter.updated_by;
  std::string text = optimizer_title(facts, optimizer);
  if (facts.optimizers[optimizer].groups.size() > 1)
    text += fmt::format(", group {}", group);
  return text;
}

std::string settings_text(const Settings& settings) {
  std::vector<std::string> texts;
  for (const auto& [name, value] : settings)
    texts.push_back(fmt::format("{} {:g}", name, value));
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return fmt::format("({})", fmt::join(shape, ", "));
}

std::string parameters_text(const RunFacts& facts) {
  TextTable table({"parameter", "shape", "dtype", "device", "trainable",
                   "optimizer", "shared with"});
  for (const ParameterFacts& parameter : facts.parameters) {
    table.add({parameter.tensor, shape_text(parameter.shape), parameter.dtype,
               parameter.device, parameter.is_trainable ? "yes" : "no",
               updater_text(facts, parameter), parameter.shared_with});
  }
  return table.text();
}

std::string optimizers_text(const RunFacts& facts) {
  TextTable table({"optimizer", ">group", ">parameters", "settings"});
  for (std::size_t i = 0; i < facts.optimizers.size(); ++i) {
    const auto& groups = facts.optimizers[i].groups;
    for (std::size_t group = 0; group < groups.size(); ++group) {
      std::string settings = settings_text(groups[group].settings);
      if (const auto foreign = groups[group].foreign_parameters; foreign > 0) {
        settings +=
            fmt::format("; {} of its parameters {} of no recorded model",
                        foreign, foreign == 1 ? "is" : "are");
      }
      if (facts.optimizers[i].keeps_gradients == true) {
        settings += "; its gradients are never cleared";
      }
      if (facts.optimizers[i].discards_gradients == true) {
        settings += "; its gradients are cleared before it uses them";
      }
      table.add({optimizer_title(facts, i), std::to_string(group),
                 std::to_string(groups[group].parameters),
                 std::move(settings)});
    }
  }
  return table.rows() > 0 ? "\n" + table.text() : "";
}

std::string mode_text(const ModuleFacts& module) {
  if (!module.is_training) return "";
  return *module.is_training ? "train" : "eval";
}

std::string modules_text(const RunFacts& facts) {
  TextTable table({"module", "kind", "mode", "settings"});
  for (const ModuleFacts& module : facts.modules) {
    table.add({module.path, module.kind, mode_text(module),
               settings_text(module.settings)});
  }
  return table.rows() > 0 ? "\n" + table.text() : "";
}

// "(32, 10) Softmax, probabilities; targets (32)".
std::string input_text(const LossInputFacts& input) {
  std::string text = shape_text(input.shape);
  if (!input.activation.empty()) text += " " + input.activation;
  if (!input.values.empty()) text += ", " + input.values;
  if (input.target_shape)
    text += "; targets " + shape_text(*input.target_shape);
  if (input.ignored.value_or(0) > 0)
    text += fmt::format(", {:.3g} % of them ignored", 100 * *input.ignored);
  if (input.fractional.value_or(0) > 0)
    text += fmt::format(", {:.3g} % of them no whole numbers",
                        100 * *input.fractional);
  if (input.padding.value_or(0) > 0)
    text += fmt::format(", {:.3g} % of them padding that counts",
                        100 * *input.padding);
  if (input.linear_layers)
    text += fmt::format(", of {} linear layers without an activation",
                        *input.linear_layers);
  return text;
}

std::string losses_text(const RunFacts& facts) {
  TextTable table({"loss", "kind", "reduction", ">ignored label", "input"});
  for (const LossFacts& loss : facts.losses) {
    table.add({loss.tensor, loss.kind, loss.reduction,
               loss.ignored_label ? std::to_string(*loss.ignored_label) : "",
               loss.input ? input_text(*loss.input) : ""});
  }
  return table.rows() > 0 ? "\n" + table.text() : "";
}

// "0.5, 0.25"; empty if they are unknown.
std::string numbers_text(const DataFacts& data) {
  if (!data.mean || !data.deviation) return "";
  return fmt::format("{:.4g}, {:.4g}", *data.mean, *data.deviation);
}

// "-0.5 to 1.5; not finite at step 37".
std::string range_text(const DataFacts& data) {
  std::string text;
  if (data.low && data.high)
    text = fmt::format("{:.4g} to {:.4g}", *data.low, *data.high);
  if (data.not_finite) {
    text += fmt::format("{}not finite at step {}", text.empty() ? "" : "; ",
                        *data.not_finite);
  }
  return text;
}

std::string inputs_text(const RunFacts& facts) {
  TextTable table(
      {"input", "shape", "dtype", "mean, deviation", "range", "received by"});
  const auto add = [&](const DataFacts& data, std::string_view note) {
    table.add({data.tensor + std::string(note), shape_text(data.shape),
               data.dtype, numbers_text(data), range_text(data),
               data.received_by});
  };
  for (const DataFacts& data : facts.inputs) add(data, "");
  for (const DataFacts& data : facts.evaluation_inputs) add(data, " (EVAL)");
  return table.rows() > 0 ? "\n" + table.text() : "";
}

// "320 of 10 classes, 180 of the largest and 2 of the smallest; order 0.1".
std::string labels_text(const DataFacts& data) {
  if (data.labels == 0) return "";
  std::string text = fmt::format(
      "{} of {} classes, {} of the largest and {} of the smallest", data.labels,
      data.classes, data.largest_class, data.smallest_class);
  if (data.label_order)
    text += fmt::format("; order {:.2g}", *data.label_order);
  return text;
}

std::string targets_text(const RunFacts& facts) {
  TextTable table(
      {"targets of", "shape", "dtype", "mean, deviation", "range", "labels"});
  for (const LossFacts& loss : facts.losses) {
    if (!loss.input || !loss.input->targets) continue;
    const DataFacts& targets = *loss.input->targets;
    table.add({loss.tensor, shape_text(targets.shape), targets.dtype,
               numbers_text(targets), range_text(targets),
               labels_text(targets)});
  }
  return table.rows() > 0 ? "\n" + table.text() : "";
}

// "trained on: validation_0".
std::string training_sets_text(const RunFacts& facts) {
  if (facts.training_sets.empty()) return "";
  return fmt::format("\ntrained on: {}\n",
                     fmt::join(facts.training_sets, ", "));
}

std::string schedulers_text(const RunFacts& facts) {
  TextTable table({"scheduler", "optimizer", ">steps", ">updates", "settings"});
  for (const SchedulerFacts& scheduler : facts.loop.schedulers) {
    table.add(
        {scheduler.kind,
         scheduler.optimizer ? optimizer_title(facts, *scheduler.optimizer)
                             : "",
         std::to_string(scheduler.steps), std::to_string(scheduler.updates),
         settings_text(scheduler.settings)});
  }
  return table.rows() > 0 ? "\n" + table.text() : "";
}

std::string loop_text(const LoopFacts& loop) {
  std::string text;
  if (!loop.autocast_dtype.empty()) {
    text += fmt::format("autocast: {}\n", loop.autocast_dtype);
  }
  if (loop.scaled_clippings > 0) {
    text +=
        "clipping: some gradients were clipped while they carried the scale of "
        "a gradient scaler\n";
  }
  if (loop.gradient_norm_limit) {
    text += fmt::format("clipping: gradients to a norm of {:.4g}\n",
                        *loop.gradient_norm_limit);
  }
  if (loop.gradient_value_limit) {
    text += fmt::format("clipping: elements of gradients to {:.4g}\n",
                        *loop.gradient_value_limit);
  }
  if (loop.log_hides_not_finite) {
    text += "log: the trainer leaves out losses that are NaN or infinite\n";
  }
  if (loop.short_lived_optimizers.value_or(0) > 0) {
    text += fmt::format("optimizers: {} replaced after at most two updates\n",
                        *loop.short_lived_optimizers);
  }
  if (loop.summed_passes) {
    text += fmt::format("gradients: {} backward passes per update, summed\n",
                        *loop.summed_passes);
  }
  for (const MetricWatchFacts& watch : loop.metric_watches) {
    text += fmt::format("{}: {}, {} is better\n", watch.kind, watch.metric,
                        watch.prefers_high ? "higher" : "lower");
  }
  if (loop.empty_loads > 0) {
    text +=
        fmt::format("load_state_dict: {} without a parameter of the model\n",
                    count_text(loop.empty_loads, "call"));
  }
  if (!loop.layers_outside.empty()) {
    text += fmt::format("layers outside of the model: {}\n",
                        fmt::join(loop.layers_outside, ", "));
  }
  if (const auto& operation = loop.not_finite_by) {
    text += fmt::format("loss: not finite at step {} by {}\n", operation->step,
                        operation->kind);
  }
  return text.empty() ? "" : "\n" + text;
}

}  // namespace

std::string model_text(std::span<const WorkerFacts> facts) {
  std::string text;
  const std::vector<SharedFacts> all = last_facts(facts);
  for (const SharedFacts& shared : all) {
    if (!text.empty()) text += "\n";
    if (all.size() > 1 || shared.workers.size() > 1) {
      text += names_text(shared.workers, kWorkersShown) +
              fmt::format(", from step {} on:\n", shared.facts->step);
    }
    text += parameters_text(*shared.facts) + optimizers_text(*shared.facts) +
            modules_text(*shared.facts) + inputs_text(*shared.facts) +
            losses_text(*shared.facts) + targets_text(*shared.facts) +
            training_sets_text(*shared.facts) + schedulers_text(*shared.facts) +
            loop_text(shared.facts->loop);
  }
  return text;
}

std::string model_json(std::span<const WorkerFacts> facts) {
  Json json = Json::Array{};
  for (const SharedFacts& shared : last_facts(facts)) {
    Json model = Json::Object{
        {"workers", to_json(std::span<const std::string>(shared.workers))}};
    const auto file = Json::parse(run_facts_json(*shared.facts));
    for (const Json::Member& member : *file->as_object()) {
      if (member.key != "version") model[member.key] = member.value;
    }
    json.append(std::move(model));
  }
  return json.dump(JsonStyle::indented) + "\n";
}

}  // namespace smdebug
