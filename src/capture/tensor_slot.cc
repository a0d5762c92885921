#include "smdebug/capture/tensor_slot.h"

#include "smdebug/core/tensor_sample.h"

#include "capture/session_impl.h"

namespace smdebug {
namespace {

// The form in which the open step saves the slot; null if it does not. Two
// loads and no call, so that a step in which nothing is due costs a few
// instructions per tensor.
const SaveSpec* due_spec(const CaptureSink& sink, const SlotState& slot) {
  if (!sink.is_capturing()) [[likely]]
    return nullptr;
  return slot.spec.load(std::memory_order_relaxed);
}

// `prefix` is a name without its index.
bool may_match(const Plan& plan, const std::string& prefix) {
  for (std::size_t i = 0; i < ModuleState::Direction::kKept; ++i) {
    if (!plan.match(prefix + std::to_string(i)).empty()) return true;
  }
  return false;
}

}  // namespace

// --- TensorSlot ---

void TensorSlot::put(const TensorView& tensor) const {
  CaptureSink& sink = session_->sink;
  const SaveSpec* spec = due_spec(sink, *state_);
  if (spec == nullptr) return;
  if (spec->max_elements == 0) {
    sink.capture(*state_, *spec, tensor);
  } else {
    sink.capture_kept(*state_, *spec, tensor);
  }
}

bool TensorSlot::put_on_device(const void* tensor) const {
  if (!is_due()) return true;
  DeviceTransfer* const transfer = session_->device_transfer.get();
  return transfer != nullptr && transfer->take(*this, tensor);
}

void TensorSlot::put_statistics(DType dtype,
                                std::span<const std::int64_t> shape,
                                const TensorStatistics& statistics) const {
  CaptureSink& sink = session_->sink;
  if (const SaveSpec* spec = due_spec(sink, *state_)) {
    sink.capture_statistics(*state_, *spec, {dtype, nullptr, shape, {}},
                            statistics);
  }
}

void TensorSlot::set_placement(
    const std::optional<ShardPlacement>& placement) const {
  session_->slots.set_placement(*state_, placement);
}

void TensorSlot::skip(std::string_view reason) const {
  session_->sink.skip(*state_, reason);
}

void TensorSlot::leave_out(std::string_view reason) const {
  session_->sink.leave_out(*state_, reason);
}

bool TensorSlot::is_due() const {
  return due_spec(session_->sink, *state_) != nullptr;
}

bool TensorSlot::is_next_due() const {
  const CollectionSet due = session_->steps.next_due();
  return !due.empty() &&
         !(due & session_->steps.coming_matches(*state_)).empty();
}

bool TensorSlot::can_match() const { return !state_->matched.empty(); }

bool TensorSlot::needs_elements() const {
  const SaveSpec* spec = due_spec(session_->sink, *state_);
  return spec != nullptr && session_->sink.needs_elements(*state_, *spec);
}

std::vector<std::int64_t> TensorSlot::sample_steps(
    std::span<const std::int64_t> shape) const {
  const SaveSpec* spec = due_spec(session_->sink, *state_);
  if (spec == nullptr || !CaptureSink::is_sampled(*state_, *spec, shape)) {
    return {};
  }
  const auto steps = smdebug::sample_steps(shape, spec->max_elements);
  return {steps.begin(),
          steps.begin() + static_cast<std::ptrdiff_t>(shape.size())};
}

std::string_view TensorSlot::name() const { return state_->name; }

// --- ModuleSlots ---

void ModuleSlots::put_input(const TensorView& tensor) const {
  if (const auto slot = next_input()) slot->put(tensor);
}

void ModuleSlots::put_output(const TensorView& tensor) const {
  if (const auto slot = next_output()) slot->put(tensor);
}

std::optional<TensorSlot> ModuleSlots::next_input() const {
  CaptureSink& sink = session_->sink;
  if (!sink.is_capturing()) return std::nullopt;
  SlotState* slot = sink.next_due(*state_, state_->inputs);
  if (slot == nullptr) return std::nullopt;
  return TensorSlot(session_, slot);
}

std::optional<TensorSlot> ModuleSlots::next_output() const {
  CaptureSink& sink = session_->sink;
  if (!sink.is_capturing()) return std::nullopt;
  SlotState* slot = sink.next_due(*state_, state_->outputs);
  if (slot == nullptr) return std::nullopt;
  return TensorSlot(session_, slot);
}

bool ModuleSlots::can_match_input() const { return state_->inputs.can_match(); }

bool ModuleSlots::can_match_output() const {
  return state_->outputs.can_match();
}

bool ModuleSlots::may_match_input() const {
  return may_match(session_->steps.coming_plan(), state_->path + "_input_");
}

bool ModuleSlots::may_match_output() const {
  return may_match(session_->steps.coming_plan(), state_->path + "_output_");
}

}  // namespace smdebug
