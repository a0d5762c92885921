#pragma once

// Saves a run whose process receives SIGTERM, from a supervisor, a batch queue
// or the owner of a spot machine. By default such a process exits and loses the
// steps that its sessions have not written yet.

#include <chrono>

namespace [[gnu::visibility("default")]] smdebug {

/// Supervisors commonly send SIGKILL 30 seconds after SIGTERM.
inline constexpr std::chrono::milliseconds kTerminationWait{20000};

/// Installs a reaction to SIGTERM: every session of this process, including
/// sessions created later, publishes the steps that have ended. A session also
/// publishes its open step if that step has as many tensors as the last
/// published step of its mode with the same tensors due. Then the process ends
/// by SIGTERM, so that its parent sees the usual exit status. No end marker is
/// written, so the training can be restarted in the same folder. The process
/// ends at most `at_most` after the signal, even if the storage blocks.
///
/// Replaces only the default action: returns false, and changes nothing, if the
/// program handles or ignores SIGTERM. Such a program calls `Session::flush`
/// itself. The training continues while the steps are written, and nothing runs
/// in the interrupted thread. A second call changes only `at_most`. A child of
/// a fork ends at once, as by default. Any thread.
bool install_termination_flush(
    std::chrono::milliseconds at_most = kTerminationWait);

}  // namespace smdebug
