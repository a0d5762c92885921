#include "smdebug/capture/scalar_slot.h"

#include "capture/session_impl.h"

namespace smdebug {

void ScalarSlot::note(double value) const {
  session_->scalars.note(*name_, value);
}

void ScalarSlot::note(const StepId& step, double value) const {
  session_->scalars.note(*name_, step, value);
}

std::string_view ScalarSlot::name() const { return *name_->text; }

}  // namespace smdebug
