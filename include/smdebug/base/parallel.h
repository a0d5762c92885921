#pragma once

// Spreads independent work over the cores. What is called must not fail by
// throwing, and touches nothing that another call writes.

#include <cstddef>
#include <functional>

namespace smdebug {

/// Calls `work(begin, end)` for parts of [0, n) that together are all of it, at
/// the same time, of at least `least` each where n allows; returns when all
/// have returned. For a small n, or on one core, it is one call in this thread.
void parallel_for(std::size_t n, std::size_t least,
                  const std::function<void(std::size_t, std::size_t)>& work);

}  // namespace smdebug
