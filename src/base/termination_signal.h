#pragma once

// Calls a function when the process receives SIGTERM, before it ends. The
// signal handler only wakes a thread. The interrupted code, which may hold
// locks or be allocating memory, continues to run meanwhile, so this thread may
// do anything. The process then ends by the same signal, as it would without
// the handler.
//
// Used by `install_termination_flush` in capture.

namespace smdebug {

// From now on, SIGTERM calls `last` on its own thread and then ends the
// process. `last` must return in bounded time, and may be called while the
// program returns from `main`. Returns false, and does nothing, if SIGTERM does
// not have its default action because the program handles or ignores it, or if
// the thread cannot be created. A second call changes nothing. Any thread.
//
// The child of a fork does not inherit the thread: SIGTERM ends it at once
// unless it calls this itself.
bool watch_termination_signal(void (*last)());

}  // namespace smdebug
