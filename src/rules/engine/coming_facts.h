#pragma once

// The facts of a worker that a rule has not used yet.
//
// Facts describe an update, which comes after the tensors of its step were
// saved. During training they arrive when that step ends; of a run, before it.
// A rule that takes only those of the steps before the one that it judges gives
// the same verdict in both cases.

#include <deque>
#include <optional>

#include "smdebug/core/run_facts.h"

namespace smdebug {

class ComingFacts {
 public:
  void add(const RunFacts& facts) { facts_.push_back(facts); }

  // Removes and returns the next facts of a step before `step`, if there are
  // any.
  std::optional<RunFacts> take_before(Step step) {
    if (facts_.empty() || facts_.front().step >= step) return std::nullopt;
    std::optional<RunFacts> next = std::move(facts_.front());
    facts_.pop_front();
    return next;
  }

 private:
  std::deque<RunFacts> facts_;
};

}  // namespace smdebug
