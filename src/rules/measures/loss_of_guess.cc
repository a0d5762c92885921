#include "rules/measures/loss_of_guess.h"

#include <cmath>

namespace smdebug {

std::optional<Guess> guess_of(const RunFacts& facts) {
  if (facts.losses.size() != 1) return std::nullopt;
  const LossFacts& loss = facts.losses.front();
  if (!loss.input || (!loss.reduction.empty() && loss.reduction != "mean")) {
    return std::nullopt;
  }
  const auto& shape = loss.input->shape;
  std::int64_t classes = 0;
  if (loss.input->function == "binary_cross_entropy" ||
      loss.input->function == "binary_cross_entropy_with_logits") {
    classes = 2;
  } else if ((loss.input->function == "cross_entropy" ||
              loss.input->function == "categorical_cross_entropy") &&
             !shape.empty()) {
    classes = shape.size() == 1 ? shape[0] : shape[1];
  }
  if (classes < 2) return std::nullopt;
  return Guess{classes, std::log(static_cast<double>(classes))};
}

}  // namespace smdebug
