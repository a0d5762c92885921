#include "tensor_walk.h"

#include "tensor_input.h"

namespace nb = nanobind;

namespace smdebug {
namespace {

using Visit = std::function<void(nb::handle)>;

// A list may contain itself.
constexpr int kDeepest = 32;

void walk(nb::handle value, const Visit& visit, int depth);

// Whether it has one of the types that most arguments without tensors have.
bool is_plain(nb::handle value) {
  PyObject* const object = value.ptr();
  return object == Py_None || PyLong_Check(object) || PyFloat_Check(object) ||
         PyUnicode_Check(object) || PyType_Check(object);
}

void walk_sequence(nb::handle value, const Visit& visit, int depth) {
  const bool is_tuple = PyTuple_Check(value.ptr());
  for (Py_ssize_t i = 0; i < Py_SIZE(value.ptr()); ++i) {
    walk(is_tuple ? PyTuple_GetItem(value.ptr(), i)
                  : PyList_GetItem(value.ptr(), i),
         visit, depth);
  }
}

void walk_dict(nb::handle value, const Visit& visit, int depth) {
  PyObject* item = nullptr;
  Py_ssize_t position = 0;
  while (PyDict_Next(value.ptr(), &position, nullptr, &item))
    walk(nb::borrow(item), visit, depth);
}

bool is_dataclass(nb::handle value) {
  static PyObject* const fields =
      PyUnicode_InternFromString("__dataclass_fields__");
  return PyObject_HasAttr(reinterpret_cast<PyObject*>(Py_TYPE(value.ptr())),
                          fields) != 0;
}

void walk_dataclass(nb::handle value, const Visit& visit, int depth) {
  for (nb::handle name : value.attr("__dataclass_fields__")) {
    if (nb::hasattr(value, name)) walk(nb::getattr(value, name), visit, depth);
  }
}

bool is_mapping(nb::handle value) {
  static const nb::object& mapping =
      *new nb::object(nb::module_::import_("collections.abc").attr("Mapping"));
  const int answer = PyObject_IsInstance(value.ptr(), mapping.ptr());
  if (answer < 0) nb::raise_python_error();
  return answer == 1;
}

// Visits containers whose access may run Python code.
void walk_object(nb::handle value, const Visit& visit, int depth) {
  try {
    if (is_dataclass(value)) {
      walk_dataclass(value, visit, depth);
    } else if (is_mapping(value)) {
      for (nb::handle item : value.attr("values")()) walk(item, visit, depth);
    }
  } catch (const nb::python_error&) {
    // Ignore containers that cannot be read: the training must continue.
  }
}

void walk(nb::handle value, const Visit& visit, int depth) {
  if (has_exchange_table(value)) return visit(value);
  if (is_plain(value) || depth == kDeepest) return;
  if (PyTuple_Check(value.ptr()) || PyList_Check(value.ptr())) {
    walk_sequence(value, visit, depth + 1);
  } else if (PyDict_Check(value.ptr())) {
    walk_dict(value, visit, depth + 1);
  } else {
    walk_object(value, visit, depth + 1);
  }
}

}  // namespace

void walk_tensors(nb::handle value, const Visit& visit) {
  walk(value, visit, 0);
}

}  // namespace smdebug
