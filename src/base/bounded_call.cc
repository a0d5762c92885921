#include "base/bounded_call.h"

#include <condition_variable>
#include <csignal>
#include <mutex>
#include <system_error>
#include <thread>

#include <pthread.h>

#include "smdebug/base/blocking_wait.h"
#include "smdebug/base/clock.h"

namespace smdebug {
namespace {

struct CallEnd {
  std::mutex mutex;
  std::condition_variable reached;
  bool is_reached = false;
};

// Handlers of other code must not run on a thread of smdebug.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockedSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

WaitMeter::WaitMeter(const WaitLimit& limit)
    : limit_(limit), start_(system_clock().monotonic()) {}

std::optional<WaitEnd> WaitMeter::check() const {
  const auto waited = system_clock().monotonic() - start_;
  if (waited >= limit_.at_most) return WaitEnd::timed_out;
  if (waited >= kInterruptAfter && limit_.check_interrupt &&
      limit_.check_interrupt()) {
    return WaitEnd::interrupted;
  }
  return std::nullopt;
}

void start_detached(std::function<void()> work) {
  const BlockedSignals blocked;
  auto shared = std::make_shared<std::function<void()>>(std::move(work));
  try {
    std::thread([shared] {
      ::pthread_setname_np(::pthread_self(), "smdebug-storage");
      (*shared)();
    }).detach();
  } catch (const std::system_error&) {
    (*shared)();
  }
}

WaitEnd run_within(const WaitLimit& limit, std::function<void()> work) {
  const auto end = std::make_shared<CallEnd>();
  start_detached([end, work = std::move(work)]() mutable {
    work();
    // Free the arguments of the call before the caller continues.
    work = nullptr;
    const std::lock_guard lock(end->mutex);
    end->is_reached = true;
    end->reached.notify_all();
  });
  const WaitMeter meter(limit);
  const BlockingWait wait;
  std::unique_lock lock(end->mutex);
  while (!end->reached.wait_for(lock, WaitMeter::kLook,
                                [&] { return end->is_reached; })) {
    lock.unlock();
    if (const auto reason = meter.check()) return *reason;
    lock.lock();
  }
  return WaitEnd::done;
}

}  // namespace smdebug
