#include "capture/write_thread.h"

#include <algorithm>
#include <exception>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <pthread.h>
#include <time.h>

#include "smdebug/base/clock.h"

#include "format/progress_file.h"

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

std::string failure_text(const WriteFailure& failure) {
  const std::string begin = failure.step < 0
                                ? "nothing will be saved: "
                                : "step " + std::to_string(failure.step) +
                                      ": nothing more will be saved: ";
  return begin + failure.error.message;
}

Result<std::shared_ptr<WriteThread>> WriteThread::start(
    Parts parts, const WaitLimit& limit) {
  auto thread = std::make_shared<WriteThread>(std::move(parts), limit);
  try {
    thread->thread_ = std::thread([thread] { thread->run(); });
  } catch (const std::system_error& error) {
    return Error{Error::Code::unavailable,
                 std::string("cannot start the write thread: ") + error.what()};
  }
  register_thread(*thread);
  return thread;
}

WriteThread::WriteThread(Parts parts, const WaitLimit& limit)
    : limit_(limit),
      uninterrupted_limit_{limit.at_most, nullptr},
      parts_(std::move(parts)),
      owner_(*parts_.owner),
      shared_(*parts_.shared),
      writer_(parts_.writer.get()),
      watch_(*parts_.watch) {}

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
  watch_.note_idle();
  const auto is_woken = [this] { return is_woken_; };
  if (!writer_->needs_beats()) {
    woken_.wait(lock, is_woken);
  } else if (!woken_.wait_for(lock, kProgressInterval, is_woken)) {
    is_woken_ = true;  // for a beat
  }
  watch_.note_progress();
  is_woken_ = false;
  return is_stopping_;
}

void WriteThread::stop() {
  if (!thread_.joinable()) return;
  unregister_thread(*this);
  wake(true);
  const WaitEnd end = wait_until(limit_, [this] { return has_ended_; });
  if (end != WaitEnd::done) give_up(end);
  if (!is_stuck()) return thread_.join();
  thread_.detach();
  parts_.logger->detach();
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

// Returns `done` also if the thread is stuck already, so that one wait after
// another does not add up. `is_met` is called with `mutex_` held.
template <typename Condition>
WaitEnd WriteThread::wait_until(const WaitLimit& limit,
                                const Condition& is_met) {
  WaitMeter meter(limit);
  std::optional<WaitEnd> reason;
  std::unique_lock lock(mutex_);
  waiting_.fetch_add(1);
  wake();
  while (!reason && !moved_.wait_for(lock, WaitMeter::kLook,
                                     [&] { return is_stuck() || is_met(); })) {
    // `check_interrupt` may take a lock whose owner wants this one.
    lock.unlock();
    const std::chrono::nanoseconds since = watch_.busy_since;
    if (since.count() != 0) meter.restart(since);
    reason = meter.check();
    lock.lock();
  }
  waiting_.fetch_sub(1);
  return reason.value_or(WaitEnd::done);
}

bool WriteThread::wait_for_space(const StagingRing& ring) {
  const std::size_t used = ring.used();
  // The lane of the other threads is locked, and the interrupt would wait for
  // a thread that waits for the lane.
  const WaitEnd end =
      wait_until(&ring == &owner_ ? limit_ : uninterrupted_limit_,
                 [&] { return ring.used() < used || ring.used() == 0; });
  if (end != WaitEnd::done) give_up(end);
  return !is_stuck();
}

Status WriteThread::drain() {
  const std::uint64_t owner_end = owner_.published();
  const std::uint64_t shared_end = shared_.published();
  const auto is_drained = [&] {
    return owner_.published() - owner_.used() >= owner_end &&
           shared_.published() - shared_.used() >= shared_end;
  };
  WaitEnd end = wait_until(limit_, is_drained);
  if (end == WaitEnd::done && writer_->needs_settling()) {
    std::uint64_t asked = 0;
    {
      const std::lock_guard lock(mutex_);
      asked = ++settles_asked_;
    }
    end = wait_until(limit_,
                     [&] { return settles_ >= asked || has_ended_writing_; });
  }
  if (end != WaitEnd::done) give_up(end);
  if (is_stuck()) return failure()->error;
  return {};
}

void WriteThread::notice_stuck() {
  const std::chrono::nanoseconds since = watch_.busy_since;
  if (since.count() == 0 || is_stuck()) return;
  if (system_clock().monotonic() - since >= limit_.at_most)
    give_up(WaitEnd::timed_out);
}

void WriteThread::give_up(WaitEnd reason) {
  const double seconds =
      std::chrono::duration<double>(reason == WaitEnd::interrupted
                                        ? WaitMeter::kInterruptAfter
                                        : limit_.at_most)
          .count();
  latch({Error::Code::unavailable,
         fmt::format("cannot {}: the storage has not responded for {:g} s{}: "
                     "check that it is mounted and reachable",
                     watch_.last_call(), seconds,
                     reason == WaitEnd::interrupted
                         ? ", and the program was interrupted"
                         : "")},
        step_);
  watch_.is_abandoned = true;
  is_stuck_ = true;
}

void WriteThread::drain_all(std::chrono::milliseconds at_most) {
  const auto end = system_clock().monotonic() + at_most;
  RunningThreads& running = running_threads();
  const std::lock_guard lock(running.mutex);
  for (WriteThread* thread : running.threads) {
    thread->is_terminating_ = true;
    thread->wake();
  }
  for (WriteThread* thread : running.threads) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - system_clock().monotonic());
    thread->finish_within(std::max(left, std::chrono::milliseconds(0)));
  }
}

