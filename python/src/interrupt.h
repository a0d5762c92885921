#pragma once

// Lets Ctrl-C end a wait of the library. The wait calls `check_interrupt`,
// which runs Python's signal handlers and keeps the exception that they raise.
// After the wait has returned its error, `raise_interrupt` raises it.

namespace smdebug {

/// Runs the handlers of pending signals. Returns true if one of them raised an
/// exception that is still to be raised. Takes the GIL itself.
bool check_interrupt();

/// Sets the exception that `check_interrupt` kept as Python's current one.
/// Returns false if there is none. Needs the GIL.
bool raise_interrupt() noexcept;

/// Returns whether the user pressed Ctrl-C, and leaves the signal pending:
/// Python raises KeyboardInterrupt when the call of the library has returned.
/// For waits inside a training, whose calls return no error. Takes the GIL
/// itself.
bool is_interrupt_pending();

}  // namespace smdebug
