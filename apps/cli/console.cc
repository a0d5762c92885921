#include "console.h"

#include <algorithm>

#include "smdebug/base/escape.h"

namespace smdebug {
namespace {

constexpr std::chrono::seconds kPatience(1);
constexpr std::chrono::milliseconds kTerminalInterval(200);
constexpr std::chrono::seconds kFirstInterval(5);
constexpr int kIntervalGrowth = 4;
constexpr std::chrono::minutes kLongestInterval(10);
constexpr const char* kEraseLine = "\r\033[K";

}  // namespace

int Console::fail(const Error& error) const {
  err << "smdebug: " << printable_lines(error.message) << std::endl;
  const bool makes_no_sense = error.code == Error::Code::invalid_argument ||
                              error.code == Error::Code::invalid_config;
  return makes_no_sense ? kExitUsage : kExitError;
}

Progress::Progress(const Console& console, Detail detail, Style style)
    : console_(console),
      is_quiet_(detail == Detail::quiet),
      is_in_place_(console.err_is_terminal && style == Style::own_terminal),
      next_(console.clock.monotonic() +
            (is_in_place_ ? kPatience : kFirstInterval)),
      interval_(kFirstInterval) {}

Progress::~Progress() { clear(); }

bool Progress::is_due() const {
  return !is_quiet_ && console_.clock.monotonic() >= next_;
}

void Progress::say(const std::string& text) {
  if (!is_due()) return;
  const auto now = console_.clock.monotonic();
  if (is_in_place_) {
    next_ = now + kTerminalInterval;
    console_.err << kEraseLine << "smdebug: " << printable(text) << std::flush;
    is_shown_ = true;
    return;
  }
  interval_ = std::min<std::chrono::nanoseconds>(kIntervalGrowth * interval_,
                                                 kLongestInterval);
  next_ = now + interval_;
  // A progress bar of the training may be on this line; it is drawn again.
  if (console_.err_is_terminal) console_.err << kEraseLine;
  console_.err << "smdebug: " << printable(text) << std::endl;
}

void Progress::clear() {
  if (is_shown_) console_.err << kEraseLine << std::flush;
  is_shown_ = false;
}

}  // namespace smdebug
