#pragma once

// The statistics of a run as a table that programs for tables read: pyarrow,
// polars, DuckDB, pandas.

#include <span>
#include <string>

#include "smdebug/base/result.h"
#include "smdebug/core/arrow_c_stream.h"
#include "smdebug/read/trial.h"

namespace [[gnu::visibility("default")]] smdebug {

/// Makes `stream` a stream of one table, which the caller releases. It has a
/// row for each of the tensors `names`, complete step of `mode` and worker with
/// numbers. Columns: `tensor`, `collection` (the first one of the tensor, other
/// than "all"; null if it has none), `step` (global), `mode`, `mode_step`,
/// `worker`, `dtype`, `shape` ("64,10"), `bytes` (of the elements), `count`,
/// `nan`, `positive_inf`, `negative_inf`, `zeros`, and of the finite elements
/// `min`, `max`, `mean`, `std` (of the population; null, like those before, if
/// there are none), `l1` and `l2` (norms). Statistics that the run does not
/// store are computed from the values. Text, and tensors of which only
/// reductions or shapes were saved, have no row, nor has a value that cannot be
/// read. Returns the reason of the first such value, or an empty text. Fails as
/// `Trial::tensor`, and with `interrupted`; `stream` is then unchanged.
Result<std::string> export_statistics(Trial& trial,
                                      std::span<const std::string> names,
                                      Mode mode, ArrowArrayStream* stream);

}  // namespace smdebug
