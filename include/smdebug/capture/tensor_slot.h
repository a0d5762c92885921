#pragma once

// The slots into which a training step puts its tensors. A session has one slot
// per tensor name; an adapter looks a slot up once and keeps it. A slot is two
// pointers, cheap to copy, and valid as long as its session.
//
// `DeviceTransfer` is the interface through which an adapter copies tensors
// from an accelerator without waiting for each of them.

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "smdebug/core/dtype.h"
#include "smdebug/core/shard.h"
#include "smdebug/core/statistics.h"
#include "smdebug/core/tensor_view.h"

namespace [[gnu::visibility("default")]] smdebug {

struct SessionImpl;
struct SlotState;
struct ModuleState;

class TensorSlot {
 public:
  /// Captures the tensor if it is due, and copies the data that is needed
  /// before it returns. A tensor whose `data` is null though it has elements,
  /// or with more than 64 dimensions, is skipped with a log message; of one
  /// above 2 GiB - 64 KiB only statistics and reductions are saved. May wait
  /// for the writer if the buffer is full. Any thread.
  void put(const TensorView& tensor) const;

  /// Passes a tensor in the memory of an accelerator to the session's
  /// `DeviceTransfer`, if it is due. `tensor` is the framework's own object.
  /// Returns false if there is no transfer or it declines; then copy the tensor
  /// to host memory and `put` it. Any thread.
  bool put_on_device(const void* tensor) const;

  /// Captures a tensor by statistics that an accelerator computed, if it is
  /// due. The result equals `put` of the elements, up to rounding. Ask
  /// `needs_elements` first: the tensor is skipped if its elements are needed,
  /// if it holds strings, or if `statistics.count` differs from the number of
  /// elements in `shape`. Any thread.
  void put_statistics(DType dtype, std::span<const std::int64_t> shape,
                      const TensorStatistics& statistics) const;

  /// Marks the tensors captured from now on as a part of a larger tensor, or
  /// as a whole tensor if `placement` is none. Any thread.
  void set_placement(const std::optional<ShardPlacement>& placement) const;

  /// Reports that the tensor could not be read. The reason is kept in the
  /// session's status and logged once per name. Any thread.
  void skip(std::string_view reason) const;
  /// Like `skip`, without a log message: the caller has logged one for several
  /// tensors. Any thread.
  void leave_out(std::string_view reason) const;

  /// Returns whether the open step saves this tensor. Any thread.
  bool is_due() const;
  /// Returns whether the step that `Session::begin_step` would begin now saves
  /// it. The owner's thread.
  bool is_next_due() const;
  /// Returns whether the plan in use saves it at any step. The owner's thread.
  bool can_match() const;
  /// Returns whether `put` would keep more than the tensor's statistics:
  /// values, a median, a histogram, or elements that a sink reads. For adapters
  /// whose elements are expensive to copy. False if the tensor is not due. True
  /// when in doubt: while a sink is being called, and before it knows about a
  /// newly assigned collection. Never blocks. Any thread.
  bool needs_elements() const;

  /// Returns the distance between the indices of each dimension that `put`
  /// would keep of a tensor of that shape; empty if it keeps the whole tensor.
  /// For adapters whose elements are expensive to copy: they may `put` the
  /// sample instead (core/tensor_sample.h). Any thread.
  std::vector<std::int64_t> sample_steps(
      std::span<const std::int64_t> shape) const;

  /// Returns the full name of the tensor, valid as long as the session.
  std::string_view name() const;

 private:
  friend class ModuleSlots;
  friend class Session;
  TensorSlot(SessionImpl* session, SlotState* state)
      : session_(session), state_(state) {}

  SessionImpl* session_;
  SlotState* state_;
};

// The inputs and outputs of one module. They are numbered in the order of
// capture, over all calls of the module within a step: module "fc1" has
// "fc1_input_0", "fc1_output_0", "fc1_output_1", ...
class ModuleSlots {
 public:
  /// Captures the next input (output) of this step, as `TensorSlot::put`. Any
  /// thread.
  void put_input(const TensorView& tensor) const;
  void put_output(const TensorView& tensor) const;

  /// Counts the next input (output) of this step. Returns its slot, or none if
  /// it is not due. For adapters that must do work before they have a
  /// `TensorView`. Any thread.
  std::optional<TensorSlot> next_input() const;
  std::optional<TensorSlot> next_output() const;

  /// Returns whether the plan in use saves any input (output) seen so far. True
  /// before the first call of the module.
  bool can_match_input() const;
  bool can_match_output() const;

  /// Returns whether the plan of the next step can save one of the first 16
  /// inputs (outputs) that the module may have. For adapters that decide before
  /// the module is called. Searches each name with every pattern. The owner's
  /// thread.
  bool may_match_input() const;
  bool may_match_output() const;

 private:
  friend class Session;
  ModuleSlots(SessionImpl* session, ModuleState* state)
      : session_(session), state_(state) {}

  SessionImpl* session_;
  ModuleState* state_;
};

// Copies tensors from the memory of an accelerator to the host. An adapter
// implements it with its framework's streams and events and passes it in
// `SessionOptions`.
class DeviceTransfer {
 public:
  virtual ~DeviceTransfer() = default;

  /// Starts to copy a tensor that is due in `slot`. `tensor` is the argument of
  /// `TensorSlot::put_on_device`. Before the step ends, the adapter calls
  /// `put`, `put_statistics` or `skip` of the slot. Returns false if it
  /// declines the tensor. Any thread.
  virtual bool take(const TensorSlot& slot, const void* tensor) = 0;
};

}  // namespace smdebug
