// Bindings of include/smdebug/core: modes, and what the package is built from.

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
  // Hooks and sites that a program keeps to its end are no leak to report;
  // the tests switch the report on.
  nb::set_leak_warnings(false);
  m.def(
      "set_leak_warnings", [](bool on) { nb::set_leak_warnings(on); }, "on"_a,
      "Reports objects of this module that are alive at exit, or not.");

  nb::enum_<Mode>(m, "ModeKeys", "What the program is doing with the model.")
      .value("TRAIN", Mode::train)
      .value("EVAL", Mode::eval)
      .value("PREDICT", Mode::predict)
      .value("GLOBAL", Mode::global);
}

}  // namespace smdebug
