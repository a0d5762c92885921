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
    return UpdateSize{step * std::sqrt(gradient.sum_squares / count),
                      step * gradient.sum_squares};
  }
  if (!is_normalizing(settings.optimizer)) return std::nullopt;
  const double moved = 1 - static_cast<double>(gradient.zeros) / count;
  return UpdateSize{step * std::sqrt(moved), step * gradient.sum_abs};
}

std::optional<double> usual_rate(const UpdateSettings& settings) {
  if (settings.optimizer == "SGD") return 0.1 / momentum_factor(settings);
  if (settings.optimizer == "Adagrad") return 0.01;
  if (is_normalizing(settings.optimizer)) return 0.001;
  return std::nullopt;
}

}  // namespace smdebug
