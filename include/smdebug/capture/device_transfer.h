#pragma once

// Copies tensors from the memory of an accelerator to the host, for sessions
// that must not wait for each of them. An adapter implements it with its
// framework's streams and events and passes it in `SessionOptions`.

namespace smdebug {

class TensorSlot;

class DeviceTransfer {
 public:
  virtual ~DeviceTransfer() = default;

  /// Starts to copy a tensor that is due in `slot`. Before the step ends, the
  /// adapter calls `put`, `put_statistics` or `skip` of the slot. `tensor` is
  /// what the adapter passed to `TensorSlot::put_on_device`. Returns false if
  /// it does not take the tensor: the caller copies it and waits. Any thread.
  virtual bool take(const TensorSlot& slot, const void* tensor) = 0;
};

}  // namespace smdebug
