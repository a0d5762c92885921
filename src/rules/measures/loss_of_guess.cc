#include "rules/measures/loss_of_guess.h"

#include <cmath>

namespace smdebug {

namespace {

// The input of the only loss, if that is a mean times `factor`; else null.
const LossInputFacts* input_of_mean(const RunFacts& facts, double factor = 1) {
  if (facts.losses.size() != 1) return nullptr;
  const LossFacts& loss = facts.losses.front();
  const bool is_mean = factor == 1
                           ? loss.reduction.empty() || loss.reduction == "mean"
                           : factor == 0.5 && loss.reduction == "half_mean";
  return loss.input && is_mean ? &*loss.input : nullptr;
}

// The mean square of the targets of a regression.
std::optional<double> mean_square(const LossInputFacts& input) {
  if (input.function != "mse_loss" || !input.targets || !input.targets->mean ||
      !input.targets->deviation) {
    return std::nullopt;
  }
  const DataFacts& targets = *input.targets;
  return *targets.mean * *targets.mean +
         *targets.deviation * *targets.deviation;
}

}  // namespace

std::optional<Guess> guess_of(const RunFacts& facts) {
  const LossInputFacts* input = input_of_mean(facts);
  if (!input) return std::nullopt;
  const auto& shape = input->shape;
  std::int64_t classes = 0;
  if (input->function == "binary_cross_entropy" ||
      input->function == "binary_cross_entropy_with_logits") {
    classes = 2;
  } else if ((input->function == "cross_entropy" ||
              input->function == "categorical_cross_entropy") &&
             !shape.empty()) {
    classes = shape.size() == 1 ? shape[0] : shape[1];
  }
  if (classes < 2) return std::nullopt;
  return Guess{classes, std::log(static_cast<double>(classes))};
}

std::optional<double> loss_of_zeros(const RunFacts& facts) {
  if (const auto guess = guess_of(facts)) return guess->loss;
  for (const double factor : {1.0, 0.5}) {
    const LossInputFacts* input = input_of_mean(facts, factor);
    if (const auto square = input ? mean_square(*input) : std::nullopt)
      return factor * *square;
  }
  return std::nullopt;
}

}  // namespace smdebug
