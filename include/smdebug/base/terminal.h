#pragma once

// Whether a person reads the output of this program while it runs.

namespace [[gnu::visibility("default")]] smdebug {

/// Returns true if `descriptor` is a terminal on which a line may be rewritten.
/// A terminal of a CI service (the variable `CI`) and one without cursor
/// movement (`TERM=dumb`) are treated like log files.
bool is_interactive_terminal(int descriptor);

}  // namespace smdebug
