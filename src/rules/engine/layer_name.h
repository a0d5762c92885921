#pragma once

// The layer that a tensor belongs to, by the names that frameworks give.

#include <string_view>

namespace smdebug {

// Returns a part of `tensor`: "layer1.0.relu" of "layer1.0.relu_output_0",
// "Net_fc1" of "Net_fc1.weight" and "gradient/Net_fc1.weight", "net_dense0" of
// "net_dense0_weight", "dense" of "dense/outputs" and "dense/weights/dense/
// kernel:0"; all of `tensor` if it names no part of a layer.
std::string_view layer_of(std::string_view tensor);

// Return the name of a parameter, given its gradient or the parameter itself.
// The two results are equal if `gradient` belongs to `weight`:
// "gradient/Net_fc1.weight" belongs to "Net_fc1.weight",
// "gradients/dense/kernelGrad" to "dense/weights/dense/kernel:0".
std::string_view parameter_of_gradient(std::string_view gradient);
std::string_view parameter_of_weight(std::string_view weight);

}  // namespace smdebug
