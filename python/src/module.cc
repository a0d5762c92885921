// The extension `smdebug._core`: the list of its parts, one file per stage.

#include <array>
#include <cstddef>

#include <nanobind/nanobind.h>

#include "bindings.h"
#include "result_caster.h"

namespace nb = nanobind;

namespace smdebug {
namespace {

struct CodeRow {
  Error::Code code;
  const char* name;       // attribute `code` of the exception
  const char* exception;  // in smdebug.exceptions
};

constexpr std::array<CodeRow, 11> kCodes = {{
    {Error::Code::not_found, "not_found", "SMDebugError"},
    {Error::Code::not_yet, "not_yet", "SMDebugError"},
    {Error::Code::corrupt, "corrupt", "SMDebugRuntimeError"},
    {Error::Code::invalid_config, "invalid_config", "SMDebugValueError"},
    {Error::Code::invalid_argument, "invalid_argument", "SMDebugValueError"},
    {Error::Code::unsupported, "unsupported", "SMDebugNotImplementedError"},
    {Error::Code::io, "io", "SMDebugRuntimeError"},
    {Error::Code::unavailable, "unavailable", "SMDebugRuntimeError"},
    {Error::Code::closed, "closed", "SMDebugRuntimeError"},
    {Error::Code::internal, "internal", "SMDebugRuntimeError"},
    {Error::Code::interrupted, "interrupted", "SMDebugRuntimeError"},
}};

// Borrowed for the life of the process: a module is never unloaded.
std::array<PyObject*, kCodes.size()> exception_classes;

void look_up_exceptions() {
  nb::module_ exceptions = nb::module_::import_("smdebug.exceptions");
  for (std::size_t i = 0; i < kCodes.size(); ++i) {
    exception_classes[i] =
        nb::object(exceptions.attr(kCodes[i].exception)).release().ptr();
  }
}

}  // namespace

void set_python_error(const Error& error) noexcept {
  for (std::size_t i = 0; i < kCodes.size(); ++i) {
    if (kCodes[i].code != error.code) continue;
    PyObject* message = PyUnicode_DecodeUTF8(
        error.message.data(), static_cast<Py_ssize_t>(error.message.size()),
        "replace");
    if (!message) return;
    PyObject* raised = PyObject_CallOneArg(exception_classes[i], message);
    Py_DECREF(message);
    if (!raised) return;
    PyObject* name = PyUnicode_FromString(kCodes[i].name);
    if (!name || PyObject_SetAttrString(raised, "code", name) != 0) {
      PyErr_Clear();
    }
    Py_XDECREF(name);
    PyErr_SetObject(exception_classes[i], raised);
    Py_DECREF(raised);
    return;
  }
  PyErr_SetString(PyExc_RuntimeError, error.message.c_str());
}

}  // namespace smdebug

NB_MODULE(_core, m) {
  m.doc() = "The C++ library, as the Python package sees it.";
  smdebug::look_up_exceptions();
  smdebug::bind_core(m);
  smdebug::bind_names(m);
  smdebug::bind_config(m);
  smdebug::bind_capture(m);
  smdebug::bind_steps(m);
  smdebug::bind_read(m);
  smdebug::bind_files(m);
  smdebug::bind_saved(m);
  smdebug::bind_rules(m);
  smdebug::bind_monitors(m);
  smdebug::bind_actions(m);
  smdebug::bind_cli(m);
}
