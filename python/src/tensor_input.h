#pragma once

// `TensorImport` turns a framework's tensor, a Python object, into a
// `TensorView` over the object's own memory for the length of a call. The
// bindings of capture use it for every tensor.
//
// Tensors are imported through DLPack's exchange table (cached per type), else
// through the buffer protocol (numpy), else through a DLPack capsule, else
// through numpy (`__array__`). Elements
// that no view can show (on a device, sparse, lazily conjugated or negated, in
// the other byte order, strides that are not a multiple of the element) are
// copied to host memory first; those on a device may stay there. Of a tensor
// that is sharded over processes (torch's DTensor), this process's shard is
// imported. numpy's strings, of fixed width or as objects, are imported one by
// one.

#include <array>
#include <cstdint>
#include <optional>

#include <nanobind/nanobind.h>

#include "smdebug/base/result.h"
#include "smdebug/core/shard.h"
#include "smdebug/core/tensor_view.h"

namespace smdebug {

/// Sets the function that returns this process's part of a tensor that several
/// processes share: (part, shape of the whole, offsets of the part), with None
/// for shape and offsets if the part is not a box of the whole. It returns None
/// for any other tensor. Adapters set it; by default there is none.
void set_local_part(nanobind::object function);

namespace dlpack {
struct ExchangeTable;
}

/// Returns whether the type of `object` has an exchange table, as the tensors
/// of some frameworks do.
bool has_exchange_table(nanobind::handle object);

class TensorImport {
 public:
  // Whether elements on a device are copied to host memory.
  enum class OnDevice { copied, stays };

  TensorImport() = default;
  TensorImport(const TensorImport&) = delete;
  TensorImport& operator=(const TensorImport&) = delete;
  ~TensorImport();

  /// Imports `object`, which must outlive this. Leaves no Python exception.
  /// Fails with `unsupported`, saying why the elements cannot be read. Call it
  /// once; needs the GIL.
  Status load(nanobind::handle object, OnDevice on_device = OnDevice::copied);

  /// Whether the elements stay on a device. If so there is no view, and
  /// `device_tensor` is the tensor, or the part of it in this process.
  bool stays_on_device() const { return stays_on_device_; }
  const nanobind::object& device_tensor() const { return owner_; }

  const TensorView& view() const { return view_; }
  /// The part of a larger tensor that the view shows; none: a whole tensor.
  const std::optional<ShardPlacement>& placement() const { return placement_; }

 private:
  Status import_table(nanobind::handle object,
                      const dlpack::ExchangeTable& table);
  // Imports through the buffer protocol if a view can show the memory as it is;
  // otherwise returns false.
  bool try_buffer(nanobind::handle object);
  Status import_array(nanobind::handle object);
  Status import_strings(const nanobind::object& array, char kind);
  Status import_capsule(nanobind::handle object);
  Status import_host_copy(nanobind::handle object, const char* method);
  // Imports a tensor whose elements are on a device.
  Status import_from_device(nanobind::handle tensor);
  // Imports this process's part of a tensor that several processes share.
  Status import_local_part(nanobind::handle object);

  TensorView view_;
  OnDevice on_device_ = OnDevice::copied;
  bool stays_on_device_ = false;
  std::optional<ShardPlacement> placement_;
  // Keeps the view alive if the object does not.
  nanobind::object owner_;
  std::optional<Py_buffer> buffer_;
  std::array<std::int64_t, PyBUF_MAX_NDIM> strides_;
};

}  // namespace smdebug
