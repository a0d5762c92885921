#include "rules/measures/module_modes.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "smdebug/core/tensor_names.h"

namespace smdebug {
namespace {

using ParametersByName = std::map<std::string_view, const ParameterFacts*>;

ParametersByName by_name(const RunFacts& facts) {
  ParametersByName parameters;
  for (const ParameterFacts& parameter : facts.parameters) {
    parameters.emplace(parameter.tensor, &parameter);
  }
  return parameters;
}

// The parameters whose names begin with `prefix`.
std::vector<const ParameterFacts*> with_prefix(
    const ParametersByName& parameters, std::string_view prefix) {
  std::vector<const ParameterFacts*> found;
  for (auto each = parameters.lower_bound(prefix);
       each != parameters.end() && each->first.starts_with(prefix); ++each) {
    found.push_back(each->second);
  }
  return found;
}

bool has_setting(const ModuleFacts& module, std::string_view name) {
  return setting(module.settings, name).value_or(0) > 0;
}

bool depends_on_mode(const ModuleFacts& module) {
  return has_setting(module, "p") || has_setting(module, "dropout") ||
         has_setting(module, "track_running_stats");
}

// A model, and its modules: itself and those that follow it in the facts.
struct Model {
  const ModuleFacts* root;
  std::vector<const ModuleFacts*> modules;
  bool is_trained = false;
};

// Keras calls the parameters of a layer "dense/weights/dense/kernel:0".
bool is_named_by_keras(const RunFacts& facts) {
  return !facts.parameters.empty() &&
         facts.parameters.front().tensor.find(name_parts::kLayerWeights) !=
             std::string::npos;
}

// The model that Keras trains, with all of its layers.
std::vector<Model> keras_model(const RunFacts& facts) {
  Model model = {facts.modules.empty() ? nullptr : &facts.modules.front(), {}};
  if (!model.root) return {};
  for (const ModuleFacts& module : facts.modules) {
    model.modules.push_back(&module);
  }
  return {std::move(model)};
}

// The parameters of a model "Net" are called "Net_fc1.weight".
std::vector<Model> models_of(const RunFacts& facts,
                             const ParametersByName& parameters) {
  if (is_named_by_keras(facts)) return keras_model(facts);
  std::vector<Model> models;
  for (const ModuleFacts& module : facts.modules) {
    const std::string prefix = module.path + "_";
    const auto first = parameters.lower_bound(prefix);
    if (first != parameters.end() && first->first.starts_with(prefix)) {
      models.push_back({&module, {&module}});
    } else if (!models.empty()) {
      models.back().modules.push_back(&module);
    }
  }
  const bool knows_owners = std::ranges::any_of(
      facts.parameters, [](const ParameterFacts& parameter) {
        return parameter.updated_by.has_value();
      });
  // An optimizer with copies of the parameters seems to hold none of them.
  for (Model& model : models) {
    model.is_trained = std::ranges::any_of(
        with_prefix(parameters, model.root->path + "_"),
        [&](const ParameterFacts* parameter) {
          return parameter->is_trainable &&
                 (parameter->updated_by.has_value() || !knows_owners);
        });
  }
  std::erase_if(models, [](const Model& model) { return !model.is_trained; });
  return models;
}

// Whether the smallest part around the module that has parameters has no
// trainable one. A module with parameters is such a part itself.
bool is_in_frozen_part(const Model& model, const ModuleFacts& module,
                       const ParametersByName& parameters) {
  const auto weights = with_prefix(
      parameters, module.path + std::string(name_parts::kLayerWeights));
  if (!weights.empty()) {
    return std::ranges::none_of(weights, &ParameterFacts::is_trainable);
  }
  std::string_view path = module.path;
  const std::string& root = model.root->path;
  if (path.starts_with(root + ".")) path.remove_prefix(root.size() + 1);
  while (!path.empty()) {
    const auto own =
        with_prefix(parameters, root + "_" + std::string(path) + ".");
    if (!own.empty()) {
      return std::ranges::none_of(own, &ParameterFacts::is_trainable);
    }
    const std::size_t parent = path.rfind('.');
    path = parent == std::string_view::npos ? "" : path.substr(0, parent);
  }
  return false;
}

}  // namespace

std::vector<ModelModes> modes_of_trained_models(const RunFacts& facts) {
  const ParametersByName parameters = by_name(facts);
  std::vector<ModelModes> all;
  for (const Model& model : models_of(facts, parameters)) {
    ModelModes modes = {model.root->path, model.root->is_training, 0, {}};
    for (const ModuleFacts* module : model.modules) {
      if (!module->is_training || !depends_on_mode(*module) ||
          is_in_frozen_part(model, *module, parameters)) {
        continue;
      }
      ++modes.dependent;
      if (!*module->is_training) modes.evaluating.push_back(module);
    }
    all.push_back(std::move(modes));
  }
  if (std::ranges::any_of(all, [](const ModelModes& each) {
        return each.is_training == true;
      })) {
    std::erase_if(
        all, [](const ModelModes& each) { return each.is_training == false; });
  }
  return all;
}

}  // namespace smdebug
