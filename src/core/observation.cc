#include "smdebug/core/observation.h"

namespace smdebug {

ObservationSink::DataNeed ObservationSink::data_need(std::size_t,
                                                     std::string_view) {
  return DataNeed::values;
}

}  // namespace smdebug
