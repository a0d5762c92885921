#include "rules/measures/loss_of_guess.h"

#include <cmath>

namespace smdebug {

namespace {

// The only loss, if it is known what it was given; else null.
const LossFacts* only_loss(const RunFacts& facts) {
  if (facts.losses.size() != 1) return nullptr;
  const LossFacts& loss = facts.losses.front();
  return loss.input ? &loss : nullptr;
}

// By what a loss multiplies the mean; 0 if it is none.
double factor_of_mean(const LossFacts& loss) {
  if (loss.reduction.empty() || loss.reduction == "mean") return 1;
  return loss.reduction == "half_mean" ? 0.5 : 0;
}

// The factor and the targets of a mean squared error.
struct SquaredError {
  double factor = 0;
  double mean = 0, deviation = 0;  // of the targets
};

std::optional<SquaredError> squared_error(const RunFacts& facts) {
  const LossFacts* loss = only_loss(facts);
  const double factor = loss ? factor_of_mean(*loss) : 0;
  if (factor == 0 || loss->input->function != "mse_loss") return std::nullopt;
  const auto& targets = loss->input->targets;
  if (!targets || !targets->mean || !targets->deviation) return std::nullopt;
  return SquaredError{factor, *targets->mean, *targets->deviation};
}

}  // namespace

std::optional<Guess> guess_of(const RunFacts& facts) {
  const LossFacts* loss = only_loss(facts);
  if (!loss || factor_of_mean(*loss) != 1) return std::nullopt;
  const LossInputFacts* input = &*loss->input;
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

std::optional<double> loss_of_constant(const RunFacts& facts) {
  const auto error = squared_error(facts);
  if (!error) return std::nullopt;
  return error->factor * error->deviation * error->deviation;
}

std::optional<double> loss_of_equal_outputs(const RunFacts& facts) {
  const bool is_only = facts.losses.size() == 1;
  const bool is_mean = is_only && facts.losses.front().reduction == "mean";
  return is_mean ? facts.losses.front().margin : std::nullopt;
}

std::optional<double> loss_of_zeros(const RunFacts& facts) {
  if (const auto guess = guess_of(facts)) return guess->loss;
  const auto error = squared_error(facts);
  if (!error) return std::nullopt;
  return error->factor *
         (error->mean * error->mean + error->deviation * error->deviation);
}

}  // namespace smdebug
