#include "smdebug/core/observation.h"

namespace smdebug {

void ObservationSink::on_facts(std::size_t, std::string_view, const RunFacts&) {
}

void ObservationSink::on_scalars(std::size_t, std::string_view,
                                 std::span<const ScalarSeriesView>) {}

ObservationSink::DataNeed ObservationSink::data_need(std::size_t,
                                                     std::string_view) {
  return DataNeed::values;
}

void ForwardingSink::on_collections(std::size_t run,
                                    std::span<const TensorGroup> collections) {
  target_.on_collections(run, collections);
}

void ForwardingSink::on_facts(std::size_t run, std::string_view worker,
                              const RunFacts& facts) {
  target_.on_facts(run, worker, facts);
}

void ForwardingSink::on_scalars(std::size_t run, std::string_view worker,
                                std::span<const ScalarSeriesView> series) {
  target_.on_scalars(run, worker, series);
}

ForwardingSink::DataNeed ForwardingSink::data_need(
    std::size_t run, std::string_view tensor_name) {
  return target_.data_need(run, tensor_name);
}

void ForwardingSink::on_step(const StepView& step) { target_.on_step(step); }

void ForwardingSink::on_tick(double wall_seconds) {
  target_.on_tick(wall_seconds);
}

void ForwardingSink::on_run_end(std::size_t run) { target_.on_run_end(run); }

}  // namespace smdebug
