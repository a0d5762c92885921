#pragma once

// The scalars that the training notes: collected in a buffer that is allocated
// once, handed to the write thread in chunks, and shown to the observer of the
// running step. The owner's thread.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "capture/capture_sink.h"
#include "capture/leap_watch.h"
#include "capture/run_lifecycle.h"
#include "capture/scalar_chunk.h"
#include "capture/session_context.h"

namespace smdebug {

// The state behind a `ScalarSlot`.
struct __attribute__((visibility("hidden"))) ScalarName {
  std::shared_ptr<const std::string> text;
  std::uint32_t number;  // of the series
  bool is_loss;
  std::unique_ptr<RecentValues> recent;  // null: its leaps are not watched
};

class ScalarNotes {
 public:
  // All arguments must outlive this.
  ScalarNotes(SessionContext& context, RunLifecycle& run, CaptureSink& sink,
              LeapWatch& leaps);

  // Creates the series on first use. Samples under a name that cannot be
  // written are ignored. `is_loss` has an effect on the first use.
  const ScalarName* series(std::string_view name, bool is_loss);
  // From now on, reports the losses of training steps to the LeapWatch.
  void watch_leaps();

  // In the training step. A call allocates only if the buffer is full.
  void note(const ScalarName& series, double value) {
    note_at(series, context_.steps.current(), value);
  }
  void note(const ScalarName& series, const StepId& step, double value) {
    if (sink_.is_owner() && is_recording_ && !is_known(step)) return drop();
    note_at(series, step, value);
  }

  // Call when a step has begun, or could not begin: whether it is recorded.
  void begin_step(bool is_recorded);
  // Call before the end of a step is announced: hands over what is due by time.
  void end_step();
  // Shows the observer the samples since the last call.
  void show();
  // Shows the current observer only samples from now on.
  void skip_to_now();

  // Passes all samples to the write thread.
  void hand_over();
  // Shows and hands over all samples; no further one is recorded.
  void finish();
  // Ends without that, in the child of a fork.
  void stop();

  // Samples that came from another thread, or with a step that is unknown.
  std::uint64_t dropped() const { return dropped_; }

 private:
  // 160 KiB: at 1000 samples per second, four seconds.
  static constexpr std::size_t kBuffer = 4096;

  void note_at(const ScalarName& series, const StepId& step, double value) {
    if (!sink_.is_owner()) return drop();
    if (!is_recording_) return;
    noted_[used_++] = {step, value, series.number};
    if (used_ == kBuffer) [[unlikely]]
      hand_over();
    if (series.recent) [[unlikely]]
      leaps_.note_loss(*series.recent, step.mode, value);
  }
  // Whether the step has been begun by this session.
  bool is_known(const StepId& step) const {
    return step.global >= first_step_ && step.mode_step >= 0 &&
           step.global <= context_.steps.current().global;
  }
  void drop() { dropped_.fetch_add(1, std::memory_order_relaxed); }
  ScalarChunk chunk(std::vector<NotedScalar> noted) const;
  void keep_unshown();
  std::chrono::nanoseconds interval() const;

  SessionContext& context_;
  RunLifecycle& run_;
  CaptureSink& sink_;
  LeapWatch& leaps_;

  std::map<std::string, ScalarName, std::less<>> by_name_;
  std::vector<std::shared_ptr<const std::string>> names_;  // by number

  std::vector<NotedScalar> noted_;  // empty before the first series
  std::size_t used_ = 0;
  bool is_recording_ = false;  // the open step
  bool watches_leaps_ = false;
  Step first_step_ = -1;  // -1: none has begun
  std::chrono::nanoseconds began_at_{0};
  std::chrono::nanoseconds handed_over_at_{0};
  bool has_handed_over_ = false;
  std::atomic<std::uint64_t> dropped_ = 0;

  std::size_t shown_ = 0;             // of the buffer
  std::vector<NotedScalar> unshown_;  // handed over, and not shown yet
};

}  // namespace smdebug
