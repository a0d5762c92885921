// Turns errors of the library into the exceptions of smdebug.exceptions.

#include "result_caster.h"

#include <array>
#include <cstddef>
#include <exception>
#include <string>

#include <nanobind/stl/string.h>

#include "smdebug/core/error_subject.h"

#include "interrupt.h"

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

// The arguments that an exception's class takes.
using Arguments = nb::tuple (*)(const Error&, const ErrorSubject&);

nb::tuple message(const Error& error, const ErrorSubject&) {
  return nb::make_tuple(nb::steal(PyUnicode_DecodeUTF8(
      error.message.data(), static_cast<Py_ssize_t>(error.message.size()),
      "replace")));
}

nb::tuple nothing(const Error&, const ErrorSubject&) {
  return nb::make_tuple();
}

nb::tuple tensor(const Error&, const ErrorSubject& about) {
  return nb::make_tuple(about.tensor);
}

nb::tuple worker(const Error&, const ErrorSubject& about) {
  return nb::make_tuple(about.worker);
}

nb::tuple step(const Error&, const ErrorSubject& about) {
  return nb::make_tuple(about.step, about.mode);
}

nb::tuple step_and_last(const Error&, const ErrorSubject& about) {
  return nb::make_tuple(about.step, about.mode, about.last_step);
}

nb::tuple tensor_at_step(const Error&, const ErrorSubject& about) {
  return nb::make_tuple(about.tensor, about.step, about.mode);
}

nb::tuple reductions_at_step(const Error&, const ErrorSubject& about) {
  return nb::make_tuple(about.tensor, about.step, about.mode, true);
}

struct DetailRow {
  Error::Detail detail;
  const char* exception;  // in smdebug.exceptions, or one of Python's own
  Arguments arguments;
};

constexpr std::array<DetailRow, 14> kDetails = {{
    {Error::Detail::collections_missing, "MissingCollectionFiles", nothing},
    {Error::Detail::tensor_unknown, "TensorUnavailable", tensor},
    {Error::Detail::worker_unknown, "InvalidWorker", worker},
    {Error::Detail::step_not_yet, "StepNotYetAvailable", step},
    {Error::Detail::step_passed, "StepUnavailable", step},
    {Error::Detail::no_more_data, "NoMoreData", step_and_last},
    {Error::Detail::tensor_not_at_step, "TensorUnavailableForStep",
     tensor_at_step},
    {Error::Detail::only_reductions, "TensorUnavailableForStep",
     reductions_at_step},
    {Error::Detail::elements_unavailable, "TensorUnavailableForStep",
     tensor_at_step},
    {Error::Detail::shape_unavailable, "ShapeUnavailableForStep",
     tensor_at_step},
    {Error::Detail::type_unsupported, "SMDebugTypeError", message},
    {Error::Detail::not_a_tensor, "SMDebugValueError", message},
    {Error::Detail::file_missing, "FileNotFoundError", message},
    {Error::Detail::nothing_written, "SMDebugRuntimeError", message},
}};

// Borrowed for the life of the process: a module is never unloaded.
std::array<PyObject*, kCodes.size()> classes_of_codes;
std::array<PyObject*, kDetails.size()> classes_of_details;

const CodeRow& row_of(Error::Code code) {
  for (const CodeRow& row : kCodes) {
    if (row.code == code) return row;
  }
  return row_of(Error::Code::internal);
}

struct ExceptionMaker {
  nb::handle type;
  Arguments arguments;
};

ExceptionMaker maker_of(const Error& error) {
  for (std::size_t i = 0; i < kDetails.size(); ++i) {
    if (kDetails[i].detail == error.detail) {
      return {classes_of_details[i], kDetails[i].arguments};
    }
  }
  const auto place = &row_of(error.code) - kCodes.data();
  return {classes_of_codes[static_cast<std::size_t>(place)], message};
}

nb::object make_exception(const Error& error) {
  static const ErrorSubject unknown;
  const ErrorSubject& about = error.subject ? *error.subject : unknown;
  const ExceptionMaker maker = maker_of(error);
  nb::object raised = maker.type(*maker.arguments(error, about));
  raised.attr("code") = row_of(error.code).name;
  if (maker.arguments != message) {
    raised.attr("full_message") = message(error, about)[0];
  }
  return raised;
}

}  // namespace

void look_up_exceptions() {
  const nb::module_ ours = nb::module_::import_("smdebug.exceptions");
  const nb::module_ pythons = nb::module_::import_("builtins");
  const auto find = [&](const char* name) {
    const bool is_ours = nb::hasattr(ours, name);
    return nb::object((is_ours ? ours : pythons).attr(name)).release().ptr();
  };
  for (std::size_t i = 0; i < kCodes.size(); ++i) {
    classes_of_codes[i] = find(kCodes[i].exception);
  }
  for (std::size_t i = 0; i < kDetails.size(); ++i) {
    classes_of_details[i] = find(kDetails[i].exception);
  }
}

void set_python_error(const Error& error) noexcept {
  if (error.code == Error::Code::interrupted && raise_interrupt()) return;
  try {
    const nb::object raised = make_exception(error);
    PyErr_SetObject(raised.type().ptr(), raised.ptr());
  } catch (nb::python_error& failure) {
    failure.restore();
  } catch (const std::exception&) {
    PyErr_SetString(PyExc_RuntimeError, error.message.c_str());
  }
}

}  // namespace smdebug
