#include "tensor_input.h"

#include <algorithm>
#include <string>
#include <string_view>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include "smdebug/base/try.h"

#include "dlpack_exchange.h"
#include "tensor_kinds.h"

namespace nb = nanobind;

namespace smdebug {
namespace {

// Takes the pending Python exception and returns its first line. A table of
// another library may fail without one.
std::string take_python_error() {
  if (!PyErr_Occurred()) return "its elements cannot be read";
  nb::python_error error;
  return first_line(error);
}

// One entry per exact type: a subclass inherits the attribute, but not
// necessarily its meaning. Types are kept alive, so a pointer is a key.
struct CachedTable {
  PyTypeObject* type = nullptr;
  const dlpack::ExchangeTable* table = nullptr;
  bool may_be_wrapper = false;
  const char* reason = nullptr;  // why no tensor of the type has elements
};
constexpr std::size_t kCachedTypes = 64;
std::array<CachedTable, kCachedTypes> cached_tables;

const dlpack::ExchangeTable* look_up_table(PyTypeObject* type) {
  PyObject* capsule = PyObject_GetAttrString(reinterpret_cast<PyObject*>(type),
                                             "__dlpack_c_exchange_api__");
  const dlpack::ExchangeTable* table = nullptr;
  if (capsule) {
    table = static_cast<const dlpack::ExchangeTable*>(
        PyCapsule_GetPointer(capsule, dlpack::kExchangeCapsule));
    Py_DECREF(capsule);
  }
  PyErr_Clear();
  if (!table || table->version.major != dlpack::kMajorVersion ||
      !table->borrow_from_object) {
    return nullptr;
  }
  return table;
}

// A type of tensors that handles operators itself may hold no elements: torch
// exports such a tensor (a DTensor) with a null pointer plus an offset.
bool may_be_wrapper(PyTypeObject* type) {
  PyObject* dispatch = PyObject_GetAttrString(reinterpret_cast<PyObject*>(type),
                                              "__torch_dispatch__");
  PyObject* name =
      dispatch ? PyObject_GetAttrString(dispatch, "__name__") : nullptr;
  const bool is_default =
      !dispatch || (name && PyUnicode_Check(name) &&
                    PyUnicode_CompareWithASCIIString(
                        name, "_disabled_torch_dispatch_impl") == 0);
  Py_XDECREF(name);
  Py_XDECREF(dispatch);
  PyErr_Clear();
  return !is_default;
}

CachedTable look_up(PyTypeObject* type) {
  return {type, look_up_table(type), may_be_wrapper(type),
          reason_without_elements(type)};
}

// Open addressing over a small table; a full table only costs the look-up.
CachedTable find_lender(PyTypeObject* type) {
  const std::size_t start = (reinterpret_cast<std::uintptr_t>(type) >> 4);
  for (std::size_t i = 0; i < kCachedTypes; ++i) {
    CachedTable& entry = cached_tables[(start + i) % kCachedTypes];
    if (entry.type == type) return entry;
    if (entry.type) continue;
    Py_INCREF(reinterpret_cast<PyObject*>(type));
    return entry = look_up(type);
  }
  return look_up(type);
}

// Most tensors of a call are of one type. Valid until the next call.
const CachedTable& lender_of(PyTypeObject* type) {
  static CachedTable last;
  if (last.type == type) return last;
  Py_INCREF(reinterpret_cast<PyObject*>(type));
  Py_XDECREF(reinterpret_cast<PyObject*>(last.type));
  return last = find_lender(type);
}

const dlpack::ExchangeTable* exchange_table(PyTypeObject* type) {
  return lender_of(type).table;
}

// Whether a tensor has memory of its own, for types that may have none.
bool has_storage(nb::handle tensor) {
  try {
    return nb::cast<std::uintptr_t>(
               tensor.attr("untyped_storage")().attr("data_ptr")()) != 0;
  } catch (const std::exception&) {
    return false;
  }
}

std::optional<DType> dtype_from_dlpack(const dlpack::DataType& type) {
  if (type.lanes != 1) return std::nullopt;
  const auto by_bits = [&](DType b8, DType b16, DType b32,
                           DType b64) -> std::optional<DType> {
    switch (type.bits) {
      case 8:
        return b8;
      case 16:
        return b16;
      case 32:
        return b32;
      case 64:
        return b64;
    }
    return std::nullopt;
  };
  switch (type.code) {
    case dlpack::kFloat:
      if (type.bits == 8) return std::nullopt;
      return by_bits(DType::float16, DType::float16, DType::float32,
                     DType::float64);
    case dlpack::kBFloat:
      return DType::bfloat16;
    case dlpack::kInt:
      return by_bits(DType::int8, DType::int16, DType::int32, DType::int64);
    case dlpack::kUInt:
      return by_bits(DType::uint8, DType::uint16, DType::uint32, DType::uint64);
    case dlpack::kBool:
      return DType::boolean;
    case dlpack::kComplex:
      if (type.bits == 64) return DType::complex64;
      if (type.bits == 128) return DType::complex128;
      return std::nullopt;
    case dlpack::kFloat8E4M3FN:
      return DType::float8_e4m3fn;
    case dlpack::kFloat8E5M2:
      return DType::float8_e5m2;
  }
  return std::nullopt;
}

bool is_host(const dlpack::Device& device) {
  return device.type == dlpack::kHost || device.type == dlpack::kCudaHost ||
         device.type == dlpack::kRocmHost ||
         device.type == dlpack::kCudaManaged;
}

// The view points into `tensor`'s own shape and strides.
Status look_at(const dlpack::Tensor& tensor, TensorView& view) {
  const std::optional<DType> dtype = dtype_from_dlpack(tensor.dtype);
  if (!dtype) {
    return unreadable("elements of DLPack type " +
                      std::to_string(tensor.dtype.code) + " with " +
                      std::to_string(tensor.dtype.bits) +
                      " bits are not supported");
  }
  const auto rank = static_cast<std::size_t>(tensor.ndim);
  view = {*dtype, nullptr, {tensor.shape, rank}, {}};
  if (tensor.strides) view.strides = {tensor.strides, rank};
  if (tensor.data) {
    view.data = static_cast<const std::byte*>(tensor.data) + tensor.byte_offset;
  } else if (view.size() > 0) {
    return unreadable("it has a shape but no elements in memory");
  }
  return {};
}

// Handles the common case in one pass over the shape: several real elements in
// host memory, in C order. Omits the strides, so that they are not checked
// again. Returns false for other tensors.
bool look_at_plain(const dlpack::Tensor& tensor, TensorView& view) {
  if (tensor.device.type != dlpack::kHost || !tensor.data ||
      tensor.dtype.code == dlpack::kComplex) {
    return false;
  }
  const std::optional<DType> dtype = dtype_from_dlpack(tensor.dtype);
  if (!dtype) return false;
  std::int64_t size = 1;
  for (std::int32_t i = tensor.ndim; i-- > 0;) {
    const std::int64_t extent = tensor.shape[i];
    if (tensor.strides && tensor.strides[i] != size && extent != 1)
      return false;
    size *= extent;
  }
  if (size <= 1) return false;
  view.dtype = *dtype;
  view.data = static_cast<const std::byte*>(tensor.data) + tensor.byte_offset;
  view.shape = {tensor.shape, static_cast<std::size_t>(tensor.ndim)};
  return true;
}

// Owned for as long as the interpreter lives.
PyObject* local_part = nullptr;

// Returns whether `object.name()` returns True; false for objects without such
// a method.
bool is_true(nb::handle object, PyObject* name) {
  PyObject* answer = PyObject_CallMethodObjArgs(object.ptr(), name, nullptr);
  if (!answer) {
    PyErr_Clear();
    return false;
  }
  const bool truth = answer == Py_True;
  Py_DECREF(answer);
  return truth;
}

// torch exports a lazily conjugated or negated tensor with its original
// elements. Such a tensor is complex, or the imaginary part of a complex tensor
// and therefore not contiguous. Checking every tensor would double the time of
// an import. (The private torch._neg_view creates others.)
bool may_be_lazy(const dlpack::Tensor& tensor, const TensorView& view) {
  return tensor.dtype.code == dlpack::kComplex || view.size() == 1 ||
         !view.is_contiguous();
}

bool is_lazy(nb::handle object) {
  static PyObject* const is_neg = PyUnicode_InternFromString("is_neg");
  static PyObject* const is_conj = PyUnicode_InternFromString("is_conj");
  return is_true(object, is_neg) || is_true(object, is_conj);
}

// The element types of the buffer protocol, by struct's format characters.
std::optional<DType> dtype_from_format(std::string_view format,
                                       Py_ssize_t itemsize) {
  if (!format.empty() && (format[0] == '@' || format[0] == '=' ||
                          (format[0] == '<' && itemsize > 0))) {
    format.remove_prefix(1);
  }
  if (format == "Zf") return DType::complex64;
  if (format == "Zd") return DType::complex128;
  if (format.size() != 1) return std::nullopt;
  const auto by_size = [&](DType b1, DType b2, DType b4, DType b8) {
    return itemsize == 1 ? b1 : itemsize == 2 ? b2 : itemsize == 4 ? b4 : b8;
  };
  switch (format[0]) {
    case '?':
      return DType::boolean;
    case 'e':
      return DType::float16;
    case 'f':
      return DType::float32;
    case 'd':
      return DType::float64;
    case 'b':
    case 'h':
    case 'i':
    case 'l':
    case 'q':
      return by_size(DType::int8, DType::int16, DType::int32, DType::int64);
    case 'B':
    case 'H':
    case 'I':
    case 'L':
    case 'Q':
      return by_size(DType::uint8, DType::uint16, DType::uint32, DType::uint64);
  }
  return std::nullopt;
}

// True if elements are as large as their dtype and strides are whole numbers of
// them.
bool has_whole_strides(const Py_buffer& buffer, std::size_t element_bytes) {
  const auto bytes = static_cast<Py_ssize_t>(element_bytes);
  // numpy's datetime64 has one dimension of bytes, and no strides.
  if (buffer.ndim > 0 && !buffer.strides) return false;
  return buffer.itemsize == bytes &&
         std::all_of(
             buffer.strides, buffer.strides + buffer.ndim,
             [bytes](Py_ssize_t stride) { return stride % bytes == 0; });
}

}  // namespace

void set_local_part(nb::object function) {
  Py_XDECREF(local_part);
  local_part = function.release().ptr();
}

bool has_exchange_table(nb::handle object) {
  return exchange_table(Py_TYPE(object.ptr())) != nullptr;
}

TensorImport::~TensorImport() {
  if (buffer_) PyBuffer_Release(&*buffer_);
}

Status TensorImport::load(nb::handle object, OnDevice on_device) {
  on_device_ = on_device;
  const CachedTable& lender = lender_of(Py_TYPE(object.ptr()));
  if (lender.table) {
    const dlpack::ExchangeTable& table = *lender.table;
    if (lender.reason) return unreadable(lender.reason);
    if (lender.may_be_wrapper && !has_storage(object))
      return import_local_part(object);
    return import_table(object, table);
  }
  if (PyObject_CheckBuffer(object.ptr())) {
    // A bytes object is one string, not a row of numbers.
    const bool is_imported = !PyBytes_Check(object.ptr()) && try_buffer(object);
    return is_imported ? Status() : import_array(object);
  }
  const bool has_array = PyObject_HasAttrString(object.ptr(), "__array__") != 0;
  if (PyObject_HasAttrString(object.ptr(), "__dlpack__")) {
    Status status = import_capsule(object);
    if (status || !has_array) return status;
  }
  if (has_array) return import_array(object);
  return unreadable("an object of type '" + name_of_type(object) +
                    "' is not a tensor");
}

Status TensorImport::import_table(nb::handle object,
                                  const dlpack::ExchangeTable& table) {
  dlpack::Tensor tensor;
  if (table.borrow_from_object(object.ptr(), &tensor) != 0) {
    std::string why = take_python_error();
    if (auto reason = reason_of_kind(object))
      return unreadable(*std::move(reason));
    if (is_strided(object)) return unreadable(std::move(why));
    SMD_CHECK_OK(check_dense(object));
    return import_host_copy(object, "to_dense");
  }
  if (look_at_plain(tensor, view_)) return {};
  if (!is_host(tensor.device)) return import_from_device(object);
  if (!dtype_from_dlpack(tensor.dtype))
    return unreadable(reason_against_dtype(object));
  SMD_CHECK_OK(look_at(tensor, view_));
  if (may_be_lazy(tensor, view_) && is_lazy(object)) {
    return import_host_copy(object, "resolve_conj");
  }
  return {};
}

Status TensorImport::import_from_device(nb::handle tensor) {
  if (on_device_ == OnDevice::copied) return import_host_copy(tensor, "cpu");
  owner_ = nb::borrow(tensor);
  stays_on_device_ = true;
  return {};
}

// `method` is called on the detached tensor: "cpu", "resolve_conj", "to_dense".
Status TensorImport::import_host_copy(nb::handle object, const char* method) {
  try {
    owner_ = object.attr("detach")().attr(method)().attr("cpu")();
    owner_ = owner_.attr("resolve_conj")().attr("resolve_neg")();
  } catch (nb::python_error& error) {
    return unreadable("no copy in host memory: " + first_line(error));
  }
  const dlpack::ExchangeTable* table = exchange_table(Py_TYPE(owner_.ptr()));
  dlpack::Tensor tensor;
  if (!table || table->borrow_from_object(owner_.ptr(), &tensor) != 0) {
    PyErr_Clear();
    return unreadable("its copy in host memory cannot be read");
  }
  if (!is_host(tensor.device)) return unreadable("it is not in host memory");
  SMD_CHECK_OK(look_at(tensor, view_));
  return {};
}

Status TensorImport::import_local_part(nb::handle object) {
  std::optional<std::vector<std::int64_t>> shape, offsets;
  try {
    nb::object answer =
        local_part ? nb::handle(local_part)(object) : nb::object(nb::none());
    if (answer.is_none()) {
      return unreadable(reason_of_kind(object).value_or(
          "a tensor of type '" + name_of_type(object) +
          "' has no elements in memory"));
    }
    owner_ = nb::borrow(answer[0]);
    shape = nb::cast<decltype(shape)>(answer[1]);
    offsets = nb::cast<decltype(offsets)>(answer[2]);
  } catch (const std::exception& error) {
    return unreadable("no part of it in this process: " + first_line(error));
  }
  // Keeps the part alive; a copy of it in host memory may replace `owner_`.
  const nb::object part = owner_;
  const CachedTable& lender = lender_of(Py_TYPE(part.ptr()));
  if (!lender.table || lender.reason ||
      (lender.may_be_wrapper && !has_storage(part))) {
    return unreadable("its part in this process has no elements in memory");
  }
  SMD_CHECK_OK(import_table(part, *lender.table));
  if (shape && offsets) placement_ = {*std::move(shape), *std::move(offsets)};
  return {};
}

// Fills the buffer in its final place: its shape may point into itself.
bool TensorImport::try_buffer(nb::handle object) {
  Py_buffer& buffer = buffer_.emplace();
  if (PyObject_GetBuffer(object.ptr(), &buffer, PyBUF_FORMAT | PyBUF_STRIDES) !=
      0) {
    PyErr_Clear();
    buffer_.reset();
    return false;
  }
  const std::optional<DType> dtype =
      dtype_from_format(buffer.format ? buffer.format : "B", buffer.itemsize);
  if (!dtype || !has_whole_strides(buffer, dtype_bytes(*dtype))) {
    PyBuffer_Release(&buffer);
    buffer_.reset();
    return false;
  }
  const auto rank = static_cast<std::size_t>(buffer.ndim);
  for (std::size_t i = 0; i < rank; ++i)
    strides_[i] = buffer.strides[i] / buffer.itemsize;
  static_assert(sizeof(Py_ssize_t) == sizeof(std::int64_t));
  view_ = {*dtype,
           static_cast<const std::byte*>(buffer.buf),
           {reinterpret_cast<const std::int64_t*>(buffer.shape), rank},
           {strides_.data(), rank}};
  return true;
}

Status TensorImport::import_capsule(nb::handle object) {
  dlpack::ManagedTensor* managed = nullptr;
  try {
    owner_ = object.attr("__dlpack__")();
    managed = static_cast<dlpack::ManagedTensor*>(
        PyCapsule_GetPointer(owner_.ptr(), dlpack::kManagedCapsule));
  } catch (nb::python_error& error) {
    return unreadable(first_line(error));
  }
  if (!managed) return unreadable(take_python_error());
  if (!is_host(managed->tensor.device)) {
    return unreadable("it is not in host memory");
  }
  // The capsule stays unused, so that it frees the tensor when it goes.
  SMD_CHECK_OK(look_at(managed->tensor, view_));
  return {};
}

}  // namespace smdebug
