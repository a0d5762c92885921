#include "rules/measures/scale_course.h"

#include <algorithm>

namespace smdebug {
namespace {

// Skipped updates that show that a scale below 1 is no choice of the user.
constexpr std::size_t kSkippedAtFloor = 10;

}  // namespace

void ScaleCourse::add(double scale) {
  highest_ = std::max(highest_, scale);
  if (last_) {
    bool& newest = is_skipped_[updates_ % kWindow];
    skipped_ -= newest;
    // A scale that was 0 cannot fall.
    newest = scale < *last_ || scale == 0;
    skipped_ += newest;
    ++updates_;
  }
  last_ = scale;
}

ScaleCourse::Answer ScaleCourse::judge(double share) const {
  if (last_ && *last_ < 1 && skipped_ >= kSkippedAtFloor) {
    return Answer::always_skips;
  }
  const bool is_warm = updates_ >= 2 * kWindow;
  if (is_warm && static_cast<double>(skipped_) > share * kWindow) {
    return Answer::often_skips;
  }
  return Answer::sound;
}

std::size_t ScaleCourse::updates() const { return std::min(updates_, kWindow); }

}  // namespace smdebug
