#pragma once

// Measures the time that the training thread spends in calls of the session.
// Reading the processor's cycle counter costs a tenth of a system clock. The
// length of a cycle follows at the end, by comparing both over the whole run.

#include <chrono>
#include <cstdint>

#include "smdebug/base/clock.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace smdebug {

inline std::uint64_t cycle_count() {
#if defined(__x86_64__)
  return __rdtsc();
#else
  return static_cast<std::uint64_t>(system_clock().monotonic().count());
#endif
}

// Converts cycles to seconds.
class CycleClock {
 public:
  CycleClock()
      : start_cycles_(cycle_count()), start_(system_clock().monotonic()) {}

  double seconds(std::uint64_t cycles) const {
    const std::uint64_t passed_cycles = cycle_count() - start_cycles_;
    const std::chrono::duration<double> passed =
        system_clock().monotonic() - start_;
    return passed_cycles == 0 ? 0
                              : static_cast<double>(cycles) * passed.count() /
                                    static_cast<double>(passed_cycles);
  }

 private:
  std::uint64_t start_cycles_;
  std::chrono::nanoseconds start_;
};

// Adds the cycles until the end of its scope to a total.
class CycleMeter {
 public:
  explicit CycleMeter(std::uint64_t& total)
      : total_(total), start_(cycle_count()) {}
  ~CycleMeter() { total_ += cycle_count() - start_; }
  CycleMeter(const CycleMeter&) = delete;
  CycleMeter& operator=(const CycleMeter&) = delete;

 private:
  std::uint64_t& total_;
  std::uint64_t start_;
};

}  // namespace smdebug
