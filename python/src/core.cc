// Bindings of include/smdebug/core: modes and the version.

#include <nanobind/nanobind.h>
#include <nanobind/stl/string_view.h>

#include "smdebug/base/version.h"
#include "smdebug/core/mode.h"

#include "bindings.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace smdebug {

void bind_core(nb::module_& m) {
  m.attr("version") = kVersion;
  // Hooks and slots that a program keeps until it exits are not leaks. Tests
  // turn the report on.
  nb::set_leak_warnings(false);
  m.def(
      "set_leak_warnings", [](bool on) { nb::set_leak_warnings(on); }, "on"_a,
      "Sets whether objects of this module that are alive at exit are "
      "reported.");

  nb::enum_<Mode>(
      m, "ModeKeys",
      "The mode of a step: the use that the program makes of the model.")
      .value("TRAIN", Mode::train)
      .value("EVAL", Mode::eval)
      .value("PREDICT", Mode::predict)
      .value("GLOBAL", Mode::global);
}

}  // namespace smdebug
