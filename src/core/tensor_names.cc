#include "smdebug/core/tensor_names.h"

#include <initializer_list>

namespace smdebug {
namespace {

using namespace name_parts;

constexpr std::string_view kRuleCollection = "rule_";

std::string joined(std::initializer_list<std::string_view> parts) {
  std::size_t size = 0;
  for (const std::string_view part : parts) size += part.size();
  std::string name;
  name.reserve(size);
  for (const std::string_view part : parts) name += part;
  return name;
}

}  // namespace

std::string parameter_name(std::string_view root, std::string_view path) {
  return joined({root, "_", path});
}

std::string gradient_name(std::string_view parameter) {
  return joined({kGradient, parameter});
}

std::string buffer_name(std::string_view root, std::string_view path) {
  return joined({kBuffer, root, "_", path});
}

std::string optimizer_state_name(std::string_view parameter,
                                 std::string_view key) {
  return joined({kOptimizerState, parameter, "/", key});
}

std::string learning_rate_name(std::string_view optimizer, std::size_t group) {
  return joined({kLearningRate, optimizer, "/", std::to_string(group)});
}

std::string input_name(std::string_view module, std::size_t number) {
  return joined({module, kInput, "_", std::to_string(number)});
}

std::string output_name(std::string_view module, std::size_t number) {
  return joined({module, kOutput, "_", std::to_string(number)});
}

std::string activation_gradient_module(std::string_view module) {
  return joined({kActivationGradient, module});
}

std::string variable_name(std::string_view variable) {
  const bool has_output = variable.find(':') != std::string_view::npos;
  return joined({variable, has_output ? "" : ":0"});
}

std::string layer_weight_name(std::string_view layer,
                              std::string_view variable) {
  return joined({layer, kLayerWeights, variable});
}

std::string weight_name(std::string_view variable) {
  return joined({kWeights, variable});
}

std::string variable_gradient_name(std::string_view variable) {
  return joined({kVariableGradient, variable.substr(0, variable.rfind(':')),
                 kGradientEnding});
}

std::string layer_inputs_name(std::string_view layer) {
  return joined({layer, kInputs});
}

std::string layer_outputs_name(std::string_view layer) {
  return joined({layer, kOutputs});
}

std::string activation_input_name(std::string_view layer,
                                  std::string_view activation) {
  return joined({layer, "/", activation, kInput});
}

std::vector<std::string> numbered_names(std::string_view name,
                                        std::size_t count) {
  if (count == 1) return {std::string(name)};
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i)
    names.push_back(joined({name, "_", std::to_string(i)}));
  return names;
}

std::string metric_name(std::string_view evaluation_set,
                        std::string_view metric) {
  return joined({evaluation_set, "-", metric});
}

std::string metric_deviation_name(std::string_view evaluation_set,
                                  std::string_view metric) {
  return joined({evaluation_set, "-", metric, "-std"});
}

std::string member_name(std::string_view collection, std::string_view member) {
  return joined({collection, "/", member});
}

std::string feature_importance_name(std::string_view importance,
                                    std::string_view feature) {
  return joined({"feature_importance/", importance, "/", feature});
}

std::string scalar_name(std::string_view name) {
  return joined({kScalar, name});
}

std::string UniqueNames::take(std::string_view name) {
  std::string candidate(name);
  for (std::size_t number = 1; !taken_.insert(candidate).second; ++number)
    candidate = joined({name, "_", std::to_string(number)});
  return candidate;
}

std::string UniqueNames::take_inside(std::string_view outer,
                                     std::string_view name) {
  if (!taken_.contains(name)) return take(name);
  return take(joined({outer, "/", name}));
}

std::string rule_collection(std::string_view rule) {
  return joined({kRuleCollection, rule});
}

std::string_view rule_of_collection(std::string_view collection) {
  if (!collection.starts_with(kRuleCollection)) return {};
  return collection.substr(kRuleCollection.size());
}

}  // namespace smdebug
