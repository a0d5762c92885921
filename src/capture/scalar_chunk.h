#pragma once

// The samples that the training notes, in the order in which it does: as they
// are handed to the write thread, and sorted into series for readers and sinks.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "smdebug/core/scalar_series.h"

namespace smdebug {

struct NotedScalar {
  StepId step;
  double value;
  std::uint32_t series;  // position in `ScalarChunk::names`
};

struct ScalarChunk {
  std::vector<NotedScalar> noted;
  // Shared, because the write thread may outlive the session.
  std::vector<std::shared_ptr<const std::string>> names;
};

// Returns the series that have samples, sorted by name. Of several samples for
// one step, the last counts.
std::vector<ScalarSeries> series_of(const ScalarChunk& chunk);

}  // namespace smdebug
