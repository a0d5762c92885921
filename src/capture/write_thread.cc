#include "capture/write_thread.h"

#include <algorithm>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <pthread.h>
#include <time.h>

#include "smdebug/base/clock.h"

namespace smdebug {
namespace {

// The bytes passed to the storage together: enough to make the cost of a write
// call negligible, few enough to be still in the cache.
constexpr std::size_t kBatchBytes = std::size_t{512} << 10;

double thread_cpu_seconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) +
         static_cast<double>(time.tv_nsec) * 1e-9;
}

const Message& message_at(const std::byte* bytes) {
  return *reinterpret_cast<const Message*>(bytes);
}

Error exception_error(const std::exception& error) {
  return {Error::Code::internal,
          std::string("exception in the write thread: ") + error.what()};
}

// The write threads of this process, for SIGTERM (termination.h), which
// concerns all of them. No other code may reach a session through this list.
struct RunningThreads {
  std::mutex mutex;
  std::vector<WriteThread*> threads;
};

RunningThreads& running_threads();

void before_fork() { running_threads().mutex.lock(); }
void after_fork() { running_threads().mutex.unlock(); }
// The child of a fork has none of the threads.
void after_fork_in_child() {
  running_threads().threads.clear();
  running_threads().mutex.unlock();
}

// Never destroyed, because SIGTERM may arrive while the program ends.
RunningThreads& running_threads() {
  static auto* const threads = [] {
    ::pthread_atfork(before_fork, after_fork, after_fork_in_child);
    return new RunningThreads;
  }();
  return *threads;
}

void register_thread(WriteThread& thread) {
  RunningThreads& running = running_threads();
  const std::lock_guard lock(running.mutex);
  running.threads.push_back(&thread);
}

// After it returns, no other thread uses `thread` through the list.
void unregister_thread(WriteThread& thread) {
  RunningThreads& running = running_threads();
  const std::lock_guard lock(running.mutex);
  std::erase(running.threads, &thread);
}

}  // namespace

WriteThread::WriteThread(StagingRing& owner, StagingRing& shared,
                         std::unique_ptr<StepWriter> writer, Logger& logger)
    : owner_(owner),
      shared_(shared),
      writer_(std::move(writer)),
      logger_(logger) {
  thread_ = std::thread([this] { run(); });
  register_thread(*this);
}

WriteThread::~WriteThread() { stop(); }

void WriteThread::wake() { wake(false); }

void WriteThread::wake(bool is_stopping) {
  {
    std::lock_guard lock(wake_mutex_);
    is_woken_ = true;
    is_stopping_ |= is_stopping;
  }
  woken_.notify_one();
}

bool WriteThread::sleep() {
  std::unique_lock lock(wake_mutex_);
  woken_.wait(lock, [this] { return is_woken_; });
  is_woken_ = false;
  return is_stopping_;
}

void WriteThread::stop() {
  if (!thread_.joinable()) return;
  unregister_thread(*this);
  wake(true);
  thread_.join();
}

std::optional<WriteFailure> WriteThread::failure() const {
  std::lock_guard lock(mutex_);
  return failure_;
}

WriteCounts WriteThread::counts() const {
  std::lock_guard lock(mutex_);
  return counts_;
}

double WriteThread::cpu_seconds() const {
  std::lock_guard lock(mutex_);
  return cpu_seconds_;
}

bool WriteThread::wait_for_space(const StagingRing& ring) {
  constexpr std::chrono::milliseconds kLook{50};
  std::unique_lock lock(mutex_);
  waiting_.fetch_add(1);
  const std::size_t used = ring.used();
  wake();
  bool has_moved = false;
  for (auto waited = std::chrono::milliseconds(0);
       !has_moved && waited < kStuckAfter; waited += kLook) {
    has_moved = moved_.wait_for(
        lock, kLook, [&] { return ring.used() < used || ring.used() == 0; });
  }
  waiting_.fetch_sub(1);
  return has_moved;
}

Status WriteThread::drain(std::chrono::milliseconds at_most) {
  constexpr std::chrono::milliseconds kLook{50};
  const std::uint64_t owner_end = owner_.published();
  const std::uint64_t shared_end = shared_.published();
  const auto is_drained = [&] {
    return owner_.published() - owner_.used() >= owner_end &&
           shared_.published() - shared_.used() >= shared_end;
  };
  std::unique_lock lock(mutex_);
  waiting_.fetch_add(1);
  wake();
  auto waited = std::chrono::milliseconds(0);
  auto stuck = std::chrono::milliseconds(0);
  std::uint64_t progress = progress_;
  while (!moved_.wait_for(lock, kLook, is_drained)) {
    waited += kLook;
    stuck =
        progress == progress_ ? stuck + kLook : std::chrono::milliseconds(0);
    progress = progress_;
    if (stuck >= kStuckAfter || waited >= at_most) break;
  }
  waiting_.fetch_sub(1);
  if (is_drained()) return {};
  return Error{Error::Code::unavailable,
               "the write thread made no progress for 60 s: the storage does "
               "not respond"};
}

