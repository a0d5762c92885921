#include "classifier.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace {

void fill_with_noise(Matrix& matrix, std::mt19937& random) {
  const auto inputs = static_cast<float>(matrix.shape[0]);
  std::normal_distribution<float> noise(0, 1 / std::sqrt(inputs));
  for (float& value : matrix.values) value = noise(random);
}

void softmax(float* row, int count) {
  const float largest = *std::max_element(row, row + count);
  float sum = 0;
  for (int i = 0; i < count; ++i) sum += row[i] = std::exp(row[i] - largest);
  for (int i = 0; i < count; ++i) row[i] /= sum;
}

}  // namespace

Classifier::Classifier(unsigned seed) {
  std::mt19937 random(seed);
  fill_with_noise(hidden_weight, random);
  fill_with_noise(output_weight, random);
}

float Classifier::forward(const WineTable& wines) {
  activations = Matrix(wines.rows(), kHidden);
  probabilities = Matrix(wines.rows(), WineTable::kClasses);
  float loss = 0;
  for (int row = 0; row < wines.rows(); ++row) {
    const float* x = &wines.features[row * WineTable::kFeatures];
    for (int h = 0; h < kHidden; ++h) {
      float sum = 0;
      for (int i = 0; i < WineTable::kFeatures; ++i)
        sum += x[i] * hidden_weight.at(i, h);
      activations.at(row, h) = std::tanh(sum);
    }
    for (int c = 0; c < WineTable::kClasses; ++c) {
      for (int h = 0; h < kHidden; ++h)
        probabilities.at(row, c) +=
            activations.at(row, h) * output_weight.at(h, c);
    }
    softmax(&probabilities.at(row, 0), WineTable::kClasses);
    loss -= std::log(probabilities.at(row, wines.cultivars[row]));
  }
  return loss / static_cast<float>(wines.rows());
}

void Classifier::backward(const WineTable& wines) {
  std::fill(hidden_gradient.values.begin(), hidden_gradient.values.end(), 0.f);
  std::fill(output_gradient.values.begin(), output_gradient.values.end(), 0.f);
  for (int row = 0; row < wines.rows(); ++row) {
    const float* x = &wines.features[row * WineTable::kFeatures];
    float error[WineTable::kClasses];  // the loss by the logits
    for (int c = 0; c < WineTable::kClasses; ++c) {
      const float target = wines.cultivars[row] == c ? 1.f : 0.f;
      error[c] = (probabilities.at(row, c) - target) /
                 static_cast<float>(wines.rows());
    }
    for (int h = 0; h < kHidden; ++h) {
      const float activation = activations.at(row, h);
      float back = 0;
      for (int c = 0; c < WineTable::kClasses; ++c) {
        output_gradient.at(h, c) += activation * error[c];
        back += output_weight.at(h, c) * error[c];
      }
      back *= 1 - activation * activation;
      for (int i = 0; i < WineTable::kFeatures; ++i)
        hidden_gradient.at(i, h) += x[i] * back;
    }
  }
}

void Classifier::update(float learning_rate) {
  const auto move = [&](Matrix& weight, const Matrix& gradient) {
    for (std::size_t i = 0; i < weight.values.size(); ++i)
      weight.values[i] -= learning_rate * gradient.values[i];
  };
  move(hidden_weight, hidden_gradient);
  move(output_weight, output_gradient);
}
