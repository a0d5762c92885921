#pragma once

// `OptimizerTurns` finds out whether the optimizers of a worker act in turn, as
// those of a generator and its discriminator do: then the losses of successive
// steps may be those of different models, which need not fall.

#include <map>
#include <string>
#include <vector>

#include "smdebug/core/scalar_series.h"

namespace smdebug {

class OptimizerTurns {
 public:
  /// Adds the next samples of a series. Others than learning rates are ignored.
  void add(const ScalarSeriesView& series);

  /// Returns whether until a global step, included, one update in ten or more
  /// was by another optimizer than the update before. Optimizers that act in
  /// the same step do not take turns.
  bool alternate(Step step) const;

 private:
  std::map<std::string, std::vector<Step>, std::less<>> steps_;  // by series
};

}  // namespace smdebug
