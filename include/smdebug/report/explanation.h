#pragma once

// Explains why a tensor was or was not saved at a step: its collections, their
// settings, and which of them applied. It uses only the run, so it also
// explains runs of the original library.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "smdebug/base/result.h"
#include "smdebug/core/mode.h"
#include "smdebug/read/trial.h"

namespace [[gnu::visibility("default")]] smdebug {

struct ExplanationQuery {
  std::string tensor;
  std::optional<Step> step;  // a step of `mode`; none: of all steps
  Mode mode = Mode::global;
};

struct Explanation {
  // A collection of the tensor.
  struct Membership {
    std::string collection;
    std::string reason;            // "pattern 'relu'", "listed name"
    std::optional<bool> is_saved;  // none: unknown
    std::string schedule;          // "every 10 steps from 100 on"
    std::string saved_as;          // "values", "mean, abs_max"
    // Only if a step was requested whose mode is known.
    std::optional<bool> is_due;
    std::optional<Step> due_before, due_after;  // steps of its mode
  };

  std::string run;
  std::string tensor;
  std::optional<StepId> step;  // -1 if unknown
  std::optional<bool> was_saved;
  std::string answer;  // one sentence
  std::vector<Membership> memberships;
  // Steps of this tensor in the requested mode.
  std::uint64_t saved_steps = 0;
  std::optional<Step> first_saved, last_saved;
  std::vector<std::string> nearest_names;  // if the run does not have it
};

/// Fails with `invalid_argument` for a negative step, and with `io`. Also
/// explains tensors that the run does not have.
Result<Explanation> explain_tensor(Trial& trial, const ExplanationQuery& query);

std::string explanation_text(const Explanation& explanation);
std::string explanation_json(const Explanation& explanation);

}  // namespace smdebug
