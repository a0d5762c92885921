#pragma once

// A network with one hidden layer and its training, in plain C++, as in your
// own engine. It does not use smdebug.

#include <cstdint>
#include <vector>

#include "wine_table.h"

// A matrix, row after row.
struct Matrix {
  std::int64_t shape[2];
  std::vector<float> values;

  Matrix(std::int64_t rows, std::int64_t columns)
      : shape{rows, columns}, values(rows * columns) {}
  float& at(std::int64_t row, std::int64_t column) {
    return values[row * shape[1] + column];
  }
};

class Classifier {
 public:
  static constexpr int kHidden = 16;

  explicit Classifier(unsigned seed);

  // Runs all wines through the network and returns the mean cross entropy.
  float forward(const WineTable& wines);
  // Fills the gradients for the wines of the last `forward`.
  void backward(const WineTable& wines);
  void update(float learning_rate);

  Matrix hidden_weight{WineTable::kFeatures, kHidden};
  Matrix output_weight{kHidden, WineTable::kClasses};
  Matrix hidden_gradient{WineTable::kFeatures, kHidden};
  Matrix output_gradient{kHidden, WineTable::kClasses};
  Matrix activations{0, kHidden};                // a row per wine
  Matrix probabilities{0, WineTable::kClasses};  // a row per wine
};
