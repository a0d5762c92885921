#pragma once

// Spreads independent work over threads. The work must not throw and must not
// touch data that another call writes.

#include <cstddef>
#include <functional>

#include "smdebug/base/result.h"

namespace [[gnu::visibility("default")]] smdebug {

/// Calls `work(begin, end)` concurrently for ranges that together cover [0, n),
/// of at least `least` each if n allows; returns when all calls have returned.
/// For a small n, or on one core, it is one call on this thread.
void parallel_for(std::size_t n, std::size_t least,
                  const std::function<void(std::size_t, std::size_t)>& work);

/// Calls `work(i)` for each i in [0, n), up to `most` at once; returns when all
/// calls have returned. For work that waits, as for a server: it is spread over
/// more threads than there are cores.
void concurrent_for(std::size_t n, std::size_t most,
                    const std::function<void(std::size_t)>& work);

/// Same for work that can fail. Does all of it, and returns the failure with
/// the least i.
Status try_concurrently(std::size_t n, std::size_t most,
                        const std::function<Status(std::size_t)>& work);

}  // namespace smdebug
