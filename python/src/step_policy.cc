// Bindings of include/smdebug/capture/step_policy.h.

#include "smdebug/capture/step_policy.h"

#include <cstdint>
#include <string>
#include <string_view>

#include <nanobind/nanobind.h>
#include <nanobind/stl/string_view.h>

#include "bindings.h"
#include "result_caster.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace smdebug {
namespace {

Result<StepPolicy> make_step_policy(std::string_view step_on) {
  if (const auto found = find_step_on(step_on)) return StepPolicy(*found);
  return Error{Error::Code::invalid_argument,
               "step_on must be 'forward', 'optimizer' or 'leading_model', "
               "found '" +
                   std::string(step_on) + "'"};
}

bool begins_step(StepPolicy& self, std::uint64_t model, Mode mode,
                 bool is_training, bool can_learn, std::string_view device) {
  return self.begins_step({.model = model,
                           .mode = mode,
                           .is_training = is_training,
                           .can_learn = can_learn,
                           .device = device});
}

}  // namespace

void bind_steps(nb::module_& m) {
  nb::class_<StepPolicy>(
      m, "StepPolicy",
      "Decides which calls of a model begin a step: every one ('forward'), the "
      "first after an optimizer has acted ('optimizer'), or those of the model "
      "that was called first ('leading_model').")
      .def_static("create", &make_step_policy, "step_on"_a,
                  "Raises SMDebugValueError for a policy that does not exist.")
      .def("begins_step", &begins_step, "model"_a, "mode"_a, "is_training"_a,
           "can_learn"_a = true, "device"_a = std::string_view(),
           "Returns whether a call of a model begins a step. `model` is any "
           "number that differs between models, `can_learn` whether a backward "
           "pass can follow, `device` where this part of the batch is.")
      .def_prop_ro("each_call_is_a_step", &StepPolicy::each_call_is_a_step,
                   "Whether every call begins a step as long as no call names "
                   "its device.")
      .def("backward_began", &StepPolicy::backward_began,
           "Reports that a backward pass begins.")
      .def("optimizer_acted", &StepPolicy::optimizer_acted,
           "Reports that an optimizer has updated the models.");
}

}  // namespace smdebug
