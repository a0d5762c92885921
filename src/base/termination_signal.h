#pragma once

// Lets a process do one last thing when it is told to end. The signal's own
// code only wakes a thread: whatever the signal interrupted, locks and memory
// allocation too, goes on meanwhile, so the thread may do what any thread may.
// Then the process ends by the same signal, as if nobody had listened.
//
// Whoever uses it: `install_termination_flush` in capture.

namespace smdebug {

// From now on SIGTERM calls `last` on a thread of its own and then ends the
// process by SIGTERM. `last` returns in bounded time; it may be called while
// the program returns from `main`. Only where SIGTERM still has its default
// action: returns whether it is watched, false where the program (or an
// environment that ignores the signal) has its own answer, or where no thread
// could be started. A second call changes nothing. Any thread.
//
// A child of a fork does not inherit the thread: SIGTERM ends it at once,
// until it calls this itself.
bool watch_termination_signal(void (*last)());

}  // namespace smdebug
