// Arrays whose memory cannot be imported as it is: strings, the dtypes of
// ml_dtypes, the other byte order, odd strides. numpy, which made most of them,
// converts them.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "smdebug/base/try.h"

#include "tensor_input.h"
#include "tensor_kinds.h"

namespace nb = nanobind;

namespace smdebug {
namespace {

std::string as_text(nb::handle object) { return nb::str(object).c_str(); }

// The memory that a tensor of strings points to.
struct ImportedStrings {
  nb::list objects;  // of str or bytes, whose characters the views show
  std::vector<std::string_view> views;
  std::vector<std::int64_t> shape;
};

nb::capsule capsule_of(std::unique_ptr<ImportedStrings> strings) {
  return nb::capsule(strings.release(), [](void* imported) noexcept {
    delete static_cast<ImportedStrings*>(imported);
  });
}

// Shows the characters of a str (in UTF-8, kept by the str itself) or of a
// bytes. False with a Python exception for a str that UTF-8 cannot write.
bool look_at_string(PyObject* object, DType dtype, std::string_view& view) {
  Py_ssize_t size = 0;
  char* characters = nullptr;
  if (dtype == DType::bytes) {
    PyBytes_AsStringAndSize(object, &characters, &size);
    view = {characters, static_cast<std::size_t>(size)};
    return true;
  }
  const char* text = PyUnicode_AsUTF8AndSize(object, &size);
  if (text) view = {text, static_cast<std::size_t>(size)};
  return text != nullptr;
}

Status look_at_strings(ImportedStrings& imported, DType dtype) {
  const auto is_right = [dtype](PyObject* object) {
    return dtype == DType::bytes ? PyBytes_Check(object)
                                 : PyUnicode_Check(object);
  };
  for (nb::handle object : imported.objects) {
    const std::string place = std::to_string(imported.views.size());
    if (!is_right(object.ptr())) {
      return unreadable(
          "an array of objects that are not all str or all "
          "bytes: element " +
          place + " is of type '" + name_of_type(object) + "'");
    }
    if (!look_at_string(object.ptr(), dtype, imported.views.emplace_back())) {
      PyErr_Clear();
      return unreadable("text that is not valid Unicode: element " + place +
                        " has half of a surrogate pair");
    }
  }
  return {};
}

// Returns why smdebug cannot write elements of this numpy dtype.
std::string reason_against(nb::handle dtype, char kind) {
  const std::string name = "'" + as_text(dtype.attr("name")) + "'";
  if (!dtype.attr("names").is_none()) {
    return "a structured array: put its fields one by one, they are " +
           as_text(dtype.attr("names"));
  }
  if (kind == 'M' || kind == 'm') {
    return "elements of dtype " + name +
           " are times, which are not supported: convert them to numbers";
  }
  if (nb::cast<std::size_t>(dtype.attr("itemsize")) > sizeof(double) &&
      (kind == 'f' || kind == 'c')) {
    return "elements of dtype " + name +
           " are wider than any supported dtype: convert them to float64 or "
           "complex128";
  }
  return "elements of dtype " + name + " are not supported";
}

// Returns a view of the array with a dtype that supports the buffer protocol:
// elements of ml_dtypes become integers of the same size.
nb::object with_buffer(nb::object array, DType dtype) {
  if (!nb::cast<bool>(array.attr("dtype").attr("isnative"))) {
    array = array.attr("astype")(array.attr("dtype").attr("newbyteorder")("="));
  }
  if (dtype == DType::bfloat16) return array.attr("view")("uint16");
  if (dtype == DType::float8_e4m3fn || dtype == DType::float8_e5m2)
    return array.attr("view")("uint8");
  return array;
}

}  // namespace

Status TensorImport::import_array(nb::handle object) {
  try {
    const nb::object array =
        nb::module_::import_("numpy").attr("asarray")(object);
    const nb::object dtype = array.attr("dtype");
    const char kind = as_text(dtype.attr("kind"))[0];
    if (std::string_view("USTO").find(kind) != std::string_view::npos)
      return import_strings(array, kind);
    const auto known = find_dtype(as_text(dtype.attr("name")));
    if (!known) return unreadable(reason_against(dtype, kind));
    owner_ = with_buffer(array, *known);
    if (!try_buffer(owner_)) {
      owner_ = owner_.attr("copy")();
      if (!try_buffer(owner_)) return unreadable("its elements have no buffer");
    }
    view_.dtype = *known;
    return {};
  } catch (const nb::python_error& error) {
    return unreadable("numpy cannot read it: " + first_line(error));
  }
}

Status TensorImport::import_strings(const nb::object& array, char kind) {
  auto imported = std::make_unique<ImportedStrings>();
  imported->objects = nb::list(array.attr("ravel")().attr("tolist")());
  for (nb::handle extent : array.attr("shape"))
    imported->shape.push_back(nb::cast<std::int64_t>(extent));
  const bool begins_with_bytes = nb::len(imported->objects) > 0 &&
                                 PyBytes_Check(imported->objects[0].ptr());
  const bool is_bytes = kind == 'S' || (kind == 'O' && begins_with_bytes);
  const DType dtype = is_bytes ? DType::bytes : DType::string;
  imported->views.reserve(nb::len(imported->objects));
  SMD_CHECK_OK(look_at_strings(*imported, dtype));
  view_ = {dtype,
           reinterpret_cast<const std::byte*>(imported->views.data()),
           imported->shape,
           {}};
  owner_ = capsule_of(std::move(imported));
  return {};
}

}  // namespace smdebug
