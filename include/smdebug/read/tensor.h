#pragma once

// A `Tensor` is one name in a run: at which steps and from which workers it
// was saved, and what it held. It is a handle into its `Trial` and must not
// outlive it.

#include <cstdint>
#include <map>
#include <memory>
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

namespace smdebug {

class Trial;

// The elements of one tensor at one step, in C order. Views live as long as
// this does; the bytes, a copy or a mapping of the file, as long as any copy of
// them.
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
  // Kept together, so that a copy's views are of the same strings.
  struct Strings {
    std::vector<std::string> owned;
    std::vector<std::string_view> views;
  };

  DType dtype_;
  std::vector<std::int64_t> shape_;
  Bytes bytes_;
  std::shared_ptr<const Strings> strings_;  // never null
};

// The answer to a query that names a step.
struct StepQuery {
  Step step = 0;
  Mode mode = Mode::global;
  std::optional<std::string> worker;  // none: the first by name
};

struct StepValue {
  Step step = 0;  // of the mode asked for
  TensorValue value;
};

class Tensor {
 public:
  const std::string& name() const;
  /// The framework's own name, where the run renamed it.
  std::optional<std::string> original_name() const;

  std::vector<Step> steps(Mode mode = Mode::global, bool incomplete = false);
  /// The last `n` steps up to and including `step`; 0 gives all.
  std::vector<Step> prev_steps(Step step, std::size_t n, Mode mode);
  /// Fails with `not_found` for a step that the tensor was not saved at.
  Result<std::vector<std::string>> workers(Step step, Mode mode);

  /// Fails with `not_found` (not saved at this step, or only as reductions: the
  /// message says what there is), `not_yet` (the step may still come),
  /// `invalid_argument` (an unknown worker), `corrupt`, `io`, or `unavailable`
  /// (the event file is missing and may still come: it was waited for as long
  /// as the trial's options say).
  Result<TensorValue> value(const StepQuery& query);
  /// The values at all steps of `steps(mode)`, or at those asked for, in their
  /// order; files are read by several threads at once. Fails as `value` does
  /// for the first step that cannot be read.
  Result<std::vector<StepValue>> values(Mode mode = Mode::global,
                                        std::optional<std::string> worker = {});
  Result<std::vector<StepValue>> values(std::span<const Step> steps, Mode mode,
                                        std::optional<std::string> worker = {});
  Result<std::vector<std::int64_t>> shape(const StepQuery& query);
  Result<DType> dtype(const StepQuery& query);

  /// Reductions that were saved, by operation; empty where none were. Fails as
  /// `value` for the step, the worker and the bytes.
  Result<std::map<ReductionOp, double>> reductions(const StepQuery& query);
  /// The same as they were stored: one element of the writer's dtype.
  Result<std::map<ReductionOp, TensorValue>> saved_reductions(
      const StepQuery& query);
  /// The saved one, or computed from the statistics or the values: `std` and
  /// `variance` of the population, `l1` and `l2` of the flattened tensor.
  /// Fails as `value`, and with `not_found` for a tensor without elements or
  /// of strings.
  Result<double> reduction(const StepQuery& query, ReductionOp op);
  /// From the index, or computed from the values. Fails as `value`.
  Result<TensorStatistics> statistics(const StepQuery& query);

  /// Which part of a larger tensor was saved; none: a whole one. Fails as
  /// `value` for the step and the worker.
  Result<std::optional<ShardPlacement>> placement(const StepQuery& query);
  /// The statistics of the whole, from the shards that all workers saved;
  /// replicas of a shard count once. Of a tensor that one worker saved whole,
  /// its own. Fails as `value` for the step, with `not_found` where parts are
  /// missing, and with `invalid_argument` where several workers saved a tensor
  /// each that is no shard: their values are of different things.
  Result<TensorStatistics> merged_statistics(Step step, Mode mode);

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
