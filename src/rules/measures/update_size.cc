#include "rules/measures/update_size.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace smdebug {
namespace {

// They divide the gradient by its own size, so that they change each element
// by about the learning rate.
constexpr std::array<std::string_view, 15> kNormalizing = {
    "Adam",     "AdamW",     "NAdam",          "Nadam",   "Adamax",
    "RAdam",    "Adagrad",   "RMSprop",        "Lion",    "FusedAdam",
    "Adam8bit", "AdamW8bit", "PagedAdamW8bit", "CPUAdam", "DeepSpeedCPUAdam"};

// Those of them that take the decay off the weights themselves.
constexpr std::array<std::string_view, 4> kDecoupled = {
    "AdamW", "Lion", "AdamW8bit", "PagedAdamW8bit"};

// Twice the share of a weight that usual settings take off in each update.
constexpr double kExcessiveShare = 2e-3;
// Of the decay that Adam adds to a gradient; up to 0.01 is usual.
constexpr double kExcessiveTerm = 0.05, kOutweighs = 3;

bool is_normalizing(std::string_view optimizer) {
  return std::ranges::find(kNormalizing, optimizer) != kNormalizing.end();
}

// 1 + m + m^2 + ...
double momentum_factor(const UpdateSettings& settings) {
  return 1 / (1 - std::clamp(settings.momentum, 0.0, 0.999));
}

}  // namespace

std::optional<UpdateSize> update_size(const UpdateSettings& settings,
                                      const TensorStatistics& gradient) {
  if (gradient.count == 0 || gradient.has_non_finite()) return std::nullopt;
  const auto count = static_cast<double>(gradient.count);
  const double step = settings.rate * momentum_factor(settings);
  if (settings.optimizer == "SGD") {
    const double moved = step * settings.kept;
    return UpdateSize{moved * std::sqrt(gradient.sum_squares / count),
                      moved * gradient.sum_squares};
  }
  if (!is_normalizing(settings.optimizer)) return std::nullopt;
  const double moved = 1 - static_cast<double>(gradient.zeros) / count;
  return UpdateSize{step * std::sqrt(moved), step * gradient.sum_abs};
}

bool is_decay_excessive(const UpdateSettings& settings, double weight_decay,
                        double parameter_size,
                        const TensorStatistics& gradient) {
  const bool is_term =
      is_normalizing(settings.optimizer) &&
      std::ranges::find(kDecoupled, settings.optimizer) == kDecoupled.end();
  if (!is_term) {
    return weight_decay * settings.rate * momentum_factor(settings) >=
           kExcessiveShare;
  }
  if (weight_decay < kExcessiveTerm || gradient.count == 0 ||
      gradient.has_non_finite()) {
    return false;
  }
  const double size =
      std::sqrt(gradient.sum_squares / static_cast<double>(gradient.count));
  return weight_decay * parameter_size > kOutweighs * size;
}

std::optional<double> usual_rate(const UpdateSettings& settings) {
  if (settings.optimizer == "SGD") return 0.1 / momentum_factor(settings);
  if (settings.optimizer == "Adagrad") return 0.01;
  if (is_normalizing(settings.optimizer)) return 0.001;
  return std::nullopt;
}

}  // namespace smdebug
