#include "capture/live_step.h"

namespace smdebug {
namespace {

class NotKept : public ValueSource {
 public:
  Result<TensorView> load() override {
    return Error{Error::Code::unsupported,
                 "the elements of a running step are not kept: read them from "
                 "the run when the step is complete"};
  }
};

}  // namespace

void LiveStep::add(std::string_view name, const TensorView& tensor,
                   const TensorStatistics& statistics) {
  std::lock_guard lock(mutex_);
  captured_.push_back({name,
                       tensor.dtype,
                       {tensor.shape.begin(), tensor.shape.end()},
                       statistics});
}

void LiveStep::show(ObservationSink& sink, const StepId& step, StepPhase phase,
                    std::string_view worker) {
  std::lock_guard lock(mutex_);
  NotKept values;
  std::vector<Observation> observations;
  observations.reserve(captured_.size());
  for (const Captured& captured : captured_) {
    observations.push_back({captured.name,
                            worker,
                            captured.dtype,
                            captured.shape,
                            &captured.statistics,
                            {},
                            &values});
  }
  sink.on_step({0, step, phase, observations});
}

void LiveStep::clear() {
  std::lock_guard lock(mutex_);
  captured_.clear();
}

}  // namespace smdebug
