#include "rules/measures/learning_rates.h"

#include <algorithm>

#include "smdebug/core/tensor_names.h"

namespace smdebug {
namespace {

// Of a group. Some schedules change the rate at each step.
constexpr std::size_t kMostChanges = 4096;

}  // namespace

void LearningRates::add(const ScalarSeriesView& series) {
  if (!series.name.starts_with(name_parts::kLearningRate)) return;
  auto known = groups_.find(series.name);
  if (known == groups_.end()) {
    known = groups_.try_emplace(std::string(series.name)).first;
    std::string_view name = series.name;
    name.remove_prefix(name_parts::kLearningRate.size());
    known->second.optimizer = name.substr(0, name.rfind('/'));
  }
  Group& group = known->second;
  for (const ScalarSample& sample : series.samples) {
    if (!group.changes.empty() && group.changes.back().rate == sample.value) {
      continue;
    }
    if (group.changes.size() == kMostChanges) {
      group.is_full = true;
      return;
    }
    group.changes.push_back({sample.step.global, sample.value});
  }
}

std::optional<LearningRates::Rate> LearningRates::at(Step step) const {
  std::optional<Rate> highest;
  for (const auto& [name, group] : groups_) {
    const auto rate = group.at(step);
    if (rate && (!highest || rate->now > highest->now)) highest = rate;
  }
  return highest;
}

std::optional<double> LearningRates::of_group(std::string_view optimizer,
                                              std::size_t group,
                                              Step step) const {
  const auto known = groups_.find(learning_rate_name(optimizer, group));
  if (known == groups_.end()) return std::nullopt;
  const auto rate = known->second.at(step);
  return rate ? std::optional(rate->now) : std::nullopt;
}

std::optional<LearningRates::Rate> LearningRates::Group::at(Step step) const {
  const auto end = std::ranges::upper_bound(changes, step, {}, &Change::step);
  if (end == changes.begin()) return std::nullopt;
  if (is_full && end == changes.end()) return std::nullopt;
  Rate rate;
  rate.optimizer = optimizer;
  rate.now = std::prev(end)->rate;
  for (auto each = changes.begin(); each != end; ++each) {
    rate.highest = std::max(rate.highest, each->rate);
  }
  return rate;
}

}  // namespace smdebug
