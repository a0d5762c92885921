#pragma once

// What a sink is shown of the step that is running: the tensors captured so
// far, with their statistics. Values are not kept live; a rule that needs
// them reads the run.

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "smdebug/core/observation.h"

namespace smdebug {

class LiveStep {
 public:
  // Remembers a captured tensor. Any thread.
  void add(std::string_view name, const TensorView& tensor,
           const TensorStatistics& statistics);

  // Shows what was added since `clear`. The owner's thread.
  void show(ObservationSink& sink, const StepId& step, StepPhase phase,
            std::string_view worker);

  void clear();

 private:
  struct Captured {
    std::string_view name;  // of a site, which outlives the session's steps
    DType dtype;
    std::vector<std::int64_t> shape;
    TensorStatistics statistics;
  };

  std::mutex mutex_;
  std::vector<Captured> captured_;
};

}  // namespace smdebug
