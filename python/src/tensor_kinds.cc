#include "tensor_kinds.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/stl/vector.h>

#include "smdebug/base/try.h"

namespace nb = nanobind;

namespace smdebug {
namespace {

// Returns "" for an object that has no text.
std::string text_of(nb::handle object) {
  try {
    return nb::str(object).c_str();
  } catch (const nb::python_error&) {
    return "";
  }
}

// Returns the text of an attribute; "" if it has none.
std::string text_of(nb::handle object, const char* attribute) {
  try {
    return text_of(object.attr(attribute));
  } catch (const nb::python_error&) {
    return "";
  }
}

// A sparse tensor may be far larger than the memory as a dense one.
constexpr std::int64_t kLargestDenseBytes = std::int64_t{256} << 20;

Status check_dense_size(nb::handle tensor) {
  try {
    const auto size = nb::cast<double>(tensor.attr("numel")());
    const auto element = nb::cast<double>(tensor.attr("element_size")());
    if (size * element <= static_cast<double>(kLargestDenseBytes)) return {};
    return unreadable("as a dense tensor it would take more than " +
                      std::to_string(kLargestDenseBytes >> 20) +
                      " MiB: save its values and indices");
  } catch (const std::exception& error) {
    return unreadable("its size is unknown: " + first_line(error));
  }
}

// torch checks the indices of a sparse tensor only on request. Those outside of
// its shape would be written outside of the dense tensor.
Status check_indices(nb::handle tensor) {
  try {
    const nb::object indices = tensor.attr("detach")().attr("_indices")();
    if (nb::cast<std::int64_t>(indices.attr("numel")()) == 0) return {};
    const auto least =
        nb::cast<std::int64_t>(indices.attr("min")().attr("item")());
    const auto largest = nb::cast<std::vector<std::int64_t>>(
        indices.attr("amax")(1).attr("tolist")());
    const auto shape =
        nb::cast<std::vector<std::int64_t>>(nb::list(tensor.attr("shape")));
    const bool fits = std::equal(largest.begin(), largest.end(), shape.begin(),
                                 std::less<>());
    if (least >= 0 && fits) return {};
    return unreadable("its indices do not fit into its shape");
  } catch (const std::exception& error) {
    return unreadable("its indices cannot be read: " + first_line(error));
  }
}

bool is_of_kind(nb::handle tensor, const char* attribute) {
  PyObject* answer = PyObject_GetAttrString(tensor.ptr(), attribute);
  if (!answer) PyErr_Clear();
  Py_XDECREF(answer);
  return answer == Py_True;
}

}  // namespace

std::string first_line(const std::exception& error) {
  std::string text = error.what();
  const auto* raised = dynamic_cast<const nb::python_error*>(&error);
  if (raised) text = text_of(raised->value());
  text = text.substr(0, text.find('\n'));
  return text.empty() && raised ? nb::type_name(raised->type()).c_str() : text;
}

Error unreadable(std::string why) {
  return {Error::Code::unsupported, std::move(why)};
}

std::string name_of_type(nb::handle object) {
  return text_of(object.type(), "__name__");
}

// torch's FakeTensor warns the program if asked for its elements. A parameter
// of a lazy module looks empty, and gets another type when it gets its values.
const char* reason_without_elements(PyTypeObject* type) {
  const nb::handle object = reinterpret_cast<PyObject*>(type);
  for (nb::handle base : nb::borrow<nb::tuple>(object.attr("__mro__"))) {
    const std::string name = text_of(base, "__name__");
    if (name == "FakeTensor") return "a FakeTensor has a shape but no elements";
    if (name == "UninitializedTensorMixin")
      return "the parameter has no values before the first call of its module";
  }
  return nullptr;
}

std::optional<std::string> reason_of_kind(nb::handle tensor) {
  if (is_of_kind(tensor, "is_nested"))
    return "a nested tensor has no single shape: save its values(), or pad it";
  if (is_of_kind(tensor, "is_quantized"))
    return "a quantized tensor: save its dequantize() or its int_repr()";
  if (is_of_kind(tensor, "is_meta"))
    return "a meta tensor has a shape but no elements";
  return std::nullopt;
}

std::string reason_against_dtype(nb::handle tensor) {
  return "elements of dtype '" + text_of(tensor, "dtype") +
         "' are not supported";
}

bool is_strided(nb::handle tensor) {
  const std::string layout = text_of(tensor, "layout");
  return layout.empty() || layout == "torch.strided" ||
         layout == "torch.jagged";
}

Status check_dense(nb::handle tensor) {
  SMD_CHECK_OK(check_dense_size(tensor));
  if (text_of(tensor, "layout") == "torch.sparse_coo")
    return check_indices(tensor);
  return {};
}

}  // namespace smdebug
