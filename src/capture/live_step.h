#pragma once

// The running step, for a sink: the tensors captured so far that the sink
// needs, with their statistics and, if it needs those, their elements.

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
  // Replaces the sink; null: none. Queries its data needs again. The owner's
  // thread.
  void set_sink(ObservationSink* sink);

  bool has_sink() const { return sink_ != nullptr; }

  void show_collections(std::span<const TensorGroup> collections);
  void show_facts(std::string_view worker, const RunFacts& facts);
  void show_scalars(std::string_view worker,
                    std::span<const ScalarSeriesView> series);

  // Whether the sink may read the elements of a tensor; true while the sink is
  // being called. Never waits for such a call, because the caller may hold a
  // lock that the sink waits for, such as Python's GIL. Any thread.
  bool may_read_values(const SlotState& slot);

  // Adds a captured tensor; without data, only its statistics. Any thread.
  void add(const SlotState& slot, const TensorView& tensor,
           const TensorStatistics& statistics);

  // Passes the tensors added since `clear` to the sink. The owner's thread.
  void show(const StepId& step, StepPhase phase, std::string_view worker);

  void clear();

 private:
  struct Captured {
    std::string_view name;  // of a slot, which lives as long as the session
    DType dtype;
    std::vector<std::int64_t> shape;
    TensorStatistics statistics;
    const ShardPlacement* placement = nullptr;
    bool has_elements = false;
    std::vector<std::byte> elements;  // in C order
  };
  class Elements;

  // Call it under the lock.
  ObservationSink::DataNeed data_need_of(const SlotState& slot);

  ObservationSink* sink_ = nullptr;
  std::mutex mutex_;  // guards what follows, and the calls of the sink
  std::unordered_map<const SlotState*, ObservationSink::DataNeed> data_needs_;
  std::vector<Captured> captured_;
};

}  // namespace smdebug
