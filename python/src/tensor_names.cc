// Bindings of include/smdebug/core/tensor_names.h.

#include "smdebug/core/tensor_names.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "bindings.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace smdebug {
namespace {

void bind_module_names(nb::module_& m) {
  m.def("parameter_name", &parameter_name, "root"_a, "path"_a,
        "Returns 'Net_fc1.weight'.");
  m.def("gradient_name", &gradient_name, "parameter"_a,
        "Returns 'gradient/Net_fc1.weight' for 'Net_fc1.weight'.");
  m.def("input_name", &input_name, "module"_a, "number"_a,
        "Returns 'fc1_input_0'.");
  m.def("output_name", &output_name, "module"_a, "number"_a,
        "Returns 'fc1_output_0'.");
  m.def("buffer_name", &buffer_name, "root"_a, "path"_a,
        "Returns 'buffer/Net_bn1.running_mean'.");
  m.def("optimizer_state_name", &optimizer_state_name, "parameter"_a, "key"_a,
        "Returns 'optimizer_state/Net_fc1.weight/exp_avg'.");
  m.def("learning_rate_name", &learning_rate_name, "optimizer"_a, "group"_a,
        "Returns 'learning_rate/SGD/0'.");
  m.attr("REPEATED_CALLS") = nb::str(name_parts::kRepeatedCalls.data());
  m.attr("GRADIENT_SCALE") = nb::str(name_parts::kGradientScale.data());
  m.attr("UPDATE_SKIPPED") = nb::str(name_parts::kUpdateSkipped.data());
  m.def("scalar_name", &scalar_name, "name"_a, "Returns 'scalar/accuracy'.");
  m.def("activation_gradient_module", &activation_gradient_module, "module"_a,
        "Returns 'activation_gradient/fc1'.");
}

void bind_layer_names(nb::module_& m) {
  m.def("variable_name", &variable_name, "variable"_a,
        "Returns 'dense/kernel:0', with or without the number given.");
  m.def("layer_weight_name", &layer_weight_name, "layer"_a, "variable"_a,
        "Returns 'dense/weights/dense/kernel:0'.");
  m.def("weight_name", &weight_name, "variable"_a,
        "Returns 'weights/dense/kernel:0'.");
  m.def("variable_gradient_name", &variable_gradient_name, "variable"_a,
        "Returns 'gradients/dense/kernelGrad' for 'dense/kernel:0'.");
  m.def("layer_inputs_name", &layer_inputs_name, "layer"_a,
        "Returns 'dense/inputs'.");
  m.def("layer_outputs_name", &layer_outputs_name, "layer"_a,
        "Returns 'dense/outputs'.");
  m.def("activation_input_name", &activation_input_name, "layer"_a,
        "activation"_a, "Returns 'dense/relu_input'.");
  m.def("numbered_names", &numbered_names, "name"_a, "count"_a,
        "Returns the names of `count` tensors that share a name: numbered from "
        "0 if there are several.");
}

void bind_tree_names(nb::module_& m) {
  m.def("metric_name", &metric_name, "evaluation_set"_a, "metric"_a,
        "Returns 'train-rmse'.");
  m.def("metric_deviation_name", &metric_deviation_name, "evaluation_set"_a,
        "metric"_a, "Returns 'train-rmse-std'.");
  m.def("member_name", &member_name, "collection"_a, "member"_a,
        "Returns 'trees/Gain'.");
  m.def("feature_importance_name", &feature_importance_name, "importance"_a,
        "feature"_a, "Returns 'feature_importance/gain/f0'.");
}

}  // namespace

void bind_names(nb::module_& m) {
  bind_module_names(m);
  bind_layer_names(m);
  bind_tree_names(m);
  nb::class_<UniqueNames>(
      m, "UniqueNames",
      "Makes names unique: 'Net', 'Net_1', 'Net_2' for three of one name.")
      .def(
          "__init__",
          [](UniqueNames* self, const std::vector<std::string>& taken) {
            new (self) UniqueNames({taken.begin(), taken.end()});
          },
          "taken"_a = std::vector<std::string>{})
      .def("take", &UniqueNames::take, "name"_a,
           "Returns the name, with the first free number appended if it is "
           "taken, and takes it.")
      .def("take_inside", &UniqueNames::take_inside, "outer"_a, "name"_a,
           "Returns the same for an object inside another one: "
           "'<outer>/<name>' if its name is taken.");
}

}  // namespace smdebug
