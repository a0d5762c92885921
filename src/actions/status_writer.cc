#include "smdebug/actions/status_writer.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/background_tasks.h"
#include "base/environment.h"

namespace smdebug {

class __attribute__((visibility("hidden"))) StatusWriter::Impl {
 public:
  explicit Impl(RuleWatchOptions options)
      : clock_(options.clock ? *options.clock : system_clock()),
        interval_(options.interval),
        owner_(process_id()),
        options_(std::move(options)) {
    options_.interval = std::chrono::nanoseconds(0);  // write every update
  }

  bool is_forked() const { return process_id() != owner_; }

  void update(std::span<const Verdict> verdicts,
              const WatchProgress& progress) {
    const auto now = clock_.monotonic();
    if (now < next_ && !has_changed(verdicts)) return;
    next_ = now + interval_;
    last_.clear();
    for (const Verdict& verdict : verdicts) last_.push_back(verdict.status);
    submit({{verdicts.begin(), verdicts.end()}, progress});
  }

  void finish(std::span<const Verdict> verdicts,
              const WatchProgress& progress) {
    submit({{verdicts.begin(), verdicts.end()}, progress});
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

  void submit(State state) {
    if (is_finished_) return;
    {
      const std::lock_guard lock(mutex_);
      waiting_ = std::move(state);
      if (std::exchange(is_writing_, true)) return;
    }
    background_.wait();  // joins a thread that has finished
    background_.start([this] { write(); });
  }

  // Writes until no state is waiting.
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
  // Used by the training thread.
  std::vector<RuleStatus> last_;
  std::chrono::nanoseconds next_{0};
  bool is_finished_ = false;
  // Used by the writing thread; by the training thread after a wait.
  RuleWatchOptions options_;
  std::unique_ptr<RuleWatch> watch_;
  std::mutex mutex_;  // protects waiting_ and is_writing_
  std::optional<State> waiting_;
  bool is_writing_ = false;
  BackgroundTasks background_;  // last: ends before the rest is destroyed
};

StatusWriter::StatusWriter(RuleWatchOptions options)
    : impl_(std::make_unique<Impl>(std::move(options))) {}

StatusWriter::~StatusWriter() {
  // A fork copies no threads: waiting for one would never end.
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