// Waits for `end_writing`.
void WriteThread::finish_within(std::chrono::milliseconds at_most) {
  const auto start = system_clock().monotonic();
  (void)wait_until(uninterrupted_limit_, [&] {
    return has_ended_writing_ || system_clock().monotonic() - start >= at_most;
  });
}

void WriteThread::run() {
  pthread_setname_np(pthread_self(), "smdebug-write");
  bool is_last = false;
  watch_.note_progress();
  call_writer([](StepWriter& writer) { return writer.start(); });
  while (!is_last) {
    is_last = sleep();
    while (!is_terminating_ && read_lanes_safely()) {
    }
    settle_if_asked();
    if (writer_->needs_beats() && !is_terminating_) {
      call_writer([](StepWriter& writer) { return writer.beat(); });
    }
    if (is_terminating_) {
      read_published();
      end_writing();
    }
  }
  call_writer([](StepWriter& writer) { return writer.close(); });
  watch_.note_idle();  // a status that is read later must not see it as stuck
  const std::lock_guard lock(mutex_);
  has_ended_ = true;
  moved_.notify_all();
}

// Reads what the lanes hold now. A training that still runs can refill them
// faster than they are read.
void WriteThread::read_published() {
  const std::uint64_t shared_end = shared_.published();
  const std::uint64_t owner_end = owner_.published();
  while ((owner_.read_position() < owner_end ||
          shared_.read_position() < shared_end) &&
         read_lanes_safely()) {
  }
}

// The process is about to end. The training may still run, and has nothing to
// add to a step with all of its tensors.
void WriteThread::end_writing() {
  call_writer([](StepWriter& writer) {
    return writer.has_whole_step() ? writer.end_step(0, 0) : Status();
  });
  call_writer([](StepWriter& writer) { return writer.close(); });
  const std::lock_guard lock(mutex_);
  has_ended_writing_ = true;
  moved_.notify_all();
}

// For `drain`, which waits for it.
void WriteThread::settle_if_asked() {
  std::uint64_t asked = 0;
  {
    const std::lock_guard lock(mutex_);
    if (settles_asked_ == settles_) return;
    asked = settles_asked_;
  }
  call_writer([](StepWriter& writer) { return writer.settle(); });
  const std::lock_guard lock(mutex_);
  settles_ = asked;
  moved_.notify_all();
}

// Calls `work`, as `read_lanes_safely` does.
void WriteThread::call_writer(Status (*work)(StepWriter& writer)) {
  try {
    if (is_writing()) check(work(*writer_));
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
  if (has_failed()) abandon_step();  // perhaps another thread latched it
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
      step_ = message.begin.step.global;
      if (is_writing()) {
        writer_->begin_step(message.begin.wall_seconds, message.begin.step,
                            message.begin.schedule);
      }
      return;
    case Message::Kind::tensor:
      unfinished_lane_ = message.is_last ? nullptr : &lane;
      if (is_writing()) check(writer_->add(message));
      return;
    case Message::Kind::end_step:
      finish_step(message);
      return;
    case Message::Kind::keep_step:
      writer_->keep_step(message.kept_step);
      return;
    case Message::Kind::document:
      if (is_writing()) check(writer_->write(*message.document));
      delete message.document;
      return;
    case Message::Kind::scalars:
      if (is_writing()) check(writer_->write(*message.scalars));
      delete message.scalars;
      return;
  }
}

void WriteThread::finish_step(const Message& message) {
  // Other threads captured in this step until the owner took their mutex and
  // noted this position, so the shared lane holds all of the step's tensors
  // before it.
  read_lane(shared_, message.end.shared_end);
  if (is_writing()) {
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
  parts_.logger->warning(fmt::format(
      "step {}: '{}' was saved more than once: readers get the last value "
      "(the status counts further ones)",
      writer_->step(), counts.first_replaced));
}

bool WriteThread::is_writing() const {
  return !has_failed() && !has_ended_writing_;
}

// Passes the bytes read so far to the storage, and only then returns them to
// the threads that fill the lanes: `StepWriter` refers to payloads inside the
// rings.
void WriteThread::flush_lanes() {
  if (is_writing()) check(writer_->flush());
  owner_.release();
  shared_.release();
  watch_.note_progress();
  // A waiting thread increments `waiting_` before it checks the rings, so it
  // sees the release above or is notified. It also polls: a missed notification
  // costs at most one polling interval.
  if (waiting_.load() == 0) return;
  std::lock_guard lock(mutex_);
  counts_ = writer_->counts();
  moved_.notify_all();
}

void WriteThread::check(const Status& status) {
  if (status) return;
  latch(status.error(), writer_->step());
  abandon_step();
}

void WriteThread::abandon_step() {
  if (!std::exchange(has_abandoned_step_, true)) writer_->abandon();
}

// The first failure counts. Any thread.
void WriteThread::latch(const Error& error, Step step) {
  {
    const std::lock_guard lock(mutex_);
    if (failure_) return;
    failure_ = WriteFailure{error, step};
  }
  has_failed_.store(true, std::memory_order_release);
  parts_.logger->error(failure_text({error, step}));
}

}  // namespace smdebug
