#include "capture/live_step.h"

#include "capture/lane.h"
#include "reduce/gather.h"

namespace smdebug {

class LiveStep::Elements : public ValueSource {
 public:
  explicit Elements(const Captured& captured) : captured_(captured) {}

  Result<TensorView> load() override {
    if (captured_.has_elements) {
      return TensorView{
          captured_.dtype, captured_.elements.data(), captured_.shape, {}};
    }
    return Error{
        Error::Code::not_found,
        "the elements of this tensor are not kept while the step runs"};
  }

 private:
  const Captured& captured_;
};

void LiveStep::set_sink(ObservationSink* sink) {
  std::lock_guard lock(mutex_);
  sink_ = sink;
  data_needs_.clear();
  captured_.clear();
}

void LiveStep::show_collections(std::span<const TensorGroup> collections) {
  std::lock_guard lock(mutex_);
  data_needs_.clear();
  sink_->on_collections(0, collections);
}

void LiveStep::show_facts(std::string_view worker, const RunFacts& facts) {
  std::lock_guard lock(mutex_);
  sink_->on_facts(0, worker, facts);
}

void LiveStep::show_scalars(std::string_view worker,
                            std::span<const ScalarSeriesView> series) {
  std::lock_guard lock(mutex_);
  sink_->on_scalars(0, worker, series);
}

ObservationSink::DataNeed LiveStep::data_need_of(const SlotState& slot) {
  const auto [known, is_new] =
      data_needs_.try_emplace(&slot, ObservationSink::DataNeed::none);
  if (is_new) known->second = sink_->data_need(0, slot.name);
  return known->second;
}

bool LiveStep::may_read_values(const SlotState& slot) {
  std::unique_lock lock(mutex_, std::try_to_lock);
  return !lock || data_need_of(slot) == ObservationSink::DataNeed::values;
}

void LiveStep::add(const SlotState& slot, const TensorView& tensor,
                   const TensorStatistics& statistics) {
  using DataNeed = ObservationSink::DataNeed;
  std::lock_guard lock(mutex_);
  const DataNeed need = data_need_of(slot);
  if (need == DataNeed::none) return;
  Captured& captured = captured_.emplace_back();
  captured.name = slot.name;
  captured.dtype = tensor.dtype;
  captured.shape.assign(tensor.shape.begin(), tensor.shape.end());
  captured.statistics = statistics;
  captured.placement = slot.placement.load(std::memory_order_relaxed);
  if (need != DataNeed::values || is_string(tensor.dtype)) return;
  if (tensor.data == nullptr && tensor.size() > 0) return;
  if (Lane::is_expanded_too_far(tensor)) return;
  captured.has_elements = true;
  captured.elements.resize(tensor.bytes());
  Gather(tensor).next(captured.elements.data(),
                      static_cast<std::size_t>(tensor.size()));
}

void LiveStep::show(const StepId& step, StepPhase phase,
                    std::string_view worker) {
  std::lock_guard lock(mutex_);
  std::vector<Elements> elements(captured_.begin(), captured_.end());
  std::vector<Observation> observations;
  observations.reserve(captured_.size());
  for (std::size_t i = 0; i < captured_.size(); ++i) {
    const Captured& captured = captured_[i];
    observations.push_back({captured.name,
                            worker,
                            captured.dtype,
                            captured.shape,
                            &captured.statistics,
                            {},
                            &elements[i],
                            captured.placement});
  }
  sink_->on_step({0, step, phase, observations});
}

void LiveStep::clear() {
  std::lock_guard lock(mutex_);
  captured_.clear();
}

}  // namespace smdebug
