#pragma once

// Lets the tests run the kernel on every SIMD target that this CPU has.
// Nothing else uses it: the kernel chooses the best target by itself.

#include <cstdint>
#include <vector>

namespace smdebug {

// The targets that were compiled and that this CPU can run, best first.
std::vector<std::int64_t> statistics_kernel_targets();

// Runs the kernel on `target` from here on; 0 means the best one again.
void use_statistics_kernel_target(std::int64_t target);

}  // namespace smdebug
