#pragma once

// The layer that a tensor belongs to, by the names that frameworks give.

#include <string_view>

namespace smdebug {

// Returns a part of `tensor`: "layer1.0.relu" of "layer1.0.relu_output_0",
// "Net_fc1" of "Net_fc1.weight" and "gradient/Net_fc1.weight", "net_dense0" of
// "net_dense0_weight", "dense" of "dense/outputs" and "dense/weights/dense/
// kernel:0"; all of it where it names no part of a layer.
std::string_view layer_of(std::string_view tensor);

// Returns the parameter that `gradient` is the gradient of, and the parameter
// that `weight` is, in a form in which the two are equal:
// "gradient/Net_fc1.weight" is of "Net_fc1.weight",
// "gradients/dense/kernelGrad" of "dense/weights/dense/kernel:0".
std::string_view parameter_of_gradient(std::string_view gradient);
std::string_view parameter_of_weight(std::string_view weight);

}  // namespace smdebug
