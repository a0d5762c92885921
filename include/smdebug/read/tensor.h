#pragma once

// A `Tensor` is one tensor name of a run: the steps and workers that it was
// saved at, and its values, reductions and statistics. It is a handle into its
// `Trial` and must not outlive it.

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "smdebug/base/result.h"
#include "smdebug/core/mode.h"
#include "smdebug/core/reduction.h"
#include "smdebug/core/shard.h"
#include "smdebug/core/statistics.h"
#include "smdebug/core/tensor_view.h"
#include "smdebug/store/storage.h"

namespace [[gnu::visibility("default")]] smdebug {

class Trial;

// The elements of one tensor at one step, in C order. A view is valid as long
// as this object; the bytes, a copy or a mapping of the file, as long as any
// copy of `bytes()`.
class TensorValue {
 public:
  /// `strings` are the elements of `DType::string` and `DType::bytes`, `bytes`
  /// those of every other dtype.
  TensorValue(DType dtype, std::vector<std::int64_t> shape, Bytes bytes,
              std::vector<std::string> strings = {});

  TensorView view() const;
  DType dtype() const { return dtype_; }
  const std::vector<std::int64_t>& shape() const { return shape_; }
  const Bytes& bytes() const { return bytes_; }
  const std::vector<std::string>& strings() const { return strings_->owned; }

 private:
  // Shared by copies, so that their views refer to the same strings.
  struct Strings {
    std::vector<std::string> owned;
    std::vector<std::string_view> views;
  };

  DType dtype_;
  std::vector<std::int64_t> shape_;
  Bytes bytes_;
  std::shared_ptr<const Strings> strings_;  // never null
};

// Names a step of a tensor, and optionally the worker that saved it.
struct StepQuery {
  Step step = 0;
  Mode mode = Mode::global;
  std::optional<std::string> worker;  // none: the first by name that saved it
};

struct StepValue {
  Step step = 0;  // of the query's mode
  TensorValue value;
};

// Queries refresh the trial if they need to (see `Trial`). Errors name the
// tensor, step and worker in their `subject`.
class Tensor {
 public:
  const std::string& name() const;
  /// Returns the framework's own name, or none if the run did not rename it.
  std::optional<std::string> original_name() const;

  /// Returns the steps of `mode` at which any worker saved the tensor, in
  /// ascending order; empty for a mode in which it was not saved. Steps that
  /// workers are still writing are included only with `incomplete`.
  std::vector<Step> steps(Mode mode = Mode::global, bool incomplete = false);
  /// Returns the last `n` of `steps(mode)` up to and including `step`, in
  /// ascending order; all of them if `n` is 0.
  std::vector<Step> prev_steps(Step step, std::size_t n, Mode mode);
  /// Returns the names of the workers that saved the tensor at `step`, sorted.
  /// Fails as `value` for the step.
  Result<std::vector<std::string>> workers(Step step, Mode mode);

  /// Returns the elements at one step. Waits for an event file that is missing
  /// and may still appear, for `TrialOptions::missing_event_file_retries`.
  /// Fails with `not_found` (`tensor_not_at_step`, `only_reductions`,
  /// `elements_unavailable`, or `worker_unknown` for a worker that did not save
  /// it), `not_yet` (`step_not_yet`: the step may still be written),
  /// `invalid_argument` (`worker_unknown`: no such worker in the run),
  /// `unavailable` (the event file did not appear), `interrupted`, `corrupt` or
  /// `io`.
  Result<TensorValue> value(const StepQuery& query);
  /// Returns the values at all steps of `steps(mode)`, or at the steps given,
  /// in their order. Reads files with several threads. Fails as `value` for the
  /// first step that cannot be read.
  Result<std::vector<StepValue>> values(Mode mode = Mode::global,
                                        std::optional<std::string> worker = {});
  Result<std::vector<StepValue>> values(std::span<const Step> steps, Mode mode,
                                        std::optional<std::string> worker = {});
  /// Return the shape and the dtype, from the index if it has them, otherwise
  /// from the values. Fail as `value`; `shape` with `shape_unavailable` if the
  /// run holds only reductions.
  Result<std::vector<std::int64_t>> shape(const StepQuery& query);
  Result<DType> dtype(const StepQuery& query);

  /// Returns the reductions that were saved, by operation; empty if there are
  /// none. Fails as `value` for the step, the worker and the bytes.
  Result<std::map<ReductionOp, double>> reductions(const StepQuery& query);
  /// Returns the same as they were stored: one element of the writer's dtype.
  Result<std::map<ReductionOp, TensorValue>> saved_reductions(
      const StepQuery& query);
  /// Returns the saved reduction, or computes it from the statistics or the
  /// values: `std` and `variance` of the population, `l1` and `l2` of the
  /// flattened tensor. Fails as `value`, and with `not_found` for a tensor of
  /// strings or without elements.
  Result<double> reduction(const StepQuery& query, ReductionOp op);
  /// Returns the statistics from the index, or computes them from the values.
  /// Fails as `value`.
  Result<TensorStatistics> statistics(const StepQuery& query);

  /// Returns the part of a larger tensor that was saved; none for a whole
  /// tensor. Fails as `value` for the step and the worker.
  Result<std::optional<ShardPlacement>> placement(const StepQuery& query);
  /// Returns the statistics of the whole tensor, merged from the shards of all
  /// workers; replicas of a shard count once. If one worker saved the whole
  /// tensor, returns its statistics. Fails as `value` for the step, with
  /// `not_found` if shards are missing, and with `invalid_argument` if several
  /// workers saved whole tensors, because those may differ.
  Result<TensorStatistics> merged_statistics(Step step, Mode mode);

  /// Returns `Trial::turn` of its trial.
  std::recursive_mutex& turn() const;

 private:
  friend class Trial;
  Tensor(Trial* trial, std::uint32_t id) : trial_(trial), id_(id) {}
  Result<std::uint32_t> find_entry(const StepQuery& query);
  std::uint32_t known_entry(const StepQuery& query) const;
  Result<std::uint32_t> find_record(const StepQuery& query);
  Result<TensorValue> read(std::uint32_t entry, const StepQuery& query);
  Error why_unknown(const StepQuery& query) const;
  Error unavailable(Error error, const StepQuery& query) const;

  Trial* trial_;
  std::uint32_t id_;
};

}  // namespace smdebug