void WriteThread::drain_all(std::chrono::milliseconds at_most) {
  const auto end = system_clock().monotonic() + at_most;
  RunningThreads& running = running_threads();
  const std::lock_guard lock(running.mutex);
  for (WriteThread* thread : running.threads) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - system_clock().monotonic());
    (void)thread->drain(std::max(left, std::chrono::milliseconds(0)));
  }
}

void WriteThread::run() {
  pthread_setname_np(pthread_self(), "smdebug-write");
  bool is_last = false;
  start_writer();
  while (!is_last) {
    is_last = sleep();
    while (read_lanes_safely()) {
    }
  }
}

void WriteThread::start_writer() {
  try {
    check(writer_->start());
  } catch (const std::exception& error) {
    check(exception_error(error));
  }
}

// An exception of a library must not end the process, which is training. It is
// latched like any other failure, and the message that caused it is skipped.
bool WriteThread::read_lanes_safely() {
  try {
    return read_lanes();
  } catch (const std::exception& error) {
    check(exception_error(error));
    return true;
  }
}

bool WriteThread::read_lanes() {
  // Load the end of the shared lane before that of the owner's lane. The owner
  // publishes `begin_step` before other threads can capture in that step, so
  // the steps of all messages before `shared_end` begin before `owner_end`. In
  // the other order the shared lane could be ahead of this pass; `read_lane`
  // would then leave its messages for the next pass.
  const std::uint64_t shared_end = shared_.published();
  const std::uint64_t owner_end = owner_.published();
  bool was_there = false;
  if (unfinished_lane_ != &shared_) was_there |= read_lane(owner_, owner_end);
  if (unfinished_lane_ != &owner_) was_there |= read_lane(shared_, shared_end);
  flush_lanes();
  return was_there;
}

bool WriteThread::read_lane(StagingRing& lane, std::uint64_t end) {
  bool was_there = false;
  while (lane.can_read(end)) {
    const Message& message = message_at(lane.front());
    // A tensor of a later step than the one being written. The owner's lane
    // still holds the end of this step and the beginning of that one.
    if (&lane == &shared_ && message.sequence > sequence_) break;
    read(lane, message);
    lane.advance(message.bytes);
    was_there = true;
    if (writer_->pending_bytes() >= kBatchBytes) flush_lanes();
    // `finish_step` has read part of a tensor from the shared lane.
    if (unfinished_lane_ != nullptr && unfinished_lane_ != &lane) break;
  }
  return was_there;
}

void WriteThread::read(StagingRing& lane, const Message& message) {
  switch (message.kind) {
    case Message::Kind::begin_step:
      sequence_ = message.sequence;
      writer_->begin_step(message.begin.wall_seconds, message.begin.step);
      return;
    case Message::Kind::tensor:
      unfinished_lane_ = message.is_last ? nullptr : &lane;
      if (!has_failed()) check(writer_->add(message));
      return;
    case Message::Kind::end_step:
      finish_step(message);
      return;
    case Message::Kind::document:
      if (!has_failed()) check(writer_->write(*message.document));
      delete message.document;
      return;
  }
}

void WriteThread::finish_step(const Message& message) {
  // Other threads captured in this step until the owner took their mutex and
  // noted this position, so the shared lane holds all of the step's tensors
  // before it.
  read_lane(shared_, message.end.shared_end);
  if (!has_failed()) {
    check(writer_->end_step(message.end.dropped_tensors,
                            message.end.dropped_bytes));
  }
  warn_of_replaced_tensor();
  std::lock_guard lock(mutex_);
  counts_ = writer_->counts();
  cpu_seconds_ = thread_cpu_seconds();
}

void WriteThread::warn_of_replaced_tensor() {
  const WriteCounts& counts = writer_->counts();
  if (counts.replaced_tensors == 0 || has_logged_replaced_) return;
  has_logged_replaced_ = true;
  logger_.warning(fmt::format(
      "step {}: '{}' was saved more than once: readers get the last value "
      "(the status counts further ones)",
      writer_->step(), counts.first_replaced));
}

// Passes the bytes read so far to the storage, and only then returns them to
// the threads that fill the lanes: `StepWriter` refers to payloads inside the
// rings.
void WriteThread::flush_lanes() {
  if (!has_failed()) check(writer_->flush());
  owner_.release();
  shared_.release();
  progress_.fetch_add(1);
  // A waiting thread increments `waiting_` before it checks the rings, so it
  // sees the release above or is notified. It also polls: a missed notification
  // costs at most one polling interval.
  if (waiting_.load() == 0) return;
  std::lock_guard lock(mutex_);
  counts_ = writer_->counts();
  moved_.notify_all();
}

void WriteThread::check(const Status& status) {
  if (status || has_failed()) return;
  const Step step = writer_->step();
  logger_.error("step " + std::to_string(step) +
                ": nothing more will be saved: " + status.error().message);
  {
    std::lock_guard lock(mutex_);
    failure_ = WriteFailure{status.error(), step};
  }
  has_failed_.store(true, std::memory_order_release);
  writer_->abandon();
}

}  // namespace smdebug
