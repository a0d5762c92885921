#pragma once

// An `Observation` is one tensor at one step. Capture makes observations in
// the training process while the step runs; `read` makes the same from a run
// on disk. Rules judge observations and never learn where they came from.
//
// `ObservationSink` is the border: capture and read call it, the rule runner
// implements it, an edge connects the two.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "smdebug/base/result.h"
#include "smdebug/core/mode.h"
#include "smdebug/core/reduction.h"
#include "smdebug/core/statistics.h"
#include "smdebug/core/tensor_view.h"

namespace smdebug {

// The tensors that a user names together. `include_regex` are searched in a
// tensor's name as Python's `re.search` does.
struct TensorGroup {
  std::string name;
  std::vector<std::string> include_regex;
  std::vector<std::string> tensor_names;

  friend bool operator==(const TensorGroup&, const TensorGroup&) = default;
};

// A reduction that the run holds as a number of its own.
struct SavedReduction {
  ReductionOp op;
  double value = 0;
};

// Hands out the elements of one observation, read when they are asked for.
class ValueSource {
 public:
  virtual ~ValueSource() = default;

  /// Returns the elements, valid until this source is gone. Fails with
  /// `not_found` where only statistics or reductions were kept, and with `io`
  /// or `corrupt` where the run is damaged.
  virtual Result<TensorView> load() = 0;
};

// Views and pointers live until the sink's call returns.
struct Observation {
  std::string_view name;
  std::string_view worker;
  DType dtype = DType::float32;
  std::span<const std::int64_t> shape;
  const TensorStatistics* statistics = nullptr;  // null: the run has none
  std::span<const SavedReduction> reductions;
  ValueSource* values = nullptr;  // never null
};

// A step is seen twice live: after the backward pass, while the optimizer can
// still be kept from acting, and when it is over, with what came before again
// in front. A run on disk has only the second.
enum class StepPhase { before_update, complete };

struct StepView {
  std::size_t run = 0;  // which of the runs that feed this sink
  StepId step;
  StepPhase phase = StepPhase::complete;
  std::span<const Observation> observations;
};

class ObservationSink {
 public:
  // What a sink needs of a tensor.
  enum class DataNeed { none, statistics, values };

  virtual ~ObservationSink() = default;

  /// Says what the run calls its tensors, before its first step and again
  /// when that has changed.
  virtual void on_collections(std::size_t run,
                              std::span<const TensorGroup> collections) = 0;

  /// Returns what this sink needs of the tensor of that name, so that nothing
  /// else is gathered. The default is `values`. Capture asks once per tensor
  /// and `set_sink`, and keeps the elements of a running step only for
  /// `values`.
  virtual DataNeed data_need(std::size_t run, std::string_view tensor_name);

  /// Steps of one run come in ascending order of their global step.
  virtual void on_step(const StepView& step) = 0;

  /// Says the time, in seconds since the epoch, so that a rule can tell that
  /// nothing has come for long.
  virtual void on_tick(double wall_seconds) = 0;

  /// No step of this run will follow.
  virtual void on_run_end(std::size_t run) = 0;
};

}  // namespace smdebug
