#include "wine_table.h"

#include <cmath>
#include <fstream>
#include <sstream>

namespace {

void standardize_column(WineTable& table, int column) {
  const int stride = WineTable::kFeatures;
  double sum = 0, squares = 0;
  for (int row = 0; row < table.rows(); ++row)
    sum += table.features[row * stride + column];
  const double mean = sum / table.rows();
  for (int row = 0; row < table.rows(); ++row)
    squares += std::pow(table.features[row * stride + column] - mean, 2);
  const double deviation = std::sqrt(squares / table.rows());
  for (int row = 0; row < table.rows(); ++row) {
    float& value = table.features[row * stride + column];
    value = static_cast<float>((value - mean) / deviation);
  }
}

}  // namespace

WineTable read_wine_table(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);  // the names of the columns
  WineTable table;
  while (std::getline(file, line)) {
    std::istringstream cells(line);
    std::string cell;
    for (int i = 0; i < WineTable::kFeatures; ++i) {
      if (!std::getline(cells, cell, ',')) return {};
      table.features.push_back(std::stof(cell));
    }
    if (!std::getline(cells, cell)) return {};
    table.cultivars.push_back(std::stoi(cell));
  }
  for (int i = 0; i < WineTable::kFeatures; ++i) standardize_column(table, i);
  return table;
}
