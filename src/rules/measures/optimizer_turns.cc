#include "rules/measures/optimizer_turns.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "smdebug/core/tensor_names.h"

namespace smdebug {
namespace {

// Of an optimizer: the beginning of a training shows it.
constexpr std::size_t kMostSteps = 4096;

constexpr std::size_t kUpdatesPerTurn = 10;

}  // namespace

void OptimizerTurns::add(const ScalarSeriesView& series) {
  // One group of an optimizer shows when it acts.
  if (!series.name.starts_with(name_parts::kLearningRate) ||
      !series.name.ends_with("/0")) {
    return;
  }
  auto& steps = steps_[std::string(series.name)];
  for (const ScalarSample& sample : series.samples) {
    if (steps.size() == kMostSteps) return;
    steps.push_back(sample.step.global);
  }
}

bool OptimizerTurns::alternate(Step step) const {
  if (steps_.size() < 2) return false;
  const std::string* const several = nullptr;
  std::map<Step, const std::string*> acted;  // which optimizer, or several
  for (const auto& [optimizer, steps] : steps_) {
    for (const Step each : steps) {
      if (each > step) break;
      const auto [known, is_new] = acted.try_emplace(each, &optimizer);
      if (!is_new) known->second = several;
    }
  }
  std::size_t turns = 0;
  const std::string* before = several;
  for (const auto& [each, optimizer] : acted) {
    turns += before != several && optimizer != several && optimizer != before;
    before = optimizer;
  }
  return turns > 0 && kUpdatesPerTurn * turns >= acted.size();
}

}  // namespace smdebug
