#include <algorithm>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "base/strings.h"
#include "rules/builtin/rate_faults.h"
#include "rules/builtin/rate_findings.h"
#include "rules/engine/finding.h"
#include "rules/measures/loss_of_guess.h"
#include "rules/measures/noisy_values.h"
#include "rules/measures/update_size.h"

namespace smdebug {
namespace {

using Losses = std::span<const ScalarSample>;

// Losses before large updates are judged, and after which they no longer are.
constexpr std::size_t kLossesOfRate = 40, kMostLosses = 200;
// Saved steps with an estimate.
constexpr std::size_t kEnoughUpdates = 5;
// The fall of the loss per update, to first order and as a share of the loss,
// below which a training needs thousands of updates.
constexpr double kSmallFall = 1e-3;
// A loss above this share of the first has not learned much.
constexpr double kHigh = 0.95;
// Of the fall in the first half of a training: one in the second half that is
// as fast. A loss usually falls more and more slowly.
constexpr double kLinearShare = 0.8;
// Of the loss of a guess: a model above it has learned nothing.
constexpr double kNear = 0.97;
// The median of the weights, relative to the first ones, below which a weight
// decay has pulled them to 0.
constexpr double kShrunk = 0.1;
// The share of weights that must look untrained.
constexpr double kMostWeights = 0.7;
// Of the usual learning rate of an optimizer: a higher one is not too low.
constexpr double kLowShare = 0.2;
// A lower multiple of it is not too high.
constexpr double kHighMultiple = 3;
// Of its highest value: a learning rate that has hardly decayed.
constexpr double kHardlyDecayed = 0.99;
// A clipping that explains small updates leaves at most this share of
// gradients.
constexpr double kHardlyAny = 0.1;
// Half of the relative distance between numbers of the dtypes, at most.
constexpr double kHalfStepBfloat16 = 0x1p-9, kHalfStepFloat16 = 0x1p-12;
// The usual update as a share of the weights, and the least that trains.
constexpr double kUsualRatio = 0.005, kTrainingRatio = 0.001;

// Whether the losses fall slowly, and in the second half nearly as far as in
// the first.
bool falls_linearly(Losses losses) {
  const LossCourse course = course_of(losses);
  const auto steps = static_cast<double>(losses.size() - kLossWindow);
  if (course.first - course.now > 2 * kSmallFall * course.now * steps)
    return false;
  const double middle = median_loss(
      losses.subspan((losses.size() - kLossWindow) / 2, kLossWindow));
  return middle < course.first &&
         middle - course.now > kLinearShare * (course.first - middle);
}

std::optional<double> loss_of_guess(const UpdateHistory& history) {
  if (!history.facts()) return std::nullopt;
  const auto guess = guess_of(*history.facts());
  return guess ? std::optional(guess->loss) : std::nullopt;
}

// Whether the loss is that of a model that has learned nothing.
bool is_as_a_guess(const UpdateHistory& history, const LossCourse& course) {
  const auto guess = loss_of_guess(history);
  return guess && course.now > kNear * *guess;
}

// Whether the loss is as high as that of a model that has learned nothing.
bool is_high(const UpdateHistory& history, const LossCourse& course) {
  const auto guess = loss_of_guess(history);
  return course.now > kHigh * course.first &&
         (!guess || course.now > kHigh * *guess);
}

// Whether a model that had learned nothing has had only small updates. A
// trained model may need no more, unless it knows no more than a guess, such as
// with a new last layer.
bool has_small_updates(const UpdateHistory& history, const LossCourse& course,
                       const RateThresholds& thresholds) {
  const double untrained = history.followed().untrained_share().value_or(1);
  return history.ratios().size() >= kEnoughUpdates &&
         history.falls().size() >= kEnoughUpdates &&
         median(history.ratios()) < thresholds.small_ratio &&
         median(history.falls()) < kSmallFall &&
         (untrained > kMostWeights || is_as_a_guess(history, course));
}

std::optional<double> usual_rate_of(const FollowedUpdate& update) {
  return usual_rate({update.optimizer, 0, update.momentum});
}

bool is_low_rate(const FollowedUpdate& update) {
  const auto usual = usual_rate_of(update);
  return usual && update.rate > 0 && update.rate < kLowShare * *usual;
}

// With a usual rate, weights that are too small explain large updates.
bool is_high_rate(const FollowedUpdate& update) {
  const auto usual = usual_rate_of(update);
  return usual && update.rate > kHighMultiple * *usual;
}

// Whether updates would have a size that trains if the rate were usual. If not,
// the gradients are too small.
bool would_train(const FollowedUpdate& update, double ratio) {
  const auto usual = usual_rate_of(update);
  return usual && ratio * *usual > kTrainingRatio * update.rate;
}

bool clips(const LoopFacts& loop) {
  return loop.gradient_norm_limit || loop.gradient_value_limit;
}

std::string clipping_text(const LoopFacts& loop) {
  return loop.gradient_norm_limit
             ? fmt::format("clipping to a norm of {:.4g}",
                           *loop.gradient_norm_limit)
             : fmt::format("clipping elements to {:.4g}",
                           loop.gradient_value_limit.value_or(0));
}

// One significant digit: a recommendation is no more exact.
std::string rough_number(double value) {
  const double unit = std::pow(10, std::floor(std::log10(value)));
  return fmt::format("{:g}", std::round(value / unit) * unit);
}

// Adds the learning rate with which updates would have the usual size.
void suggest_rate(Finding& finding, const FollowedUpdate& update,
                  double ratio) {
  const auto usual = usual_rate_of(update);
  if (!usual || !(ratio > 0) || !(update.rate > 0)) return;
  const double rate = std::min(*usual, update.rate * kUsualRatio / ratio);
  finding.advice += fmt::format(
      ", to about {}: an update then changes the weights by about {:.2g} % of "
      "their size",
      rough_number(rate), 100 * rate / update.rate * ratio);
}

void add_small_updates(Finding& finding, const UpdateHistory& history,
                       const LossCourse& course) {
  finding.message += fmt::format(
      ": an update moves the weights by about {} of their size, and the loss "
      "went from {:.4g} to {:.4g} in {}",
      short_number(median(history.ratios())), course.first, course.now,
      count_text(history.updates(), "update"));
}

void set_ratio(Finding& finding, const UpdateHistory& history,
               const RateThresholds& thresholds) {
  set_rate_numbers(finding, "|update| / |weight|", median(history.ratios()),
                   "<", thresholds.small_ratio);
}

// Gradients that are a sum, over the samples or over backward passes, under an
// SGD whose learning rate is far too high for them.
struct Sum {
  RateFault fault = RateFault::summed;
  std::uint64_t terms = 0;
  double rate = 0, usual = 0;

