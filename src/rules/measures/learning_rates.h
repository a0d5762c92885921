#pragma once

// `LearningRates` keeps the learning rates of a worker by step, from the series
// "learning_rate/<optimizer>/<group>".

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "smdebug/core/scalar_series.h"

namespace smdebug {

class LearningRates {
 public:
  // The learning rate of a group of an optimizer at a step.
  struct Rate {
    std::string_view optimizer;  // "SGD"; valid as long as the LearningRates
    double now = 0;
    double highest = 0;  // until this step
  };

  /// Adds the next samples of a series. Series of other names are ignored.
  void add(const ScalarSeriesView& series);

  /// Returns the learning rate that held at a global step; of several groups,
  /// the highest. None if it is unknown.
  std::optional<Rate> at(Step step) const;

  /// Returns the learning rate of one group of an optimizer. None if it is
  /// unknown.
  std::optional<double> of_group(std::string_view optimizer, std::size_t group,
                                 Step step) const;

 private:
  struct Change {
    Step step = 0;
    double rate = 0;
  };

  struct Group {
    std::string optimizer;
    std::vector<Change> changes;
    bool is_full = false;  // later changes are unknown

    std::optional<Rate> at(Step step) const;
  };

  std::map<std::string, Group, std::less<>> groups_;  // by series
};

}  // namespace smdebug
