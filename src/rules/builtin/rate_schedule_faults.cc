#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "rules/builtin/rate_faults.h"
#include "rules/builtin/rate_findings.h"
#include "rules/engine/finding.h"

namespace smdebug {
namespace {

// Clippings without gradients that are no accident.
constexpr std::uint64_t kEmptyClippings = 10;
// A learning rate below this share of that of the optimizer is still warming
// up, with a scheduler that acts in less than every fifth update and needs at
// least so many steps to reach it.
constexpr double kWarmedUp = 0.3, kRareSteps = 5, kLongWarmUp = 30;
// Of its highest value: a learning rate that is as good as 0, the losses with
// it, and their share of all losses. A schedule may end with 0.
constexpr double kExhausted = 1e-5, kLeastExhausted = 0.25;
constexpr std::size_t kExhaustedLosses = 100;
// Of its highest value: a learning rate that has decayed, give or take
// rounding, and one that has returned.
constexpr double kDecayed = 0.01, kRounding = 1.001, kReturned = 0.02;
// A loss above this share of the first has not learned enough.
constexpr double kHalf = 0.5;

// The learning rate that a scheduler changes by a factor, if it is known.
std::optional<double> full_rate(const RunFacts& facts,
                                const SchedulerFacts& scheduler) {
  if (!scheduler.optimizer || scheduler.steps == 0 ||
      *scheduler.optimizer >= facts.optimizers.size()) {
    return std::nullopt;
  }
  const auto& groups = facts.optimizers[*scheduler.optimizer].groups;
  if (groups.size() != 1) return std::nullopt;
  return setting(groups.front().settings, "initial_learning_rate");
}

// The last update; without one, what the learning rate shows.
FollowedUpdate update_at(const UpdateHistory& history,
                         const LearningRates::Rate& rate) {
  if (history.last_update()) return *history.last_update();
  FollowedUpdate update;
  update.step = history.step();
  update.optimizer = rate.optimizer;
  update.rate = rate.now;
  return update;
}

}  // namespace

RateVerdict judge_empty_clippings(const UpdateHistory& history) {
  if (!history.facts() ||
      history.facts()->loop.empty_clippings < kEmptyClippings) {
    return {};
  }
  const std::uint64_t clippings = history.facts()->loop.empty_clippings;
  Finding finding;
  finding.message = fmt::format(
      "each of {} clippings of gradients came before the backward pass, when "
      "no parameter had a gradient, up to {}",
      clippings, step_text(history.step()));
  add_rate_evidence(finding, RateFault::empty_clipping, history,
                    history.step());
  set_rate_numbers(finding, "clippings without gradients",
                   static_cast<double>(clippings),
                   ">=", static_cast<double>(kEmptyClippings));
  return {true, finding};
}

std::optional<Finding> find_decayed(const UpdateHistory& history,
                                    const RateThresholds& thresholds) {
  const auto losses = history.losses();
  const auto rate = history.rate();
  if (!rate || rate->now > kRounding * kDecayed * rate->highest ||
      rate->now <= 0) {
    return std::nullopt;
  }
  // Since when? The last half of a training may use a rate that is low.
  const auto low = std::ranges::find_if(losses, [&](const ScalarSample& loss) {
    const auto at = history.rates().at(loss.step.global);
    return at && at->now <= kRounding * kDecayed * rate->highest;
  });
  const auto before = static_cast<std::size_t>(low - losses.begin());
  const std::size_t num_updates = thresholds.num_updates;
  if (before == 0 || 2 * before > losses.size() || before > num_updates ||
      losses.size() - before < num_updates / 2) {
    return std::nullopt;
  }
  const bool has_returned =
      std::any_of(low, losses.end(), [&](const ScalarSample& loss) {
        const auto at = history.rates().at(loss.step.global);
        return at && at->now > kReturned * rate->highest;
      });
  const double now = course_of(losses).now;
  const double first = losses.front().value;
  if (has_returned || now < kHalf * first) return std::nullopt;
  const FollowedUpdate update = update_at(history, *rate);
  Finding finding = describe_rate(RateFault::decayed, history, update);
  finding.message = fmt::format(
      "{}: the learning rate of {} fell from {:.4g} to {:.4g} in the first {} "
      "steps; the loss was {:.4g} then, is {:.4g} after {} steps, and began at "
      "{:.4g}",
      loss_text(history), update.optimizer, rate->highest,
      kDecayed * rate->highest, before, low->value, now, losses.size(), first);
  finding.evidence.front().step = low->step;
  set_rate_numbers(finding, "learning rate / highest learning rate",
                   rate->now / rate->highest, "<=", kDecayed);
  return finding;
}

std::optional<Finding> find_exhausted(const UpdateHistory& history) {
  const auto losses = history.losses();
  const auto rate = history.rate();
  if (!rate || rate->now > kExhausted * rate->highest) return std::nullopt;
  const auto is_exhausted = [&](const ScalarSample& loss) {
    const auto at = history.rates().at(loss.step.global);
    return at && at->now <= kExhausted * rate->highest;
  };
  const auto since = std::ranges::find_if(losses, is_exhausted);
  const auto count = static_cast<std::size_t>(losses.end() - since);
  if (since == losses.begin() || count < kExhaustedLosses ||
      static_cast<double>(count) <
          kLeastExhausted * static_cast<double>(losses.size()) ||
      !std::all_of(since, losses.end(), is_exhausted)) {
    return std::nullopt;
  }
  const FollowedUpdate update = update_at(history, *rate);
  Finding finding = describe_rate(RateFault::exhausted, history, update);
  finding.message = fmt::format(
      "{}: the learning rate of {} has fallen from {:.4g} to {:.4g}, and the "
      "last {} of {} losses had less than a hundred-thousandth of it: the loss "
      "is {:.4g}",
      loss_text(history), update.optimizer, rate->highest, rate->now, count,
      losses.size(), course_of(losses).now);
  finding.evidence.front().step = since->step;
  finding.step = since->step;
  set_rate_numbers(finding, "learning rate / highest learning rate",
                   rate->now / rate->highest, "<=", kExhausted);
  return finding;
}

// A warm-up may have so many updates, but hardly so many epochs.
std::optional<Finding> find_rare_warm_up(const UpdateHistory& history) {
  const auto rate = history.rate();
  if (!history.last_update() || !history.facts() || !rate || rate->now <= 0 ||
      !is_rate_rising(history)) {
    return std::nullopt;
  }
  for (const SchedulerFacts& scheduler : history.facts()->loop.schedulers) {
    const auto full = full_rate(*history.facts(), scheduler);
    const auto steps = static_cast<double>(scheduler.steps);
    if (!full || rate->now > kWarmedUp * *full ||
        static_cast<double>(scheduler.updates) < kRareSteps * steps ||
        steps * *full / rate->now < kLongWarmUp) {
      continue;
    }
    Finding finding =
        describe_rate(RateFault::rare_warm_up, history, *history.last_update());
    finding.message += fmt::format(
        " after {}, {:.2g} % of the {:.4g} to which its warm-up leads: {} has "
        "stepped once per {:.0f} updates",
        count_text(history.updates(), "update"), 100 * rate->now / *full, *full,
        scheduler.kind, static_cast<double>(scheduler.updates) / steps);
    set_rate_numbers(finding, "learning rate / that after the warm-up",
                     rate->now / *full, "<=", kWarmedUp);
    return finding;
  }
  return std::nullopt;
}

}  // namespace smdebug
