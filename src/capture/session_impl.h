#pragma once

// The parts of a session; each uses those declared before it. The public
// classes `Session`, `TensorSlot`, `ModuleSlots` and `CapturePlanView` only
// forward to the part that is responsible.

#include <memory>
#include <mutex>

#include "smdebug/capture/session.h"

#include "capture/capture_sink.h"
#include "capture/facts_report.h"
#include "capture/leap_watch.h"
#include "capture/run_lifecycle.h"
#include "capture/scalar_notes.h"
#include "capture/session_context.h"
#include "capture/slot_table.h"
#include "capture/step_lifecycle.h"

namespace smdebug {

struct __attribute__((visibility("hidden"))) SessionImpl {
  // `bounded` is `options.storage` for the threads of the training.
  SessionImpl(SessionOptions options, std::shared_ptr<Storage> bounded,
              std::shared_ptr<const Plan> plan);

  Status close(std::string_view raised);
  SessionStatus status();
  SessionCost cost();

  const std::shared_ptr<DeviceTransfer> device_transfer;  // null: none
  SessionContext context;
  const std::shared_ptr<SlotTable> shared_slots;
  SlotTable& slots;
  RunLifecycle run;
  LeapWatch leaps;
  CaptureSink sink;
  ScalarNotes scalars;
  StepLifecycle steps;
  FactsReport facts;
  // See Session::Turn. In the child of a fork it is a new one, because a thread
  // that does not exist there may hold the old one.
  std::unique_ptr<std::recursive_mutex> turn =
      std::make_unique<std::recursive_mutex>();
};

}  // namespace smdebug
