#include "rules/engine/layer_name.h"

#include <array>

#include "smdebug/core/tensor_names.h"

namespace smdebug {
namespace {

using namespace name_parts;

constexpr std::string_view kDigits = "0123456789";

bool drop_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix) || text.size() == prefix.size()) return false;
  text.remove_prefix(prefix.size());
  return true;
}

bool drop_suffix(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix) || text.size() == suffix.size()) return false;
  text.remove_suffix(suffix.size());
  return true;
}

// "relu_output_12" is of "relu".
bool drop_place(std::string_view& text) {
  std::string_view rest = text;
  const std::size_t last = rest.find_last_not_of(kDigits);
  if (last != std::string_view::npos && last + 1 < rest.size() &&
      rest[last] == '_') {
    rest.remove_suffix(rest.size() - last);
  }
  for (const std::string_view place : {kOutput, kInput}) {
    if (drop_suffix(rest, place)) {
      text = rest;
      return true;
    }
  }
  return false;
}

// Keras: "dense/weights/dense/kernel:0", "dense/outputs_0".
bool drop_role(std::string_view& text) {
  for (const std::string_view role : {kLayerWeights, kOutputs, kInputs}) {
    const std::size_t at = text.find(role);
    if (at != std::string_view::npos && at > 0) {
      text = text.substr(0, at);
      return true;
    }
  }
  return false;
}

}  // namespace

std::string_view parameter_of_gradient(std::string_view gradient) {
  if (drop_prefix(gradient, kVariableGradient)) {
    drop_suffix(gradient, kGradientEnding);
  } else {
    drop_prefix(gradient, kGradient);
  }
  return gradient;
}

std::string_view parameter_of_weight(std::string_view weight) {
  const std::size_t at = weight.find(kWeights);
  if (at == 0 || (at != std::string_view::npos && weight[at - 1] == '/')) {
    weight.remove_prefix(at + kWeights.size());
  }
  const std::size_t output = weight.rfind(':');
  return output == std::string_view::npos ? weight : weight.substr(0, output);
}

std::string_view layer_of(std::string_view tensor) {
  std::string_view layer = tensor;
  if (drop_place(layer) || drop_role(layer)) return layer;
  layer = parameter_of_weight(parameter_of_gradient(layer));
  const std::size_t separator = layer.find_last_of("./");
  if (separator != std::string_view::npos && separator > 0) {
    return layer.substr(0, separator);
  }
  constexpr std::array<std::string_view, 4> kParameters = {"_weight", "_bias",
                                                           "_gamma", "_beta"};
  for (const std::string_view parameter : kParameters) {
    if (drop_suffix(layer, parameter)) return layer;
  }
  return tensor;
}

}  // namespace smdebug
