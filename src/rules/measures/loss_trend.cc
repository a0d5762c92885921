#include "rules/measures/loss_trend.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "rules/measures/loss_of_guess.h"
#include "rules/measures/noisy_values.h"

namespace smdebug {
namespace {

using LossValues = std::span<const double>;

// Quantile of the normal distribution for an error of 0.5 %, one-sided.
constexpr double kCritical = 2.58;
// A small rise has to be certain, because the losses of a model that is nearly
// perfect are seldom large.
constexpr double kCertain = 4;
// Below this, the rank test does not even hint at a fall.
constexpr double kHint = 0.8;
// A loss that fell by this share trains; one that did not by the second is
// still even if the fall is certain.
constexpr double kFall = 0.05, kNegligibleFall = 0.001;
constexpr double kSmallRise = 1.1, kRise = 10;
// If a loss may rise, only a rise by this factor says that it diverges.
constexpr double kExplosion = 1000;
// A loss that is so many times further below zero than the first losses were
// from it has no lower bound, if it falls ever faster: the log likelihood of a
// good model is large as well, but it comes to rest. Losses that have begun
// near zero, as those of agents do, are compared with 1.
constexpr double kPlungeBelowZero = 1000, kPlungeOfRivals = 1e6;
constexpr double kFaster = 1.5;

// A loss that oscillates crosses its median in this share of the steps, and
// half of the losses lie this share of the median apart or more. Of 60 losses
// without a pattern, so many crossings occur once in a million times.
constexpr double kOscillation = 0.8, kSwing = 0.3;

constexpr std::size_t kFirstCheck = 20;  // losses
// So few are enough for a loss that leaps to this multiple of the first one and
// stays there.
constexpr std::size_t kFewLosses = 10;
constexpr double kLargeLeap = 3;
// Some healthy losses are still for so many steps, and then fall slowly.
constexpr std::size_t kSlowStart = 90, kSlowFall = 200;  // losses
constexpr std::size_t kMostBetweenChecks = 200;
constexpr std::size_t kMostLossesKept = 8192;

// A loss crawls if it is above this share of the first after so many steps, and
// if it falls in the second half at this share of the speed in the first.
constexpr Step kFewestOfCrawl = 50;
constexpr double kHardlyLower = 0.8, kLeastSteady = 0.8, kMostSteady = 1.25;

// The error of the difference between the medians of two groups of one size.
// The standard error of a median of normal values is 1.2533 times that of their
// mean.
double error_of_fall(LossValues early, LossValues late) {
  return kCritical * 1.2533 * std::max(noise(early), noise(late)) *
         std::sqrt(2.0 / static_cast<double>(late.size()));
}

// How far losses typically are from zero.
double scale(LossValues losses) {
  std::vector<double> distances(losses.begin(), losses.end());
  for (double& one : distances) one = std::abs(one);
  return median(distances);
}

}  // namespace

// The losses in the groups that are compared.
struct LossTrend::Parts {
  explicit Parts(LossValues all)
      : all(all),
        begin(all.first(std::max<std::size_t>(3, all.size() / 10))),
        first_third(all.first(all.size() / 3)),
        middle_third(all.subspan(all.size() / 3, all.size() / 3)),
        last_third(all.last(all.size() / 3)),
        newest(all.last(std::clamp<std::size_t>(all.size() / 5, 8, 100))),
        before(median(begin)),
        first(median(first_third)),
        last(median(last_third)),
        now(median(newest)),
        last_noise(noise(last_third)) {
    const std::size_t half = newest.size() / 2;
    is_settled =
        median(newest.subspan(half)) >= 0.95 * median(newest.first(half));
  }

