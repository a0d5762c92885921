#pragma once

// `LentTensor` is a tensor of a framework, lent to us for the length of a
// call: it turns a Python object into a `TensorView` over the object's own
// memory. The bindings of capture use it for every tensor that they are given.
//
// Frameworks lend through DLPack's exchange table (cached per type), else
// through the buffer protocol (numpy), else through a DLPack capsule. Elements
// that no view can show (on a device, sparse, lazily conjugated or negated, in
// the other byte order, strides that are no multiple of the element) are copied
// to host memory first; those on a device may be left there. A tensor that is
// spread over processes (torch's DTensor) is lent as the part that lies in this
// one. numpy's strings, fixed in width or objects, are lent one by one.

#include <array>
#include <cstdint>
#include <optional>

#include <nanobind/nanobind.h>

#include "smdebug/base/result.h"
#include "smdebug/core/shard.h"
#include "smdebug/core/tensor_view.h"

namespace smdebug {

/// What shows this process's part of a tensor that is spread over several: a
/// function of a tensor that returns None for any other, else (part, shape of
/// the whole, offsets of the part), with None for shape and offsets where the
/// part is no box of the whole. An adapter sets it; none by default.
void set_local_part(nanobind::object function);

namespace dlpack {
struct ExchangeTable;
}

/// True if objects of this type lend themselves through an exchange table:
/// tensors, for frameworks that have one.
bool lends_through_table(nanobind::handle object);

class LentTensor {
 public:
  // What becomes of elements that lie on a device.
  enum class OnDevice { copied, left };

  LentTensor() = default;
  LentTensor(const LentTensor&) = delete;
  LentTensor& operator=(const LentTensor&) = delete;
  ~LentTensor();

  /// Borrows `object`, which must outlive this. Leaves no Python exception.
  /// Fails with `unsupported`, saying why the elements cannot be read. Call it
  /// once; needs the GIL.
  Status borrow(nanobind::handle object, OnDevice on_device = OnDevice::copied);

  /// Whether the elements were left on a device: there is no view then, and
  /// `device_tensor` is the tensor, or the part of it in this process.
  bool is_left() const { return is_left_; }
  const nanobind::object& device_tensor() const { return owner_; }

  const TensorView& view() const { return view_; }
  /// Which part of a larger tensor the view shows; none: a whole one.
  const std::optional<ShardPlacement>& placement() const { return placement_; }

 private:
  Status borrow_table(nanobind::handle object,
                      const dlpack::ExchangeTable& table);
  // Borrows through the buffer protocol what lies in memory as a view shows
  // it; false for anything else.
  bool try_buffer(nanobind::handle object);
  Status borrow_array(nanobind::handle object);
  Status borrow_strings(const nanobind::object& array, char kind);
  Status borrow_capsule(nanobind::handle object);
  Status borrow_host_copy(nanobind::handle object, const char* method);
  // The elements of `tensor` are on a device.
  Status borrow_from_device(nanobind::handle tensor);
  // Of a tensor that is spread over processes: the part in this one.
  Status borrow_local_part(nanobind::handle object);

  TensorView view_;
  OnDevice on_device_ = OnDevice::copied;
  bool is_left_ = false;
  std::optional<ShardPlacement> placement_;
  // What keeps the view alive where the object does not.
  nanobind::object owner_;
  std::optional<Py_buffer> buffer_;
  std::array<std::int64_t, PyBUF_MAX_NDIM> strides_;
};

}  // namespace smdebug
