#include "interrupt.h"

#include <utility>

#include <nanobind/nanobind.h>

namespace nb = nanobind;

namespace smdebug {
namespace {

// The exception that a signal handler raised, or null. Guarded by the GIL.
PyObject* kept_exception = nullptr;

PyObject* take_current_exception() {
#if PY_VERSION_HEX >= 0x030C0000
  return PyErr_GetRaisedException();
#else
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  if (traceback != nullptr) PyException_SetTraceback(value, traceback);
  Py_XDECREF(type);
  Py_XDECREF(traceback);
  return value;
#endif
}

}  // namespace

bool check_interrupt() {
  const nb::gil_scoped_acquire gil;
  if (kept_exception != nullptr) return true;
  if (PyErr_CheckSignals() == 0) return false;
  kept_exception = take_current_exception();
  return true;
}

bool raise_interrupt() noexcept {
  PyObject* const raised = std::exchange(kept_exception, nullptr);
  if (raised == nullptr) return false;
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(raised)), raised);
  Py_DECREF(raised);
  return true;
}

bool is_interrupt_pending() {
  if (Py_IsInitialized() == 0) return false;
  const nb::gil_scoped_acquire gil;
  if (PyOS_InterruptOccurred() == 0) return false;  // clears the signal
  PyErr_SetInterrupt();
  return true;
}

}  // namespace smdebug
