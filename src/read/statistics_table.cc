#include "smdebug/read/statistics_table.h"

#include <cmath>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "smdebug/base/try.h"
#include "smdebug/core/dtype.h"

#include "format/arrow_file.h"
#include "format/arrow_stream.h"
#include "read/run_collections.h"
#include "read/statistics_table_columns.h"
#include "read/tensor_numbers.h"

namespace smdebug {
namespace {

class StatisticsRows {
 public:
  explicit StatisticsRows(Trial& trial)
      : trial_(trial), collections_(first_collections(trial.collections())) {}

  Status add(std::string_view name, Mode mode) {
    SMD_TRY(Tensor tensor, trial_.tensor(name));
    for (const Step step : tensor.steps(mode)) {
      const auto global = trial_.global_step(mode, step);
      const auto id = global ? trial_.step_id(*global) : std::nullopt;
      if (!id) continue;
      SMD_TRY(const auto workers, tensor.workers(id->global, Mode::global));
      for (const std::string& worker : workers) {
        SMD_CHECK_OK(add_row(tensor, *id, worker));
      }
    }
    return {};
  }

  // The first value that could not be read; empty if there is none.
  const std::string& unreadable() const { return unreadable_; }

  std::vector<ArrowColumn> take() { return std::move(columns_); }

 private:
  using enum statistics_table::Column;

  // Skips what has no numbers. Fails with `interrupted` only.
  Status add_row(Tensor& tensor, const StepId& step,
                 const std::string& worker) {
    const auto numbers =
        tensor_numbers(tensor, {step.global, Mode::global, worker});
    if (!numbers) {
      if (numbers.error().code == Error::Code::interrupted) {
        return numbers.error();
      }
      if (unreadable_.empty()) unreadable_ = numbers.error().message;
      return {};
    }
    if (!*numbers) return {};
    const auto& [name, dtype, shape, statistics, placement] = **numbers;
    add_place(name, step, worker);
    columns_[kDType].add_text(dtype_name(dtype));
    columns_[kShape].add_text(fmt::format("{}", fmt::join(shape, ",")));
    columns_[kBytes].add(std::uint64_t{statistics.count * dtype_bytes(dtype)});
    add_numbers(statistics);
    return {};
  }

  void add_place(const std::string& name, const StepId& step,
                 const std::string& worker) {
    columns_[kTensor].add_text(name);
    if (const auto found = collections_.find(name);
        found != collections_.end()) {
      columns_[kCollection].add_text(found->second);
    } else {
      columns_[kCollection].add_null();
    }
    columns_[kStep].add(step.global);
    columns_[kMode].add_text(mode_name(step.mode));
    columns_[kModeStep].add(step.mode_step);
    columns_[kWorker].add_text(worker);
  }

  void add_numbers(const TensorStatistics& s) {
    columns_[kCount].add(s.count);
    columns_[kNan].add(s.nan);
    columns_[kPositiveInf].add(s.positive_inf);
    columns_[kNegativeInf].add(s.negative_inf);
    columns_[kZeros].add(s.zeros);
    const auto finite = static_cast<double>(s.finite());
    const std::pair<statistics_table::Column, double> of_finite[] = {
        {kMin, s.min},
        {kMax, s.max},
        {kMean, s.mean},
        {kStd, finite > 0 ? std::sqrt(s.m2 / finite) : 0}};
    for (const auto& [column, number] : of_finite) {
      if (finite > 0) {
        columns_[column].add(number);
      } else {
        columns_[column].add_null();
      }
    }
    columns_[kL1].add(s.sum_abs);
    columns_[kL2].add(std::sqrt(s.sum_squares));
  }

  static std::vector<ArrowColumn> empty_columns() {
    std::vector<ArrowColumn> columns;
    for (const auto& [name, type] : statistics_table::kNames) {
      columns.emplace_back(std::string(name), type);
    }
    return columns;
  }

  Trial& trial_;
  const std::map<std::string, std::string, std::less<>> collections_;
  std::vector<ArrowColumn> columns_ = empty_columns();
  std::string unreadable_;
};

// Queries do not refresh the trial meanwhile.
class Unrefreshed {
 public:
  explicit Unrefreshed(Trial& trial)
      : trial_(trial), before_(trial.is_refreshing()) {
    trial_.set_refreshing(false);
  }
  ~Unrefreshed() { trial_.set_refreshing(before_); }
  Unrefreshed(const Unrefreshed&) = delete;
  Unrefreshed& operator=(const Unrefreshed&) = delete;

 private:
  Trial& trial_;
  const bool before_;
};

}  // namespace

Result<std::string> export_statistics(Trial& trial,
                                      std::span<const std::string> names,
                                      Mode mode, ArrowArrayStream* stream) {
  const Status refreshed = trial.is_refreshing() ? trial.refresh() : Status();
  if (!refreshed && refreshed.error().code == Error::Code::interrupted) {
    return refreshed.error();
  }
  const Unrefreshed unrefreshed(trial);
  StatisticsRows rows(trial);
  for (const std::string& name : names) SMD_CHECK_OK(rows.add(name, mode));
  export_arrow_stream(rows.take(), stream);
  return rows.unreadable();
}

}  // namespace smdebug
