#pragma once

// The faults of learning rates, and of what else makes updates too small or too
// large. For LearningRate.
//
// Each search judges the last step that a history has taken:
// rate_size_faults.cc by the sizes of the updates, rate_schedule_faults.cc by
// how the learning rate has changed.

#include <cstddef>
#include <optional>

#include "smdebug/rules/rule.h"
#include "smdebug/rules/verdict.h"

#include "rules/measures/update_history.h"

namespace smdebug {

enum class RateFault {
  too_low,
  too_high,
  decayed,
  warm_up,
  weight_decay,
  clipped,
  summed,
  empty_clipping,
  exhausted,
  rare_warm_up,
  accumulated,
  rounded,
};

// The causes and what to try, in the order of `RateFault`.
extern const Advice kRateAdvice[12];

// The parameters of the rule.
struct RateThresholds {
  std::size_t num_updates = 0;
  double small_ratio = 0;
  double large_ratio = 0;
};

// The answer of a search.
struct RateVerdict {
  bool is_judged = false;  // there was enough to find the fault
  std::optional<Finding> finding;
};

// By the sizes of the updates.
RateVerdict judge_high_rate(const UpdateHistory& history,
                            const RateThresholds& thresholds);
std::optional<Finding> find_low_rate(const UpdateHistory& history,
                                     const RateThresholds& thresholds);
std::optional<Finding> find_rounded(const UpdateHistory& history);
std::optional<Finding> find_clipped(const UpdateHistory& history,
                                    const RateThresholds& thresholds);
std::optional<Finding> find_warm_up(const UpdateHistory& history,
                                    const RateThresholds& thresholds);
RateVerdict judge_weight_decay(const UpdateHistory& history);
RateVerdict judge_sum(const UpdateHistory& history);

// By the learning rates and the facts of the loop.
RateVerdict judge_empty_clippings(const UpdateHistory& history);
std::optional<Finding> find_decayed(const UpdateHistory& history,
                                    const RateThresholds& thresholds);
std::optional<Finding> find_exhausted(const UpdateHistory& history);
std::optional<Finding> find_rare_warm_up(const UpdateHistory& history);

}  // namespace smdebug
