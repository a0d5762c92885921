#include "capture/leap_watch.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace smdebug {
namespace {

// The weight of a new value, and how many values make a mean.
constexpr double kWeight = 0.125;
constexpr std::uint32_t kFewValues = 5;

constexpr double kDeviations = 6;
// Losses of batches differ by less than half of their mean, gradients by less
// than four times their norm.
constexpr double kLossShare = 0.5, kNormShare = 4;

// A loss that leaps again and again must not double the overhead: three steps
// in thirty.
constexpr std::uint32_t kPauseOfStep = 10;

}  // namespace

bool RecentValues::leaps_to(double value, double share) {
  if (!std::isfinite(value)) return std::exchange(is_finite_, false);
  is_finite_ = true;
  const double distance = value - mean_;
  if (count_ < kFewValues) {
    mean_ += distance / ++count_;
    deviation_ += (std::abs(distance) - deviation_) / count_;
    return false;
  }
  const bool leaps =
      distance > std::max(kDeviations * deviation_, share * std::abs(mean_));
  mean_ += kWeight * distance;
  deviation_ += kWeight * (std::abs(distance) - deviation_);
  return leaps;
}

void LeapWatch::note_loss(RecentValues& recent, Mode mode, double loss) {
  if (steps_ > 0 && can_learn(mode)) note(recent.leaps_to(loss, kLossShare));
}

void LeapWatch::note_gradient(RecentValues& recent,
                              const TensorStatistics& gradient) {
  if (steps_ == 0 || gradient.count == 0) return;
  const bool is_finite =
      gradient.nan + gradient.positive_inf + gradient.negative_inf == 0;
  const double norm = is_finite ? std::sqrt(gradient.sum_squares)
                                : std::numeric_limits<double>::infinity();
  note(recent.leaps_to(norm, kNormShare));
}

void LeapWatch::note(bool is_leap) {
  if (!is_leap || pause_ > 0) return;
  left_ = steps_;
  pause_ = kPauseOfStep * steps_;
}

bool LeapWatch::begin_step(Mode mode) {
  if (!can_learn(mode)) return false;
  if (pause_ > 0) --pause_;
  if (left_ == 0) return false;
  --left_;
  return true;
}

}  // namespace smdebug
