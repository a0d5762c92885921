#pragma once

// `RunFeed` lets rules judge a run: all of it, or what is new while it grows.
// The command line calls it in a loop; it never waits.

#include <cstddef>
#include <functional>
#include <limits>

#include "smdebug/base/result.h"
#include "smdebug/read/trial.h"
#include "smdebug/rules/runner.h"

namespace smdebug {

class RunFeed : private ObservationSink {
 public:
  /// `trial` and `runner` outlive this. `run` numbers the run among those that
  /// feed the same runner.
  RunFeed(Trial& trial, RuleRunner& runner, std::size_t run = 0)
      : trial_(trial), runner_(runner), run_(run) {}

  /// Called after each step, from the thread that feeds.
  void set_on_step(std::function<void(const StepId&)> callback) {
    on_step_ = std::move(callback);
  }

  /// Feeds every step before `end` that is complete and was not fed yet;
  /// returns how many. Fails as `Trial::feed`.
  Result<std::size_t> advance(Step end = std::numeric_limits<Step>::max());

  /// Says that no step will follow. A second call does nothing.
  void finish();

  std::size_t steps_fed() const { return steps_fed_; }

 private:
  void on_collections(std::size_t run,
                      std::span<const TensorGroup> collections) override;
  void on_step(const StepView& step) override;
  void on_tick(double wall_seconds) override;
  void on_run_end(std::size_t run) override;

  Trial& trial_;
  RuleRunner& runner_;
  std::size_t run_;
  Step next_ = 0;
  std::size_t steps_fed_ = 0;
  bool is_finished_ = false;
  std::function<void(const StepId&)> on_step_;
};

}  // namespace smdebug
