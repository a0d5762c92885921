#pragma once

// The thread that writes a run. It reads two lanes: the owner's, which carries
// the beginning and end of steps, and the shared one, into which other threads
// put tensors. It holds no lock while it writes and touches no Python object.
//
// The first failure is latched. From then on messages are discarded, so that
// the training never waits for a full disk.

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
  // Starts the thread. `owner` and `shared` must outlive it.
  WriteThread(StagingRing& owner, StagingRing& shared,
              std::unique_ptr<StepWriter> writer, Logger& logger);
  // Calls `stop`.
  ~WriteThread();

  // Announces that there are messages to read. Any thread.
  void wake();

  // Blocks until everything that was published before the call is written or
  // discarded. Fails with `unavailable` if there is no progress for
  // `kStuckAfter`, or after `at_most`.
  Status drain(
      std::chrono::milliseconds at_most = std::chrono::milliseconds::max());

  // Drains the running threads of this process one after another, within
  // `at_most` in total. Their errors stay latched in them.
  static void drain_all(std::chrono::milliseconds at_most);

  // Waits until the thread has released bytes of `ring`. Returns false if it
  // has released none for `kStuckAfter`.
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
  void start_writer();
  void wake(bool is_stopping);
  // Sleeps until there are messages. Returns whether to stop after reading
  // them.
  bool sleep();
  // Reads the published messages. Returns whether there were any.
  bool read_lanes_safely();
  bool read_lanes();
  bool read_lane(StagingRing& lane, std::uint64_t end);
  void read(StagingRing& lane, const Message& message);
  void finish_step(const Message& message);
  void flush_lanes();
  void check(const Status& status);
  void warn_of_replaced_tensor();

  StagingRing& owner_;
  StagingRing& shared_;
  const std::unique_ptr<StepWriter> writer_;
  Logger& logger_;
  bool has_logged_replaced_ = false;

  // Used only by the thread itself.
  std::uint64_t sequence_ = 0;  // of the step that is being written
  // The lane with a tensor of several messages that is not complete yet. It is
  // read to the end of that tensor before the other lane.
  StagingRing* unfinished_lane_ = nullptr;

  // The thread sleeps on these. `std::atomic::wait` would spin first, at the
  // expense of the training.
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
