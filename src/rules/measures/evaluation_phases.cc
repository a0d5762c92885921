#include "rules/measures/evaluation_phases.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "rules/engine/finding.h"
#include "rules/measures/training_losses.h"

namespace smdebug {
namespace {

// Of the losses between two evaluations: the model that is evaluated has those
// at the end.
constexpr std::size_t kMostKept = 4096;
// A narrow number has this precision at best.
constexpr double kEqual = 1e-6;
// The series that `smdebug run` makes of the numbers from which the backward
// passes of a step start.
constexpr std::string_view kOfBackward = "loss_output_";

// The series of a loss module has the name of its output, which need not have
// the word in it: "criterion_output_0".
bool is_loss(std::string_view series) {
  return names_loss(series) || series.find("_output_") != series.npos;
}

// The module that would have the same series.
constexpr std::string_view kModuleLoss = "loss";

template <typename Map>
auto& value_of(Map& map, std::string_view key) {
  const auto known = map.find(key);
  return known != map.end() ? known->second : map[std::string(key)];
}

}  // namespace

void EvaluationPhases::Phase::add(const StepId& step, double value) {
  if (mean.count == 0) first = step.global;
  mean.add(value);
}

void EvaluationPhases::add(std::string_view worker, const RunFacts& facts) {
  value_of(workers_, worker).has_module_loss =
      std::ranges::find(facts.modules, kModuleLoss, &ModuleFacts::path) !=
      facts.modules.end();
}

// --- saved losses ---

EvaluationPhases::Ended EvaluationPhases::begin_step(const StepId& step) {
  return step.mode == Mode::train ? close_saved() : Ended();
}

bool EvaluationPhases::add(const Observation& tensor, const StepId& step,
                           double loss, const LossRole& role) {
  if (role.part == LossRole::Part::training) {
    has_training_ = true;
    value_of(training_, role.pair).add(loss);
    if (step.mode == Mode::train) {
      Worker& worker = value_of(workers_, tensor.worker);
      keep(value_of(worker.saved, role.pair), {step.global, loss});
    }
    return false;
  }
  has_validation_ = true;
  if (step.mode == Mode::eval) {
    value_of(workers_, tensor.worker)
        .first_saved.try_emplace(std::string(tensor.name), step.global);
  }
  Phase& phase = value_of(saved_, tensor.name);
  phase.pair = role.pair;
  phase.last = evidence_of(tensor, step);
  phase.add(step, loss);
  const auto training = training_.find(role.pair);
  return training != training_.end() && training->second.mean > 0;
}

EvaluationPhases::Ended EvaluationPhases::end_step(const StepId& step) {
  return step.mode == Mode::global ? close_saved() : Ended();
}

EvaluationPhases::Ended EvaluationPhases::close_saved() {
  Ended ended;
  bool has_closed = false;
  for (auto& [name, phase] : saved_) {
    if (phase.mean.count == 0) continue;
    has_closed = true;
    const Phase closed = std::exchange(phase, {});
    const std::string& worker = closed.last.worker;
    if (has_series(worker, name)) continue;
    const auto training = training_.find(closed.pair);
    Ended& target =
        expects_series(worker, name) ? workers_.at(worker).waiting : ended;
    target.push_back(
        {name, closed.pair, closed.last, closed.mean,
         training == training_.end() ? RunningMean() : training->second});
  }
  if (has_closed) training_.clear();
  return ended;
}

// --- series ---

struct EvaluationPhases::Noted {
  std::string_view series;
  ScalarSample sample;
};

EvaluationPhases::Ended EvaluationPhases::add(
    std::string_view name, std::span<const ScalarSeriesView> series) {
  std::vector<Noted> noted;
  for (const ScalarSeriesView& one : series) {
    if (!is_loss(one.name)) continue;
    for (const ScalarSample& sample : one.samples) {
      if (sample.step.mode == Mode::train || sample.step.mode == Mode::eval) {
        noted.push_back({one.name, sample});
      }
    }
  }
  const auto step_of = [](const Noted& one) { return one.sample.step.global; };
  std::ranges::stable_sort(noted, {}, step_of);
  Ended ended;
  Worker& worker = value_of(workers_, name);
  for (auto begin = noted.begin(); begin != noted.end();) {
    const auto end = std::find_if(begin, noted.end(), [&](const Noted& one) {
      return step_of(one) != step_of(*begin);
    });
    const bool is_training = std::any_of(begin, end, [&](const Noted& one) {
      return one.sample.step.mode == Mode::train ||
             (!worker.has_module_loss && one.series.starts_with(kOfBackward));
    });
    if (is_training) {
      for (Evaluation& one : close_series(worker)) {
        ended.push_back(std::move(one));
      }
    }
    note(worker, name, {begin, end}, is_training);
    begin = end;
  }
  release(worker, false, ended);
  has_validation_ |= !worker.validations.empty();
  has_training_ |= !worker.training.empty();
  return ended;
}

void EvaluationPhases::note(Worker& worker, std::string_view name,
                            std::span<const Noted> step, bool trains) {
  for (const auto& [series, sample] : step) {
    if (trains && series.starts_with(kOfBackward)) {
      worker.newest_backward =
          std::max(worker.newest_backward, sample.step.global);
    }
    if (trains) {
      const bool is_evaluation =
          sample.step.mode == Mode::eval && !series.starts_with(kOfBackward);
      if (!is_evaluation && std::isfinite(sample.value)) {
        keep(value_of(worker.training, series),
             {sample.step.global, sample.value});
      }
      continue;
    }
    Phase& phase = value_of(worker.validations, series);
    if (!std::isfinite(sample.value)) continue;
    phase.pair = series;
    phase.last = {};
    phase.last.tensor = series;
    phase.last.worker = name;
    phase.last.step = sample.step;
    phase.add(sample.step, sample.value);
  }
}

EvaluationPhases::Ended EvaluationPhases::close_series(Worker& worker) {
  Ended ended;
  for (auto& [series, phase] : worker.validations) {
    if (phase.mean.count == 0) continue;
    const Phase closed = std::exchange(phase, {});
    ended.push_back({closed.last.worker + "/" + series, closed.pair,
                     closed.last, closed.mean, training_of(worker, closed),
                     true});
    worker.last_end = std::max(worker.last_end, closed.last.step.global);
  }
  if (ended.empty()) return ended;
  worker.training.clear();
  for (auto& [pair, losses] : worker.saved) {
    std::erase_if(
        losses, [&](const Loss& loss) { return loss.step <= worker.last_end; });
  }
  return ended;
}

RunningMean EvaluationPhases::training_of(Worker& worker, const Phase& phase) {
  const Losses* losses = nullptr;
  for (const auto& [series, of_series] : worker.training) {
    if (!losses && are_same(worker, phase.pair, series)) losses = &of_series;
  }
  const auto saved = worker.saved.find(phase.pair);
  if (!losses && saved != worker.saved.end()) losses = &saved->second;
  RunningMean mean;
  if (!losses) return mean;
  for (const auto& [step, value] : *losses) {
    if (step < phase.first) mean.add(value);
  }
  return mean;
}

bool EvaluationPhases::are_same(Worker& worker, const std::string& pair,
                                const std::string& series) {
  if (pair == series) return true;
  const std::string both = pair + " " + series;
  const auto known = worker.are_same.find(both);
  bool is_same = known != worker.are_same.end() && known->second;
  if (known != worker.are_same.end() && !is_same) return false;
  const Losses& all = worker.training.at(series);
  for (const auto& [step, value] : worker.saved[pair]) {
    const auto at = std::ranges::lower_bound(all, step, {}, &Loss::step);
    if (at == all.end() || at->step != step) continue;
    is_same = std::abs(at->value - value) <= kEqual * std::abs(value);
    worker.are_same[both] = is_same;
    if (!is_same) return false;
  }
  return is_same;
}

void EvaluationPhases::keep(Losses& losses, Loss loss) {
  if (!losses.empty() && losses.back().step >= loss.step) return;
  losses.push_back(loss);
  if (losses.size() > kMostKept) losses.pop_front();
}

// --- both ---

EvaluationPhases::Ended EvaluationPhases::finish() {
  Ended ended = close_saved();
  for (auto& [name, worker] : workers_) {
    for (Evaluation& one : close_series(worker)) {
      ended.push_back(std::move(one));
    }
    release(worker, true, ended);
  }
  return ended;
}

// Ends the evaluations of saved losses that have waited, if no series has them.
void EvaluationPhases::release(Worker& worker, bool is_final,
                               Ended& ended) const {
  for (Evaluation& one : std::exchange(worker.waiting, {})) {
    const Evidence& last = one.last;
    if (has_series(last.worker, last.tensor)) continue;
    const bool waits = !is_final && expects_series(last.worker, last.tensor);
    (waits ? worker.waiting : ended).push_back(std::move(one));
  }
}

bool EvaluationPhases::has_series(std::string_view worker,
                                  std::string_view name) const {
  const auto known = workers_.find(worker);
  return known != workers_.end() && known->second.validations.contains(name);
}

bool EvaluationPhases::expects_series(std::string_view worker,
                                      std::string_view name) const {
  if (has_series(worker, name)) return true;
  const auto known = workers_.find(worker);
  if (known == workers_.end() || known->second.newest_backward < 0) {
    return false;
  }
  const auto first = known->second.first_saved.find(name);
  return first == known->second.first_saved.end() ||
         known->second.newest_backward < first->second;
}

}  // namespace smdebug
