// Random runs against a model of plain maps, which is slow and obvious.

#include <map>
#include <random>
#include <set>

#include "read/trial_testing.h"

namespace smdebug {
namespace {

constexpr int kRounds = 60;
constexpr Step kSteps = 30;

// All that was written, and the answers by walking through it.
struct Model {
  struct Entry {
    StepId id;
    std::map<int, std::map<std::string, float>> workers;  // -> tensor -> value
  };
  std::map<Step, Entry> steps;
  int num_workers = 1;
  bool has_ended = false;

  Step last_complete() const {
    Step last = -1;
    for (const auto& [step, entry] : steps) {
      if (has_ended || static_cast<int>(entry.workers.size()) == num_workers) {
        last = step;
      }
    }
    return last;
  }

  // Steps of a mode, as number -> global step.
  std::map<Step, Step> numbers(Mode mode) const {
    std::map<Step, Step> out;
    for (const auto& [step, entry] : steps) {
      if (mode == Mode::global) out[step] = step;
      if (mode != Mode::global && mode == entry.id.mode) {
        out[entry.id.mode_step] = step;
      }
    }
    return out;
  }

  std::vector<Step> complete_steps(Mode mode) const {
    std::vector<Step> out;
    for (const auto& [number, step] : numbers(mode)) {
      if (step <= last_complete()) out.push_back(number);
    }
    return out;
  }

  StepState state(Step step, Mode mode) const {
    const auto all = numbers(mode);
    const auto next = all.lower_bound(step);
    if (next == all.end()) {
      return has_ended ? StepState::unavailable : StepState::not_yet_available;
    }
    const bool is_over = next->second <= last_complete();
    if (next->first == step) {
      return is_over ? StepState::available : StepState::not_yet_available;
    }
    return is_over ? StepState::unavailable : StepState::not_yet_available;
  }
};

class ModelTest : public TrialTest {
 protected:
  void write(std::mt19937& random, Model& model, Step step) {
    std::map<Mode, Step> next;
    for (const auto& [number, entry] : model.steps) ++next[entry.id.mode];
    const Mode mode = kModes[random() % kModes.size()];
    const StepId id{step, mode, mode == Mode::global ? step : next[mode]};
    Model::Entry& entry = model.steps[step];
    entry.id = id;
    for (int worker = 0; worker < model.num_workers; ++worker) {
      const bool is_last = worker + 1 == model.num_workers;
      if (random() % 4 == 0 && !(is_last && entry.workers.empty())) continue;
      WrittenStep written{id, "worker_" + std::to_string(worker), {}};
      for (const char* name : {"a", "b", "c"}) {
        if (random() % 3 == 0) continue;
        const auto value = static_cast<float>(random() % 1000);
        written.tensors.push_back({name, {value}, random() % 2 == 0});
        entry.workers[worker][name] = value;
      }
      if (written.tensors.empty()) {
        written.tensors.push_back({"a", {7}});
        entry.workers[worker]["a"] = 7;
      }
      run_.put_step(written);
    }
  }

  void compare(Trial& trial, const Model& model) {
    for (Mode mode : kModes) {
      EXPECT_EQ(trial.steps(mode), model.complete_steps(mode));
      for (Step step = -1; step <= kSteps; ++step) {
        EXPECT_EQ(trial.has_passed_step(step, mode), model.state(step, mode))
            << mode_name(mode) << " " << step;
      }
      for (const auto& [number, step] : model.numbers(mode)) {
        EXPECT_EQ(trial.global_step(mode, number), step);
      }
    }
    EXPECT_EQ(trial.last_complete_step(), model.last_complete());
    for (const auto& [step, entry] : model.steps) {
      EXPECT_EQ(trial.step_id(step), entry.id);
      for (const auto& [worker, tensors] : entry.workers) {
        for (const auto& [name, value] : tensors) {
          const std::string who = "worker_" + std::to_string(worker);
          const auto got = trial.tensor(name)->value({step, Mode::global, who});
          ASSERT_TRUE(got.ok()) << got.error().message;
          EXPECT_EQ(floats(*got), std::vector<float>{value});
        }
      }
    }
    for (const std::string& name : trial.tensor_names()) {
      std::vector<Step> steps;
      for (const auto& [step, entry] : model.steps) {
        const bool has_it = std::ranges::any_of(
            entry.workers,
            [&](const auto& worker) { return worker.second.contains(name); });
        if (has_it && step <= model.last_complete()) steps.push_back(step);
      }
      EXPECT_EQ(trial.tensor(name)->steps(), steps) << name;
    }
  }
};

TEST_F(ModelTest, TrialAgreesWithPlainMapsWhileARunGrows) {
  const unsigned first_seed = std::random_device{}();
  for (unsigned round = 0; round < kRounds; ++round) {
    const unsigned seed = first_seed + round;
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    storage_ = make_memory_storage("memory://model");
    run_ = WrittenRun(storage_);
    Model model;
    model.num_workers = 1 + static_cast<int>(random() % 3);
    for (int worker = 0; worker < model.num_workers; ++worker) {
      run_.put_collections("worker_" + std::to_string(worker),
                           model.num_workers);
    }
    const auto trial = open();
    for (Step step = 0; step < kSteps; ++step) {
      if (random() % 2 == 0) write(random, model, step);
      if (random() % 8 == 0) compare(*trial, model);
    }
    compare(*trial, model);
    compare(*open(), model);
    run_.put_end_marker();
    model.has_ended = true;
    compare(*trial, model);
    compare(*open(), model);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace smdebug
