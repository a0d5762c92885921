#pragma once

// What becomes of a run whose process is told to end: a supervisor, a queue
// or the owner of a spot machine sends SIGTERM, and by default the process is
// gone with whatever its sessions had not written yet.

#include <chrono>

namespace smdebug {

/// What supervisors commonly grant before they send SIGKILL is 30 seconds.
inline constexpr std::chrono::milliseconds kTerminationWait{20000};

/// From now on SIGTERM lets every session of this process, those that are made
/// later too, publish the steps that have ended; then the process ends by
/// SIGTERM, so that its parent sees the same exit status as ever. A step that
/// is still open is not published, and no end marker is written: the training
/// may be started again in the same folder. The process ends at the latest
/// `at_most` after the signal, whatever the storage does.
///
/// Only over the default action: returns false, and changes nothing, where the
/// program answers SIGTERM itself or ignores it. Such a program calls
/// `Session::flush`. The training goes on while the steps are written; nothing
/// runs in the interrupted thread. A second call changes only `at_most`. A
/// child of a fork ends at once, as by default. Any thread.
bool install_termination_flush(
    std::chrono::milliseconds at_most = kTerminationWait);

}  // namespace smdebug
