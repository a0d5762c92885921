#include "smdebug/base/blocking_wait.h"

#include <atomic>

namespace smdebug {
namespace {

std::atomic<const WaitCalls*> calls_of_process = nullptr;

}  // namespace

void set_wait_calls(const WaitCalls& calls) {
  calls_of_process.store(&calls, std::memory_order_release);
}

BlockingWait::BlockingWait()
    : begun_(calls_of_process.load(std::memory_order_acquire)) {
  if (begun_ && !begun_->begin()) begun_ = nullptr;
}

BlockingWait::~BlockingWait() {
  if (begun_) begun_->end();
}

}  // namespace smdebug
