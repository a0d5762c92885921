#pragma once

// Why a tensor was, or was not, saved at a step: the collections that it
// belongs to, what each of them asks for, and which of that came true. Written
// from what a run says of itself, so it also explains runs of others.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "smdebug/base/result.h"
#include "smdebug/core/mode.h"
#include "smdebug/read/trial.h"

namespace smdebug {

struct ExplanationQuery {
  std::string tensor;
  std::optional<Step> step;  // a step of `mode`; none: of all steps
  Mode mode = Mode::global;
};

struct Explanation {
  // A collection that the tensor belongs to.
  struct Membership {
    std::string collection;
    std::string reason;            // "pattern 'relu'", "its name is listed"
    std::optional<bool> is_saved;  // none: the run does not say
    std::string schedule;          // "every 10 steps from 100 on"
    std::string treatment;         // "values", "mean, abs_max"
    // Only where a step was asked for whose mode is known.
    std::optional<bool> is_due;
    std::optional<Step> due_before, due_after;  // steps of its mode
  };

  std::string run;
  std::string tensor;
  std::optional<StepId> step;  // -1 where the run does not tell
  std::optional<bool> was_saved;
  std::string answer;  // one sentence
  std::vector<Membership> memberships;
  // Of this tensor in the mode that was asked for.
  std::uint64_t saved_steps = 0;
  std::optional<Step> first_saved, last_saved;
  std::vector<std::string> nearest_names;  // of one that the run has not
};

/// Fails with `invalid_argument` for a negative step, and with `io`. A tensor
/// that the run does not know is explained too.
Result<Explanation> explain_tensor(Trial& trial, const ExplanationQuery& query);

std::string explanation_text(const Explanation& explanation);
std::string explanation_json(const Explanation& explanation);

}  // namespace smdebug
