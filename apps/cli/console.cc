#include "console.h"

#include "smdebug/base/escape.h"

namespace smdebug {
namespace {

constexpr std::chrono::milliseconds kPatience(1000);
constexpr std::chrono::milliseconds kTerminalInterval(200);
constexpr std::chrono::milliseconds kLogInterval(5000);
constexpr const char* kEraseLine = "\r\033[K";

}  // namespace

int Console::fail(const Error& error) const {
  err << "smdebug: " << printable_lines(error.message) << std::endl;
  const bool makes_no_sense = error.code == Error::Code::invalid_argument ||
                              error.code == Error::Code::invalid_config;
  return makes_no_sense ? kExitUsage : kExitError;
}

Progress::Progress(const Console& console)
    : console_(console), next_(console.clock.monotonic() + kPatience) {}

Progress::~Progress() { clear(); }

void Progress::say(const std::string& text) {
  const auto now = console_.clock.monotonic();
  if (now < next_) return;
  if (console_.err_is_terminal) {
    console_.err << kEraseLine << text << std::flush;
    is_shown_ = true;
    next_ = now + kTerminalInterval;
  } else {
    console_.err << text << std::endl;
    next_ = now + kLogInterval;
  }
}

void Progress::clear() {
  if (is_shown_) console_.err << kEraseLine << std::flush;
  is_shown_ = false;
}

}  // namespace smdebug
