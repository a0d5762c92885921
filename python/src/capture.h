#pragma once

// Functions that the bindings of a session share with those of a group.

#include <string>
#include <vector>

#include <nanobind/nanobind.h>

#include "smdebug/base/result.h"
#include "smdebug/capture/session.h"
#include "smdebug/capture/tensor_slot.h"

namespace smdebug {

/// Captures a Python tensor if it is due. Skips one that cannot be read.
void put_tensor(const TensorSlot& slot, nanobind::handle tensor);

/// See `Session::save_tensor`. Skips a tensor that cannot be read, with a
/// message.
Status save_tensor(Session& session, const std::string& name,
                   nanobind::handle tensor,
                   const std::vector<std::string>& collections);

}  // namespace smdebug
