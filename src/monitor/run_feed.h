#pragma once

// Feeds the steps of a run to a sink: all of them, or what is new while the run
// grows. Never waits.

#include <algorithm>
#include <limits>

#include "smdebug/read/trial.h"

namespace smdebug {

class RunFeed {
 public:
  // `trial` and `sink` outlive this. `run` numbers the run among those that
  // feed the same sink. Steps before `first` are not fed.
  RunFeed(Trial& trial, ObservationSink& sink, std::size_t run = 0,
          Step first = 0)
      : trial_(trial), sink_(sink), run_(run), next_(first) {}

  // Feeds every complete step before `end` that was not fed yet. Fails as
  // `Trial::refresh` and `Trial::feed`.
  Status advance(Step end = std::numeric_limits<Step>::max());

  // Steps before `first` are not fed from now on.
  void skip_to(Step first) { next_ = std::max(next_, first); }

 private:
  Trial& trial_;
  ObservationSink& sink_;
  std::size_t run_;
  Step next_;
};

}  // namespace smdebug
