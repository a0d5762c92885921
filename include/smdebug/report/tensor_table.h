#pragma once

// The statistics of a tensor over the steps of a run, or at one step
// with its elements, abbreviated.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "smdebug/base/result.h"
#include "smdebug/core/mode.h"
#include "smdebug/core/reduction.h"
#include "smdebug/core/statistics.h"
#include "smdebug/read/trial.h"

namespace [[gnu::visibility("default")]] smdebug {

struct TensorQuery {
  std::string tensor;
  std::optional<Step> step;  // a step of `mode`; none: all
  Mode mode = Mode::global;
  std::optional<std::string> worker;  // none: all
};

struct TensorTable {
  struct Row {
    StepId step;
    std::string worker;
    std::optional<std::vector<std::int64_t>> shape;
    std::optional<TensorStatistics> statistics;  // none of strings
    std::map<ReductionOp, double> reductions;    // as saved
    // Only if a single step was requested.
    std::string dtype;
    std::string elements;  // "[0.1, 0.2, ..., 0.9]"
    std::string missing;   // why there are no statistics or elements
    // Whether `missing` names a file that cannot be read.
    bool is_unreadable = false;
  };

  std::string run;
  std::string tensor;
  Mode mode = Mode::global;
  std::optional<Step> step;  // the only one that was requested
  std::vector<Row> rows;     // by step, then by worker

  // Whether data that was requested and saved could not be read.
  bool has_unreadable() const;
};

/// Reads the table. Fails with `not_found` for a tensor, step or worker that
/// the run does not have, and with `io`.
Result<TensorTable> read_tensor_table(Trial& trial, const TensorQuery& query);

std::string tensor_table_text(const TensorTable& table);
std::string tensor_table_json(const TensorTable& table);

}  // namespace smdebug
