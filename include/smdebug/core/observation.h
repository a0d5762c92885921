#pragma once

// An `Observation` is one tensor at one step. Capture creates observations in
// the training process while the step runs; `read` creates the same from a run
// on disk. Rules judge observations and need not know their origin.
//
// `ObservationSink` is the interface between them: capture and read call it,
// the rule runner implements it, and a monitor connects the two.
//
// Tensors are one kind of observation. Each kind has its own type and its own
// place: a span of `StepView` for what belongs to a step, or a function of
// `ObservationSink` for what belongs to the run. Both are empty by default, so
// sources without that kind and rules that ignore it need no change.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "smdebug/base/result.h"
#include "smdebug/core/mode.h"
#include "smdebug/core/reduction.h"
#include "smdebug/core/run_facts.h"
#include "smdebug/core/scalar_series.h"
#include "smdebug/core/shard.h"
#include "smdebug/core/statistics.h"
#include "smdebug/core/tensor_view.h"

namespace [[gnu::visibility("default")]] smdebug {

// A named set of tensors. A tensor belongs to it if one of `include_regex`
// matches its name, as Python's `re.search` does.
struct TensorGroup {
  std::string name;
  std::vector<std::string> include_regex;
  std::vector<std::string> tensor_names;

  friend bool operator==(const TensorGroup&, const TensorGroup&) = default;
};

// A reduction as the run holds it.
struct SavedReduction {
  ReductionOp op;
  double value = 0;
};

// Reads the elements of one observation on request.
class ValueSource {
 public:
  virtual ~ValueSource() = default;

  /// Returns the elements, valid for the lifetime of this source. Fails with
  /// `not_found` if only statistics or reductions were saved, and with `io` or
  /// `corrupt` if the run is damaged.
  virtual Result<TensorView> load() = 0;
};

// Views and pointers are valid until the sink's call returns.
struct Observation {
  std::string_view name;
  std::string_view worker;
  DType dtype = DType::float32;
  std::span<const std::int64_t> shape;
  const TensorStatistics* statistics = nullptr;  // null: the run has none
  std::span<const SavedReduction> reductions;
  ValueSource* values = nullptr;              // never null
  const ShardPlacement* placement = nullptr;  // null: a whole tensor
};

// During training a step is reported twice: before the optimizer update and on
// completion. The second report repeats the observations of the first. A run on
// disk has only the second.
enum class StepPhase { before_update, complete };

// The observations of one step: a span for each kind.
struct StepView {
  std::size_t run = 0;  // index of the run, among those that feed this sink
  StepId step;
  StepPhase phase = StepPhase::complete;
  std::span<const Observation> tensors;
};

// Receives the steps of one or more runs. One thread at a time calls it.
class ObservationSink {
 public:
  // The data of a tensor that a sink needs. `values` includes `statistics`.
  enum class DataNeed { none, statistics, values };

  virtual ~ObservationSink() = default;

  /// Reports the collections of the run, before its first step and again
  /// after each change.
  virtual void on_collections(std::size_t run,
                              std::span<const TensorGroup> collections) = 0;

  /// Reports what a worker trains, before the first step to which it applies.
  /// A later report replaces those before it. By default ignored.
  virtual void on_facts(std::size_t run, std::string_view worker,
                        const RunFacts& facts);

  /// Reports the samples of a worker since the last report, in ascending order
  /// of their steps within each series, before the complete step that is equal
  /// to or later than theirs. A sample that is known late follows later, and
  /// one for the same step replaces the one before. By default ignored.
  virtual void on_scalars(std::size_t run, std::string_view worker,
                          std::span<const ScalarSeriesView> series);

  /// Returns the data of this tensor that the sink needs, so that nothing
  /// else is gathered; by default everything. Capture calls it once per
  /// tensor and `set_sink`. Elements of a running step are kept only for
  /// `values`.
  virtual DataNeed data_need(std::size_t run, std::string_view tensor_name);

  /// Reports a step. Steps of one run arrive in ascending order of their
  /// global step.
  virtual void on_step(const StepView& step) = 0;

  /// Reports the time in seconds since the epoch, so that a rule can detect
  /// that no step arrives.
  virtual void on_tick(double wall_seconds) = 0;

  /// Reports that no further step of this run will follow.
  virtual void on_run_end(std::size_t run) = 0;
};

// Passes everything on to another sink. Monitors derive from it and override
// only what they add to; every other call, and every further kind of
// observation, reaches the rules unchanged.
class ForwardingSink : public ObservationSink {
 public:
  void on_collections(std::size_t run,
                      std::span<const TensorGroup> collections) override;
  void on_facts(std::size_t run, std::string_view worker,
                const RunFacts& facts) override;
  void on_scalars(std::size_t run, std::string_view worker,
                  std::span<const ScalarSeriesView> series) override;
  DataNeed data_need(std::size_t run, std::string_view tensor_name) override;
  void on_step(const StepView& step) override;
  void on_tick(double wall_seconds) override;
  void on_run_end(std::size_t run) override;

 protected:
  /// `target` outlives this and is not called before the first observation.
  explicit ForwardingSink(ObservationSink& target) : target_(target) {}

 private:
  ObservationSink& target_;
};

}  // namespace smdebug