  LossValues all, begin, first_third, middle_third, last_third, newest;
  double before, first, last, now;  // medians
  double last_noise;
  bool is_settled;  // the newest losses do not fall
};

bool LossTrend::add(Step step, double loss) {
  if (losses_ == 0) {
    first_ = step;
    first_loss_ = loss;
  }
  are_equal_ &= loss == first_loss_;
  last_ = step;
  ++losses_;
  keep(loss);
  if (losses_ < kFirstCheck || steps() < kFewestSteps ||
      losses_ < next_check_) {
    return false;
  }
  next_check_ = losses_ + std::min(losses_ / 2, kMostBetweenChecks);
  return true;
}

void LossTrend::keep(double loss) {
  open_sum_ += loss;
  if (++open_count_ < per_kept_) return;
  kept_.push_back(open_sum_ / static_cast<double>(per_kept_));
  open_sum_ = 0;
  open_count_ = 0;
  if (kept_.size() < kMostLossesKept) return;
  for (std::size_t i = 0; i < kept_.size() / 2; ++i) {
    kept_[i] = (kept_[2 * i] + kept_[2 * i + 1]) / 2;
  }
  kept_.resize(kept_.size() / 2);
  per_kept_ *= 2;
}

LossTrend::Answer LossTrend::judge(Setting setting) {
  Answer answer;
  const double steps_per_loss =
      static_cast<double>(steps()) /
      static_cast<double>(std::max<std::size_t>(losses_, 1));
  answer.needed = std::max(static_cast<double>(kFewestSteps),
                           static_cast<double>(kFirstCheck) * steps_per_loss);
  if (losses_ < kFirstCheck) {
    const Answer leap = judge_few(setting);
    return leap.kind == Kind::unknown ? answer : leap;
  }
  const Parts parts(kept_);
  const bool may_rise = setting.has_repeated_calls || setting.has_rivals;
  answer.before = parts.before;
  answer.now = parts.now;
  answer.is_at_rest = std::ranges::all_of(parts.last_third, [&](double loss) {
    return loss == parts.last_third.front();
  });
  if (are_equal_) {
    // Without a reward yet, the loss is 0.
    const bool may_be_zero = may_rise && first_loss_ == 0;
    answer.kind = may_be_zero ? Kind::not_judged : Kind::constant;
  } else if (plunges(parts, may_rise)) {
    answer.kind = Kind::plunges;
    answer.before = scale(parts.begin);
  } else if (std::ranges::min(kept_) < 0 || parts.before <= 0) {
    answer.kind = has_fallen_ ? Kind::falls : Kind::not_judged;
  } else if (has_exploded(parts, may_rise)) {
    answer.kind = Kind::rises;
  } else if (!may_rise && has_returned(parts)) {
    answer.kind = Kind::returned;
    answer.least = *lowest_;
  } else if (!may_rise && has_risen(parts)) {
    answer.kind = Kind::rises;
    answer.before = parts.first;
  } else if (!may_rise && has_leapt(parts, answer)) {
    answer.kind = Kind::leapt;
  } else if (has_fallen_ || has_fallen(parts)) {
    has_fallen_ = true;
    answer.kind = Kind::falls;
    if (guesses(parts, setting)) {
      answer = {Kind::guesses, first_loss_, parts.now,
                median(parts.middle_third)};
    }
  } else {
    answer.kind = standstill(parts, setting, answer.needed);
    if (!may_rise && oscillates(parts, answer)) answer.kind = Kind::oscillates;
  }
  lowest_ = std::min(lowest_.value_or(parts.now), parts.now);
  return answer;
}

double LossTrend::now() const {
  const LossValues all = kept_;
  const std::size_t size = std::max<std::size_t>(3, all.size() / 10);
  return all.empty() ? 0 : median(all.last(std::min(size, all.size())));
}

std::optional<LossTrend::Answer> LossTrend::crawl() const {
  const LossValues all = kept_;
  if (all.size() < kFirstCheck || steps() < kFewestOfCrawl) return std::nullopt;
  const std::size_t size = std::max<std::size_t>(3, all.size() / 10);
  const std::size_t last = all.size() - size, middle = last / 2;
  Answer answer;
  answer.kind = Kind::crawls;
  answer.before = median(all.first(size));
  answer.least = median(all.subspan(middle, size));
  answer.now = median(all.subspan(last));
  const double early =
      (answer.before - answer.least) / static_cast<double>(middle);
  const double late =
      (answer.least - answer.now) / static_cast<double>(last - middle);
  const bool crawls = answer.now > kHardlyLower * answer.before && early > 0 &&
                      late > kLeastSteady * early && late < kMostSteady * early;
  const std::size_t third = all.size() / 3;
  if (!crawls || rank_test(all.first(third), all.last(third)) < kCritical)
    return std::nullopt;
  return answer;
}

// Judges fewer losses than the tests of groups need.
LossTrend::Answer LossTrend::judge_few(Setting setting) const {
  Answer answer;
  if (losses_ < kFewLosses || steps() < kFewestSteps ||
      setting.has_repeated_calls || setting.has_rivals || first_loss_ <= 0) {
    return answer;
  }
  const LossValues all = kept_;
  const LossValues late = all.last(all.size() / 2);
  const double now = median(late);
  if (std::ranges::min(late) < kLargeLeap * first_loss_ ||
      noise(late) > 0.15 * now || late.back() < 0.95 * late.front()) {
    return answer;
  }
  answer.kind = Kind::leapt;
  answer.before = first_loss_;
  answer.now = now;
  answer.most = std::ranges::max(all.first(all.size() / 2));
  return answer;
}

bool LossTrend::plunges(const Parts& parts, bool may_rise) {
  const double least = may_rise ? kPlungeOfRivals : kPlungeBelowZero;
  const double middle = median(parts.middle_third);
  return parts.now < -least * std::max(scale(parts.begin), 1.0) &&
         parts.now <= parts.last &&
         middle - parts.last > kFaster * (parts.first - middle) &&
         parts.first > middle &&
         rank_test(parts.first_third, parts.last_third) > kCertain;
}

bool LossTrend::has_exploded(const Parts& parts, bool may_rise) {
  return parts.is_settled &&
         parts.now > (may_rise ? kExplosion : kRise) * parts.before &&
         rank_test(parts.begin, parts.newest) < -kCritical;
}

bool LossTrend::has_risen(const Parts& parts) {
  return parts.is_settled && parts.now >= parts.last &&
         parts.last > kSmallRise * parts.first &&
         rank_test(parts.first_third, parts.last_third) < -kCertain;
}

// A task that changes makes a loss leap as well, but it falls again.
bool LossTrend::has_returned(const Parts& parts) const {
  return lowest_ && parts.is_settled && *lowest_ < 0.7 * parts.before &&
         parts.now > 0.95 * parts.before &&
         quantile(parts.newest, 0.25) > 0.9 * parts.before &&
         noise(parts.newest) < 0.3 * parts.now;
}

// The first loss is that of the initial weights. By itself it says something
// only if there is little noise, or if nearly all later losses are far above
// it.
bool LossTrend::has_leapt(const Parts& parts, Answer& answer) const {
  answer.most = std::ranges::max(parts.first_third.subspan(1));
  const bool is_calm =
      parts.last_noise <= 0.15 * parts.last &&
      answer.most >= 1.5 * first_loss_ + 6 * parts.last_noise &&
      parts.last >= first_loss_ - parts.last_noise;
  if (!is_calm && quantile(parts.last_third, 0.05) <= 10 * first_loss_) {
    return false;
  }
  answer.before = first_loss_;
  return true;
}

// Some losses fall in their first steps, others over all of them.
bool LossTrend::has_fallen(const Parts& parts) const {
  return std::ranges::any_of(
      std::array{parts.all.first(5), parts.all.first(10), parts.first_third},
      [&](LossValues early) {
        return parts.last < (1 - kFall) * median(early) &&
               rank_test(early, parts.last_third) > kCritical;
      });
}

// Early losses of large first outputs fall without anything being learned.
bool LossTrend::guesses(const Parts& parts, Setting setting) const {
  if (!setting.guess || losses_ < kSlowFall || setting.has_rivals ||
      setting.has_repeated_calls) {
    return false;
  }
  const double nearest = (kNearGuess - 1) * *setting.guess;
  const double middle = median(parts.middle_third);
  return std::abs(middle - *setting.guess) < nearest &&
         std::abs(parts.last - *setting.guess) < nearest &&
         middle - parts.last +
                 error_of_fall(parts.middle_third, parts.last_third) <
             nearest &&
         rank_test(parts.middle_third, parts.last_third) < kHint;
}

// LossValues that are only noisy are as often on the same side of their median
// as the loss before. Two batches that differ make a healthy loss cross it as
// well, but the means of pairs fall.
bool LossTrend::oscillates(const Parts& parts, Answer& answer) const {
  if (losses_ < kSlowStart || per_kept_ > 1) return false;
  std::vector<double> pairs;
  for (std::size_t i = 1; i < parts.all.size(); i += 2) {
    pairs.push_back((parts.all[i - 1] + parts.all[i]) / 2);
  }
  const std::size_t third = pairs.size() / 3;
  if (rank_test(LossValues(pairs).first(third), LossValues(pairs).last(third)) >
      kHint)
    return false;
  const LossValues late = parts.all.subspan(parts.all.size() / 3);
  const double middle = median(late);
  std::size_t crossings = 0;
  for (std::size_t i = 1; i < late.size(); ++i) {
    crossings += (late[i] > middle) != (late[i - 1] > middle);
  }
  answer.least = quantile(late, 0.25);
  answer.most = quantile(late, 0.75);
  return static_cast<double>(crossings) >=
             kOscillation * static_cast<double>(late.size() - 1) &&
         answer.most - answer.least > kSwing * middle;
}

LossTrend::Kind LossTrend::standstill(const Parts& parts, Setting setting,
                                      double& needed) const {
  if (setting.has_rivals) return Kind::not_judged;
  const double error = error_of_fall(parts.first_third, parts.last_third);
  const double enough = kFall * parts.first;
  needed = static_cast<double>(steps()) *
           std::max({1.5, std::pow(error / enough, 2),
                     static_cast<double>(kSlowStart) /
                         static_cast<double>(losses_)});
  const double fall = parts.first - parts.last;
  double hint = rank_test(parts.first_third, parts.last_third);
  if (losses_ < kSlowStart ||
      (setting.has_repeated_calls && error - fall >= enough)) {
    return Kind::unknown;
  }
  if (losses_ >= kSlowFall) {
    // A loss that settles in its first steps falls no more.
    hint = std::min(hint, rank_test(parts.middle_third, parts.last_third));
  }
  const bool is_still = (fall + error < enough && hint < kHint) ||
                        fall + error < kNegligibleFall * parts.first;
  return is_still ? Kind::still : Kind::unknown;
}

}  // namespace smdebug
