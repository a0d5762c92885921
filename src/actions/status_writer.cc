#include "smdebug/actions/status_writer.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/background_tasks.h"
#include "base/environment.h"

namespace smdebug {

class StatusWriter::Impl {
 public:
  explicit Impl(RuleWatchOptions options)
      : clock_(options.clock ? *options.clock : system_clock()),
        interval_(options.interval),
        owner_(process_id()),
        options_(std::move(options)) {
    options_.interval = std::chrono::nanoseconds(0);  // what it gets is due
  }

  bool is_forked() const { return process_id() != owner_; }

  void update(std::span<const Verdict> verdicts,
              const WatchProgress& progress) {
    const auto now = clock_.monotonic();
    if (now < next_ && !has_changed(verdicts)) return;
    next_ = now + interval_;
    last_.clear();
    for (const Verdict& verdict : verdicts) last_.push_back(verdict.status);
    hand_over({{verdicts.begin(), verdicts.end()}, progress});
  }

  void finish(std::span<const Verdict> verdicts,
              const WatchProgress& progress) {
    hand_over({{verdicts.begin(), verdicts.end()}, progress});
    release();
  }

  void forget_run() {
    background_.wait();
    if (watch_) watch_->forget_run();
    is_finished_ = true;
  }

  void release() {
    if (std::exchange(is_finished_, true)) return;
    background_.wait();
    if (watch_) watch_->finish();
  }

 private:
  struct State {
    std::vector<Verdict> verdicts;
    WatchProgress progress;
  };

  bool has_changed(std::span<const Verdict> verdicts) const {
    return !std::ranges::equal(verdicts, last_, {}, &Verdict::status);
  }

  void hand_over(State state) {
    if (is_finished_) return;
    {
      const std::lock_guard lock(mutex_);
      waiting_ = std::move(state);
      if (std::exchange(is_writing_, true)) return;
    }
    background_.wait();  // for a thread that has done its work
    background_.start([this] { write(); });
  }

  // Until nothing waits any more.
  void write() {
    while (const auto state = take()) {
      if (!watch_) watch_ = std::make_unique<RuleWatch>(std::move(options_));
      watch_->update(state->verdicts, state->progress);
    }
  }

  std::optional<State> take() {
    const std::lock_guard lock(mutex_);
    if (!waiting_) is_writing_ = false;
    return std::exchange(waiting_, std::nullopt);
  }

  const Clock& clock_;
  const std::chrono::nanoseconds interval_;
  const std::int64_t owner_;
  // Of the thread that trains.
  std::vector<RuleStatus> last_;
  std::chrono::nanoseconds next_{0};
  bool is_finished_ = false;
  // Of the thread that writes, until it is waited for.
  RuleWatchOptions options_;
  std::unique_ptr<RuleWatch> watch_;
  std::mutex mutex_;  // of what follows
  std::optional<State> waiting_;
  bool is_writing_ = false;
  BackgroundTasks background_;  // last: waited for before the rest goes
};

StatusWriter::StatusWriter(RuleWatchOptions options)
    : impl_(std::make_unique<Impl>(std::move(options))) {}

StatusWriter::~StatusWriter() {
  // A fork copies no thread: what waits for one would wait for ever.
  if (impl_->is_forked()) {
    (void)impl_.release();
  } else {
    impl_->release();
  }
}

void StatusWriter::update(std::span<const Verdict> verdicts,
                          const WatchProgress& progress) {
  if (!impl_->is_forked()) impl_->update(verdicts, progress);
}

void StatusWriter::forget_run() {
  if (!impl_->is_forked()) impl_->forget_run();
}

void StatusWriter::finish(std::span<const Verdict> verdicts,
                          const WatchProgress& progress) {
  if (!impl_->is_forked()) impl_->finish(verdicts, progress);
}

}  // namespace smdebug
