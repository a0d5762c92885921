#pragma once

// wine.csv: 178 wines from three cultivars, 13 measurements of each (UCI
// Machine Learning Repository, as scikit-learn ships it).

#include <string>
#include <vector>

struct WineTable {
  static constexpr int kFeatures = 13;
  static constexpr int kClasses = 3;

  std::vector<float> features;  // row after row, each column standardized
  std::vector<int> cultivars;   // 0, 1 or 2
  int rows() const { return static_cast<int>(cultivars.size()); }
};

// Returns an empty table if the file is missing or has another format.
WineTable read_wine_table(const std::string& path);
