// Binding of include/smdebug/cli: the command `smdebug`, with rules in Python
// and the workers of a Ray cluster.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
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

// Converts the result of a run, or None, and its text.
Result<RemoteResult> remote_result(const std::optional<nb::bytes>& record,
                                   std::string text) {
  if (!record) return Error{Error::Code::unavailable, std::move(text)};
  return RemoteResult{{record->c_str(), record->size()}, std::move(text)};
}

Status judge_on_ray(
    const nb::callable& judge, const std::string& address,
    std::span<const std::vector<std::string>> commands,
    const std::function<void(std::size_t, Result<RemoteResult>)>& on_judged) {
  const nb::gil_scoped_acquire gil;
  try {
    judge(
        address,
        std::vector<std::vector<std::string>>(commands.begin(), commands.end()),
        nb::cpp_function([&](std::size_t index,
                             const std::optional<nb::bytes>& record,
                             std::string text) {
          on_judged(index, remote_result(record, std::move(text)));
        }));
    return {};
  } catch (const nb::python_error& error) {
    const nb::object exceptions =
        nb::module_::import_("smdebug.exceptions").attr("SMDebugError");
    return Error{Error::Code::unavailable,
                 error.matches(exceptions)
                     ? nb::cast<std::string>(nb::str(error.value()))
                     : error.what()};
  }
}

CliHooks hooks_with_rules(const nb::callable& load) {
  CliHooks hooks;
  hooks.load_python_rule = [&load](const auto& spec, const auto& given,
                                   const auto& run) {
    return load_rule(load, spec, given, run);
  };
  return hooks;
}

int run_command_line(const std::vector<std::string>& arguments,
                     const nb::callable& load, const nb::callable& judge,
                     const nb::callable& write) {
  CliHooks hooks = hooks_with_rules(load);
  hooks.judge_on_ray = [&judge](const auto& address, auto commands,
                                const auto& on_judged) {
    return judge_on_ray(judge, address, commands, on_judged);
  };
  hooks.export_file = [&write](const ExportRequest& request) {
    return write_export(write, request);
  };
  const nb::gil_scoped_release without_gil;
  return smdebug_main(arguments, hooks);
}

nb::bytes judge_one_run(const std::vector<std::string>& arguments,
                        const nb::callable& load) {
  const CliHooks hooks = hooks_with_rules(load);
  std::string record;
  {
    const nb::gil_scoped_release without_gil;
    record = judge_for_ray(arguments, hooks);
  }
  return nb::bytes(record.data(), record.size());
}

}  // namespace

void bind_cli(nb::module_& m) {
  m.def("run_command_line", &run_command_line, "arguments"_a, "load_rule"_a,
        "judge_on_ray"_a, "write_export"_a,
        "Runs the command `smdebug` and returns its exit code.");
  m.def("judge_for_ray", &judge_one_run, "arguments"_a, "load_rule"_a,
        "Judges the run of a command line of `smdebug check --ray` and returns "
        "its result in bytes, for the process that made the command line.");
}

}  // namespace smdebug
