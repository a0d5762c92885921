#include "rules/builtin/loss_course.h"

#include <fmt/format.h>

#include "rules/measures/update_size.h"

namespace smdebug {
namespace {

using Kind = LossTrend::Kind;

// No model learns in the first few hundred steps with a learning rate that is
// lower, or after a schedule has lowered it to this share.
constexpr double kLowRate = 1e-5, kDecay = 1e-3;
// Learning rates between these multiples of that of the books are usual.
constexpr double kLeastUsual = 0.1, kMostUsual = 10;

bool has_decayed(const LearningRates::Rate& rate) {
  return rate.now <= kDecay * rate.highest;
}

// Whether the optimizer moves the weights by as much as usual.
bool is_usual(const LearningRates::Rate& rate) {
  const auto usual = usual_rate({rate.optimizer, 0, 0});
  return usual && rate.now >= kLeastUsual * *usual &&
         rate.highest <= kMostUsual * *usual;
}

}  // namespace

std::string course_text(const LossTrend::Answer& answer, Step steps) {
  const auto& [kind, before, now, least, most, needed, is_at_rest] = answer;
  switch (kind) {
    case Kind::constant:
      return fmt::format("the loss is {:.4g} at every one of {} steps", now,
                         steps);
    case Kind::still:
      return fmt::format(
          "the loss does not fall: {:.4g} in the first steps, {:.4g} after {} "
          "steps",
          before, now, steps);
    case Kind::guesses:
      return fmt::format(
          "the loss fell from {:.4g} to {:.4g} and falls no more: {:.4g} after "
          "{} steps",
          before, least, now, steps);
    case Kind::leapt:
      return fmt::format(
          "the loss leapt from {:.4g} to {:.4g} in the first steps; after {} "
          "steps it is {:.4g}, no lower than it began",
          before, most, steps, now);
    case Kind::rises:
      return fmt::format(
          "the loss rises: {:.4g} in the earlier steps, {:.4g} after {} steps",
          before, now, steps);
    case Kind::returned:
      return fmt::format(
          "the loss fell to {:.4g} and is {:.4g} after {} steps, as high again "
          "as in the first steps ({:.4g})",
          least, now, steps, before);
    case Kind::oscillates:
      return fmt::format(
          "the loss oscillates between about {:.4g} and {:.4g} and does not "
          "fall: {:.4g} in the first steps, {:.4g} after {} steps",
          least, most, before, now, steps);
    case Kind::plunges:
      return fmt::format(
          "the loss falls ever faster below zero: {:.4g} after {} steps, and "
          "the first losses were about {:.4g} from zero",
          now, steps, before);
    case Kind::crawls:
      return fmt::format(
          "the loss hardly falls: {:.4g} in the first steps, {:.4g} in the "
          "middle, {:.4g} after {} steps",
          before, least, now, steps);
    case Kind::unknown:
    case Kind::falls:
    case Kind::not_judged:
      break;
  }
  return {};
}

std::string rate_text(const std::optional<LearningRates::Rate>& rate) {
  if (!rate) return {};
  const std::string subject =
      fmt::format("; the learning rate of {}", rate->optimizer);
  return has_decayed(*rate) && rate->highest > 0
             ? fmt::format("{} has fallen from {:.4g} to {:.4g}", subject,
                           rate->highest, rate->now)
             : fmt::format("{} is {:.4g}", subject, rate->now);
}

LossFault fault_of(const LossTrend::Answer& answer,
                   const std::optional<LearningRates::Rate>& rate) {
  switch (answer.kind) {
    case Kind::constant:
      return answer.now == 0 ? LossFault::zero : LossFault::constant;
    case Kind::leapt:
      return LossFault::leapt;
    case Kind::returned:
      return LossFault::returned;
    case Kind::oscillates:
      return LossFault::oscillates;
    case Kind::plunges:
      return LossFault::plunges;
    case Kind::rises:
      return answer.now > kLossDivergence * answer.before ? LossFault::diverges
                                                          : LossFault::rises;
    default:
      if (!rate) return LossFault::still;
      if (rate->highest <= kLowRate) return LossFault::still_at_low_rate;
      if (has_decayed(*rate)) return LossFault::still_after_decay;
      return is_usual(*rate) ? LossFault::still_at_usual_rate
                             : LossFault::still;
  }
}

void set_numbers(const LossTrend::Answer& answer, Evidence& evidence) {
  evidence.quantity = "loss";
  evidence.value = answer.now;
  evidence.relation = ">=";
  evidence.threshold = answer.before;
  if (answer.kind == Kind::guesses) {
    evidence.threshold = answer.least;
  } else if (answer.kind == Kind::still) {
    evidence.quantity = "decrease of the loss in percent";
    evidence.value = 100 * (answer.before - answer.now) / answer.before;
    evidence.relation = "<";
    evidence.threshold = 5;
  } else if (answer.kind == Kind::returned) {
    evidence.threshold = answer.least;
  } else if (answer.kind == Kind::plunges) {
    evidence.relation = "<";
    evidence.threshold = -answer.before;
  } else if (answer.kind == Kind::crawls) {
    evidence.quantity = "fall in the second half / fall in the first half";
    evidence.value =
        (answer.least - answer.now) / (answer.before - answer.least);
    evidence.relation = ">";
    evidence.threshold = 0.8;
  }
}

}  // namespace smdebug
