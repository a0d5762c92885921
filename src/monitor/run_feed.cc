#include "monitor/run_feed.h"

namespace smdebug {

Status RunFeed::advance(Step end) {
  if (trial_.is_refreshing() && trial_.last_complete_step() < end - 1) {
    SMD_CHECK_OK(trial_.refresh());
  }
  const auto is_wanted = [this](std::string_view name) {
    return sink_.data_need(run_, name) != ObservationSink::DataNeed::none;
  };
  SMD_TRY(next_, trial_.feed(sink_, run_, next_, is_wanted, end));
  return {};
}

}  // namespace smdebug
