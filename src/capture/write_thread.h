#pragma once

// The one thread that writes a run. It reads two lanes: the owner's, which
// carries steps, and the shared one, into which other threads put tensors. It
// holds no lock while it writes and touches no Python object.
//
// The first failure is latched: from then on messages are thrown away, so that
// nobody waits for a disk that is full.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "smdebug/base/logger.h"
#include "smdebug/base/result.h"

#include "capture/message.h"
#include "capture/staging_ring.h"
#include "capture/step_writer.h"

namespace smdebug {

struct WriteFailure {
  Error error;
  Step step = -1;
};

class WriteThread {
 public:
  // Starts the thread. `owner` and `shared` outlive it.
  WriteThread(StagingRing& owner, StagingRing& shared,
              std::unique_ptr<StepWriter> writer, Logger& logger);
  // Stops as `stop`.
  ~WriteThread();

  // There is something to read. Any thread.
  void wake();

  // Returns when everything that was published before the call is written or
  // thrown away. Fails with `unavailable` when nothing moves for
  // `kStuckAfter`, or when that has taken `at_most`.
  Status drain(
      std::chrono::milliseconds at_most = std::chrono::milliseconds::max());

  // Waits until `ring` may have room again, a short while at most. Returns
  // false when nothing has moved for `kStuckAfter`.
  bool wait_for_space(const StagingRing& ring);

  // Writes everything and ends the thread. A second call does nothing.
  void stop();

  bool has_failed() const {
    return has_failed_.load(std::memory_order_acquire);
  }
  std::optional<WriteFailure> failure() const;
  WriteCounts counts() const;
  double cpu_seconds() const;

  static constexpr std::chrono::seconds kStuckAfter{60};

 private:
  void run();
  void wake(bool is_stopping);
  // Sleeps until there is something to read; returns whether to stop after.
  bool sleep();
  // Reads what is there; returns whether there was anything.
  bool read_lanes_safely();
  bool read_lanes();
  bool read_lane(StagingRing& lane, std::uint64_t end);
  void read(StagingRing& lane, const Message& message);
  void finish_step(const Message& message);
  void hand_over();
  void check(const Status& status);
  void warn_of_replaced_tensor();

  StagingRing& owner_;
  StagingRing& shared_;
  const std::unique_ptr<StepWriter> writer_;
  Logger& logger_;
  bool has_told_replaced_ = false;

  // The thread's own.
  std::uint64_t sequence_ = 0;  // of the step that is being written
  // A tensor of several messages is read to its end before the other lane.
  StagingRing* unfinished_lane_ = nullptr;

  // What the thread sleeps on. Not an atomic's own wait: that spins first, and
  // the training pays for it.
  std::mutex wake_mutex_;
  std::condition_variable woken_;
  bool is_woken_ = false;
  bool is_stopping_ = false;

  std::atomic<bool> has_failed_ = false;
  std::atomic<int> waiting_ = 0;
  std::atomic<std::uint64_t> progress_ = 0;  // grows when bytes are released

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable moved_;
  std::optional<WriteFailure> failure_;
  WriteCounts counts_;
  double cpu_seconds_ = 0;

  std::thread thread_;
};

}  // namespace smdebug
