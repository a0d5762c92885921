#pragma once

// The slot into which a training notes one number per step: a loss, a learning
// rate, the scale of the gradients. An adapter asks the session once per series
// (`Session::scalar`) and keeps the slot, which is two pointers, cheap to copy,
// and valid as long as its session.
//
// Noting takes a few nanoseconds: no lock, no allocation, no text. Samples are
// collected in memory and handed over for writing when a buffer is full, at the
// end of a step if 1 s has passed since the last time (later a hundredth of the
// time of the training, at most 30 s), and by `flush`, `export_collections` and
// `close`. SIGTERM loses samples that were not handed over; SIGKILL also loses
// those that the writer has not written yet.

#include <string_view>

#include "smdebug/core/mode.h"

namespace [[gnu::visibility("default")]] smdebug {

struct SessionImpl;
struct ScalarName;

class ScalarSlot {
 public:
  /// Notes the value of the step that was begun last, saved or not. The last of
  /// several values for a step counts. Ignored before the first step, while the
  /// session is paused, and if it records nothing. The owner's thread; a value
  /// from another thread is dropped and counted.
  void note(double value) const;
  /// Does the same for a value that is known late, such as one from an
  /// accelerator. `step` is what `Session::step` returned in its step; any
  /// other is dropped and counted.
  void note(const StepId& step, double value) const;

  /// Returns the name of the series, valid as long as the session; empty if the
  /// name cannot be recorded.
  std::string_view name() const;

 private:
  friend class Session;
  ScalarSlot(SessionImpl* session, const ScalarName* name)
      : session_(session), name_(name) {}

  SessionImpl* session_;
  const ScalarName* name_;
};

}  // namespace smdebug
