#include "capture/watched_storage.h"

#include <utility>

#include "smdebug/base/clock.h"

namespace smdebug {

void StorageWatch::note_progress() { busy_since = system_clock().monotonic(); }

Status StorageWatch::enter(StorageCall call, std::string_view) {
  // An abandoned thread removes its unfinished file.
  if (call == StorageCall::abort) return {};
  if (is_abandoned) {
    return Error{Error::Code::unavailable,
                 "the storage did not respond, so nothing more is written"};
  }
  note_progress();
  return {};
}

std::shared_ptr<Storage> watched_storage(std::shared_ptr<Storage> inner,
                                         std::shared_ptr<StorageWatch> watch) {
  if (!inner) return nullptr;
  return std::make_shared<ForwardingStorage>(std::move(inner),
                                             std::move(watch));
}

}  // namespace smdebug
