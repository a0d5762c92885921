#pragma once

// `InterruptWatch` notes the signals that ask this program to end (SIGINT,
// SIGTERM, SIGHUP) while it lives, in place of ending it, and puts back what
// was before. One at a time; signals belong to the whole program.

#include <array>
#include <csignal>

namespace smdebug {

class InterruptWatch {
 public:
  InterruptWatch();
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

  // A signal that came and was not taken yet; 0: none.
  int take();

 private:
  static constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP};
  std::array<struct sigaction, kSignals.size()> before_;
};

}  // namespace smdebug
