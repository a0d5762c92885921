// Binding of include/smdebug/cli: the command `smdebug`, with rules in Python.

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "smdebug/cli/main.h"

#include "bindings.h"
#include "python_rule.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace smdebug {
namespace {

Result<std::unique_ptr<Rule>> load_rule(
    const nb::callable& load, const std::string& spec,
    const std::map<std::string, std::string>& given, const std::string& run) {
  const nb::gil_scoped_acquire gil;
  try {
    nb::object judge = load(spec, given, run);
    const auto name = nb::cast<std::string>(judge.attr("name"));
    return make_python_rule(name, std::move(judge));
  } catch (const nb::python_error& error) {
    const nb::object exceptions =
        nb::module_::import_("smdebug.exceptions").attr("SMDebugError");
    if (error.matches(exceptions)) {
      return Error{Error::Code::invalid_config,
                   nb::cast<std::string>(nb::str(error.value()))};
    }
    return Error{Error::Code::invalid_config,
                 "rule '" + spec + "': " + error.what()};
  }
}

Status write_export(const nb::callable& write, const ExportRequest& request) {
  const nb::gil_scoped_acquire gil;
  try {
    write(request.format, request.source, request.out, request.tensors,
          request.step, request.mode);
    return {};
  } catch (const nb::python_error& error) {
    return Error{Error::Code::io,
                 nb::cast<std::string>(nb::str(error.value()))};
  }
}

int run_command_line(const std::vector<std::string>& arguments,
                     const nb::callable& load, const nb::callable& write) {
  CliHooks hooks;
  hooks.load_python_rule = [&load](const auto& spec, const auto& given,
                                   const auto& run) {
    return load_rule(load, spec, given, run);
  };
  hooks.export_file = [&write](const ExportRequest& request) {
    return write_export(write, request);
  };
  const nb::gil_scoped_release without_gil;
  return smdebug_main(arguments, hooks);
}

}  // namespace

void bind_cli(nb::module_& m) {
  m.def("run_command_line", &run_command_line, "arguments"_a, "load_rule"_a,
        "write_export"_a,
        "Runs the command `smdebug` and returns its exit code.");
}

}  // namespace smdebug
