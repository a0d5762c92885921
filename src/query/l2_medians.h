#pragma once

// The median of the L2 norms of each tensor of a run, for the column
// `l2_over_median` of a query. Modes and workers have medians of their own.

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "read/statistics_scan.h"

namespace smdebug {

class L2Medians {
 public:
  // Adds the rows of a part that count.
  void add(const StatisticsPart& part);
  // Computes the medians: call it once, after the last part.
  void finish();

  // The median of each tensor and mode of a part that was added, by their codes
  // in its columns. None: no row has them.
  using OfPart = std::vector<std::vector<std::optional<double>>>;
  OfPart of(const StatisticsPart& part) const;

 private:
  struct Norms {
    std::vector<double> all;
    std::optional<double> median;
  };
  // By worker, mode and tensor.
  std::map<std::tuple<std::string, std::string, std::string>, Norms> norms_;
};

}  // namespace smdebug
