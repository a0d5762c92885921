#include "read/completeness.h"

#include <algorithm>
#include <iterator>

#include "format/file_names.h"

namespace smdebug {

void Completeness::update(const RunTable& table, int num_workers,
                          std::string_view last_worker) {
  num_workers_ = num_workers;
  const auto& steps = table.steps();
  for (auto step = steps.upper_bound(last_complete_); step != steps.end();
       ++step) {
    if (is_whole(step->second)) last_complete_ = step->first;
  }
  const auto set_token = [&](Step step) {
    token_ = index_file_key(step, last_worker);
    token_step_ = step;
  };
  if (last_complete_ >= token_step_) set_token(last_complete_);
  // The original's rule compares a count of steps with a step's number. That is
  // exact only if every step is saved.
  const auto known = static_cast<Step>(steps.size());
  if (known - (last_complete_ + 1) > window_) {
    last_complete_ += window_ / 2;
    set_token(last_complete_);
  }
  advance_listing(table);
}

void Completeness::end(const RunTable& table) {
  has_ended_ = true;
  if (!table.steps().empty()) {
    last_complete_ = std::max(last_complete_, table.steps().rbegin()->first);
  }
}

bool Completeness::is_whole(const IndexedStep& step) const {
  return static_cast<int>(step.workers) >= num_workers_;
}

StepState Completeness::state(const RunTable& table, Step step,
                              Mode mode) const {
  const IndexedStep* next = nullptr;
  Step next_number = 0;
  if (mode == Mode::global) {
    const auto found = table.steps().lower_bound(step);
    if (found != table.steps().end()) {
      next = &found->second;
      next_number = found->first;
    }
  } else {
    const auto found = table.steps_of(mode).lower_bound(step);
    if (found != table.steps_of(mode).end()) {
      next = table.find_step(found->second);
      next_number = found->first;
    }
  }
  if (next == nullptr) {
    return has_ended_ ? StepState::unavailable : StepState::not_yet_available;
  }
  const bool is_passed = is_over(next->id.global);
  if (next_number == step) {
    return is_passed || is_whole(*next) ? StepState::available
                                        : StepState::not_yet_available;
  }
  return is_passed ? StepState::unavailable : StepState::not_yet_available;
}

std::string Completeness::listing_start() const {
  std::string key = index_file_key(listed_step_ + 1, "");
  key.resize(key.rfind('_') + 1);  // before every worker of that step
  return key;
}

void Completeness::advance_listing(const RunTable& table) {
  const auto& steps = table.steps();
  auto step = steps.upper_bound(listed_step_);
  auto newer = static_cast<Step>(std::distance(step, steps.end()));
  for (; step != steps.end(); ++step, --newer) {
    if (!is_whole(step->second) && newer <= window_) return;
    listed_step_ = step->first;
  }
}

}  // namespace smdebug
