#pragma once

// The thread that writes a run. It reads two lanes: the owner's, which carries
// the beginning and end of steps, and the shared one, into which other threads
// put tensors. It holds no lock while it writes and touches no Python object.
//
// The first failure is latched. From then on messages are discarded, so that
// the training never waits for a full disk.
//
// A storage that does not respond blocks this thread inside a call, perhaps
// forever. Every wait for the thread has a limit, and after it the thread is
// abandoned: it is not joined, and it owns everything that it may still use.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "smdebug/base/result.h"
#include "smdebug/base/wait_limit.h"

#include "base/bounded_call.h"
#include "base/detachable_logger.h"
#include "capture/message.h"
#include "capture/staging_ring.h"
#include "capture/step_writer.h"
#include "capture/watched_storage.h"

namespace smdebug {

struct WriteFailure {
  Error error;
  Step step = -1;  // -1: before the first step
};

// Returns "step 5: nothing more will be saved: the disk is full".
std::string failure_text(const WriteFailure& failure);

class WriteThread {
 public:
  // The objects that the thread uses, also after it was abandoned.
  struct Parts {
    std::shared_ptr<DetachableLogger> logger;  // of `writer`, too
    std::shared_ptr<StagingRing> owner;
    std::shared_ptr<StagingRing> shared;
    std::unique_ptr<StepWriter> writer;
    std::shared_ptr<StorageWatch> watch;  // of the storages of `writer`
    // Holds the slots and specs that messages point to.
    std::shared_ptr<const void> slots;
  };

  // Starts the thread; `stop` must be called. Fails with `unavailable` if no
  // thread can be created.
  static Result<std::shared_ptr<WriteThread>> start(Parts parts,
                                                    const WaitLimit& limit);
  explicit WriteThread(Parts parts, const WaitLimit& limit);

  // Announces that there are messages to read. Any thread.
  void wake();

  // Blocks until everything that was published before the call is written or
  // discarded. Fails with `unavailable`, which is latched, if the storage does
  // not respond within the limit.
  Status drain();

  // For a process that is about to end: drains all running threads, which then
  // publish their open steps if these are whole and write no more. Returns
  // after `at_most`. Their errors stay latched in them.
  static void drain_all(std::chrono::milliseconds at_most);

  // Waits until the thread has released bytes of `ring`. Returns false at once
  // after a failure, and latches one if the storage does not respond within the
  // limit.
  bool wait_for_space(const StagingRing& ring);

  // Latches a failure if the storage has not responded within the limit. Never
  // waits.
  void notice_stuck();

  // Writes everything and ends the thread, or abandons it if the storage does
  // not respond. A second call does nothing.
  void stop();

  // Whether the thread was last seen in a call that does not return.
  bool is_stuck() const { return is_stuck_.load(); }
  bool has_failed() const {
    return has_failed_.load(std::memory_order_acquire);
  }
  std::optional<WriteFailure> failure() const;
  WriteCounts counts() const;
  double cpu_seconds() const;

 private:
  void run();
  void call_writer(Status (*work)(StepWriter& writer));
  template <typename Condition>
  WaitEnd wait_until(const WaitLimit& limit, const Condition& is_met);
  void give_up(WaitEnd reason);
  void latch(const Error& error, Step step);
  void read_published();
  void settle_if_asked();
  void end_writing();
  void finish_within(std::chrono::milliseconds at_most);
  bool is_writing() const;
  void abandon_step();
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

  const WaitLimit limit_;
  const WaitLimit uninterrupted_limit_;
  const Parts parts_;
  StagingRing& owner_;
  StagingRing& shared_;
  StepWriter* const writer_;
  StorageWatch& watch_;
  bool has_logged_replaced_ = false;
  bool has_abandoned_step_ = false;

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
  std::atomic<bool> is_stuck_ = false;
  std::atomic<bool> is_terminating_ = false;
  std::atomic<bool> has_ended_writing_ = false;
  std::atomic<int> waiting_ = 0;
  std::atomic<Step> step_ = -1;  // that is being written

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable moved_;
  std::optional<WriteFailure> failure_;
  WriteCounts counts_;
  double cpu_seconds_ = 0;
  bool has_ended_ = false;
  // How many times `drain` has asked for `StepWriter::settle`, and which of
  // them were served.
  std::uint64_t settles_asked_ = 0;
  std::uint64_t settles_ = 0;

  std::thread thread_;
};

}  // namespace smdebug
