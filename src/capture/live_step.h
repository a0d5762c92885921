#pragma once

// What a sink is shown of the step that is running: the tensors captured so
// far that it is interested in, with their statistics, and with their elements
// where it looks at those.

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "smdebug/core/observation.h"

#include "capture/slot_state.h"

namespace smdebug {

class LiveStep {
 public:
  // Null shows nothing. The sink is asked anew what it is interested in. The
  // owner's thread.
  void set_sink(ObservationSink* sink);

  bool has_sink() const { return sink_ != nullptr; }

  void show_collections(std::span<const TensorGroup> collections);

  // Whether the sink looks at the elements of a tensor; true while it is being
  // called. Never waits for that: the caller may hold what the sink waits for,
  // such as Python's interpreter. Any thread.
  bool may_look_at_values(const SlotState& slot);

  // Remembers a captured tensor; one without memory has its statistics alone.
  // Any thread.
  void add(const SlotState& slot, const TensorView& tensor,
           const TensorStatistics& statistics);

  // Shows what was added since `clear`. The owner's thread.
  void show(const StepId& step, StepPhase phase, std::string_view worker);

  void clear();

 private:
  struct Captured {
    std::string_view name;  // of a slot, which outlives the session's steps
    DType dtype;
    std::vector<std::int64_t> shape;
    TensorStatistics statistics;
    bool has_elements = false;
    std::vector<std::byte> elements;  // in C order
  };
  class Elements;

  // Under the lock.
  ObservationSink::DataNeed data_need_of(const SlotState& slot);

  ObservationSink* sink_ = nullptr;
  std::mutex mutex_;  // guards what follows, and the calls of the sink
  std::unordered_map<const SlotState*, ObservationSink::DataNeed> data_needs_;
  std::vector<Captured> captured_;
};

}  // namespace smdebug