  double rate_of_mean() const { return rate * static_cast<double>(terms); }
};

// The samples that a loss adds up; 0 if it takes their mean or is not known.
std::uint64_t summed_samples(const RunFacts& facts) {
  if (facts.losses.size() != 1) return 0;
  const LossFacts& loss = facts.losses.front();
  if (loss.reduction != "sum" || !loss.input || loss.input->shape.empty()) {
    return 0;
  }
  return static_cast<std::uint64_t>(loss.input->shape.front());
}

// None for another optimizer, and if a clipping limits the updates.
std::optional<Sum> sum_of(const RunFacts& facts) {
  if (facts.optimizers.size() != 1 || clips(facts.loop)) return std::nullopt;
  const OptimizerFacts& optimizer = facts.optimizers.front();
  if (optimizer.kind != "SGD" || optimizer.groups.empty()) return std::nullopt;
  const Settings& settings = optimizer.groups.front().settings;
  const double momentum = setting(settings, "momentum").value_or(0);
  Sum sum = {.terms = summed_samples(facts),
             .rate = setting(settings, "learning_rate").value_or(0),
             .usual = usual_rate({"SGD", 0, momentum}).value_or(0)};
  if (sum.terms <= 1) {
    sum.fault = RateFault::accumulated;
    sum.terms = facts.loop.summed_passes.value_or(0);
  }
  const bool is_high = sum.rate_of_mean() > kHighMultiple * sum.usual;
  return sum.terms > 1 && is_high ? std::optional(sum) : std::nullopt;
}

std::string sum_text(const Sum& sum) {
  if (sum.fault == RateFault::summed) {
    return fmt::format("the loss is a sum over {} samples", sum.terms);
  }
  return fmt::format("each update sums the gradients of {} backward passes",
                     sum.terms);
}

// The share of a weight below which an update is lost, if all weights that an
// optimizer updates have a dtype of 16 bits; 0 if not.
double half_step_of(const RunFacts& facts) {
  double half_step = 1;
  for (const ParameterFacts& each : facts.parameters) {
    if (!each.updated_by || each.shape.size() < 2) continue;
    half_step = std::min(half_step, each.dtype == "bfloat16" ? kHalfStepBfloat16
                                    : each.dtype == "float16" ? kHalfStepFloat16
                                                              : 0);
  }
  return half_step < 1 ? half_step : 0;
}

}  // namespace

RateVerdict judge_high_rate(const UpdateHistory& history,
                            const RateThresholds& thresholds) {
  const Losses losses = history.losses();
  if (losses.size() > kMostLosses) return {};
  const auto large = std::ranges::find_if(
      history.early_updates(), [&](const EarlyUpdate& early) {
        return early.distance > thresholds.large_ratio;
      });
  const bool is_large = large != history.early_updates().end();
  if (!is_large || !is_high_rate(large->update)) return {.is_judged = true};
  const double first = losses.front().value;
  const double now = course_of(losses).now;
  if (now < kHigh * first) return {.is_judged = true};
  const std::uint64_t passes =
      history.facts() ? history.facts()->loop.summed_passes.value_or(0) : 0;
  Finding finding =
      describe_rate(passes > 1 ? RateFault::accumulated : RateFault::too_high,
                    history, large->update);
  if (passes > 1) {
    finding.message += fmt::format(
        ", and each update sums the gradients of {} backward passes", passes);
  }
  finding.message += fmt::format(
      ": the first {} moved the weights by {} times their initial size, and "
      "the loss is {:.4g} after {} steps, no lower than it began ({:.4g})",
      large->updates == 1 ? "update"
                          : fmt::format("{} updates", large->updates),
      short_number(large->distance), now, losses.size(), first);
  if (passes <= 1) {
    suggest_rate(finding, large->update,
                 large->distance / static_cast<double>(large->updates));
  }
  set_rate_numbers(finding, "distance of the weights / initial size",
                   large->distance, ">", thresholds.large_ratio);
  return {true, finding};
}

std::optional<Finding> find_low_rate(const UpdateHistory& history,
                                     const RateThresholds& thresholds) {
  const Losses losses = history.losses();
  const LossCourse course = course_of(losses);
  const FollowedUpdate& update = *history.last_update();
  const auto rate = history.rate();
  const bool is_stuck = is_high(history, course);
  if (!has_small_updates(history, course, thresholds) ||
      !would_train(update, median(history.ratios())) || !is_low_rate(update) ||
      !rate || rate->now < kHardlyDecayed * rate->highest ||
      is_rate_rising(history) || (!is_stuck && !falls_linearly(losses))) {
    return std::nullopt;
  }
  Finding finding = describe_rate(RateFault::too_low, history, update);
  add_small_updates(finding, history, course);
  if (!is_stuck) {
    finding.severity = Severity::advice;
    finding.message += ", as fast at the end as in the beginning";
  }
  set_ratio(finding, history, thresholds);
  suggest_rate(finding, update, median(history.ratios()));
  return finding;
}

std::optional<Finding> find_rounded(const UpdateHistory& history) {
  const double half_step = history.facts() ? half_step_of(*history.facts()) : 0;
  const LossCourse course = course_of(history.losses());
  if (history.ratios().size() < kEnoughUpdates ||
      !(median(history.ratios()) < half_step) || !is_high(history, course)) {
    return std::nullopt;
  }
  Finding finding =
      describe_rate(RateFault::rounded, history, *history.last_update());
  add_small_updates(finding, history, course);
  finding.message +=
      fmt::format("; the weights round away less than {} of their size",
                  short_number(half_step));
  set_rate_numbers(finding, "|update| / |weight|", median(history.ratios()),
                   "<", half_step);
  return finding;
}

std::optional<Finding> find_clipped(const UpdateHistory& history,
                                    const RateThresholds& thresholds) {
  const LossCourse course = course_of(history.losses());
  const FollowedUpdate& update = *history.last_update();
  if (update.optimizer != "SGD" || update.kept > kHardlyAny ||
      !history.facts() || !clips(history.facts()->loop) ||
      !has_small_updates(history, course, thresholds) ||
      !is_high(history, course) ||
      median(history.ratios()) < kTrainingRatio * update.kept) {
    return std::nullopt;
  }
  Finding finding;
  finding.message =
      fmt::format("{}: {} leaves {} of the gradients, whose norm is {:.4g}",
                  loss_text(history), clipping_text(history.facts()->loop),
                  short_number(update.kept), update.gradient_norm);
  add_small_updates(finding, history, course);
  add_rate_evidence(finding, RateFault::clipped, history, update.step);
  set_rate_numbers(finding, "clipped gradient / gradient", update.kept, "<",
                   kHardlyAny);
  return finding;
}

std::optional<Finding> find_warm_up(const UpdateHistory& history,
                                    const RateThresholds& thresholds) {
  const Losses losses = history.losses();
  if (!history.last_update() || losses.size() < thresholds.num_updates ||
      !history.losses_should_fall()) {
    return std::nullopt;
  }
  const LossCourse course = course_of(losses);
  const FollowedUpdate& update = *history.last_update();
  if (!has_small_updates(history, course, thresholds) ||
      !is_high(history, course) ||
      !would_train(update, median(history.ratios())) || !is_low_rate(update) ||
      !is_rate_rising(history)) {
    return std::nullopt;
  }
  Finding finding = describe_rate(RateFault::warm_up, history, update);
  finding.message += ", and still rises";
  add_small_updates(finding, history, course);
  set_ratio(finding, history, thresholds);
  return finding;
}

// Weights may shrink because that is good for the loss.
RateVerdict judge_weight_decay(const UpdateHistory& history) {
  const auto& decay = history.followed().decay();
  if (!decay || decay->left >= kShrunk) return {};
  const Losses losses = history.losses();
  if (losses.size() < kLossWindow || !history.losses_should_fall()) return {};
  const LossCourse course = course_of(losses);
  if (!is_high(history, course) && !is_as_a_guess(history, course)) return {};
  Finding finding;
  finding.message = fmt::format(
      "{}: a weight decay of {:.4g} in {} (learning rate {:.4g}) pulls the "
      "weights to 0: their size is {} of that at first (the median of {}), and "
      "the loss went from {:.4g} to {:.4g} in {} steps",
      loss_text(history), decay->weight_decay, decay->optimizer, decay->rate,
      short_number(decay->left), count_text(decay->weights, "weight"),
      course.first, course.now, losses.size());
  add_rate_evidence(finding, RateFault::weight_decay, history, history.step());
  set_rate_numbers(finding, "size of the weights / first size", decay->left,
                   "<", kShrunk);
  return {true, finding};
}

// A mean would divide the updates of SGD by the number of terms.
RateVerdict judge_sum(const UpdateHistory& history) {
  const Losses losses = history.losses();
  const auto sum = history.facts() ? sum_of(*history.facts()) : std::nullopt;
  if (!sum || losses.size() > kMostLosses || !history.losses_should_fall()) {
    return {};
  }
  const auto diverged = std::ranges::find_if(
      losses, [](const auto& loss) { return !std::isfinite(loss.value); });
  const bool is_finite = diverged == losses.end();
  if (losses.size() < (is_finite ? kLossesOfRate : 2)) return {};
  const LossCourse course = course_of(losses);
  const double first = losses.front().value;
  if (!std::isfinite(first) || (is_finite && course.now < kHigh * first)) {
    return {.is_judged = true};
  }
  Finding finding;
  finding.message = fmt::format(
      "{}: {}, so that the learning rate {:.4g} of SGD is as large as {:.4g} "
      "would be with a mean: the loss began at {:.4g} and {}",
      loss_text(history), sum_text(*sum), sum->rate, sum->rate_of_mean(), first,
      is_finite
          ? fmt::format("is {:.4g} after {} steps", course.now, losses.size())
          : fmt::format("is not finite at step {}", diverged->step.global));
  add_rate_evidence(finding, sum->fault, history, history.step());
  set_rate_numbers(finding,
                   sum->fault == RateFault::summed
                       ? "learning rate times samples"
                       : "learning rate times backward passes",
                   sum->rate_of_mean(), ">", kHighMultiple * sum->usual);
  return {true, finding};
}

}  // namespace smdebug
