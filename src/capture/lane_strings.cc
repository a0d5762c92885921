// Tensors of strings in a lane. They are packed on the way into the ring, as
// they lie in the record; of their elements only the count is known.

#include <algorithm>

#include "smdebug/reduce/statistics_kernel.h"

#include "capture/lane.h"
#include "capture/slot_state.h"
#include "format/string_elements.h"

namespace smdebug {

const TensorStatistics* Lane::put_strings(const Request& request) {
  const auto strings = request.tensor.strings();
  const std::uint64_t bytes = string_elements_bytes(strings);
  const bool is_raw = request.spec.raw && bytes <= kMaxPayloadBytes;
  const std::size_t payload_bytes = is_raw ? bytes : 0;
  const bool is_whole = payload_bytes <= chunk_bytes();
  if (!is_whole && !has_room_for(payload_bytes)) return nullptr;

  const TensorStatistics statistics =
      statistics_of(request.tensor.dtype, nullptr, strings.size());
  StringElements elements(strings);
  const TensorStatistics* kept = nullptr;
  std::size_t done = 0;
  do {
    const std::size_t chunk = std::min(chunk_bytes(), payload_bytes - done);
    Message* message = reserve_message(
        request, chunk, is_whole ? overflow_ : OverflowPolicy::block);
    if (message == nullptr) return nullptr;
    message->tensor.strings_bytes = bytes;
    message->is_first = done == 0;
    message->is_last = done + chunk == payload_bytes;
    elements.next(message->payload_buffer(), chunk);
    message->statistics = statistics;
    kept = &message->statistics;
    publish(message->bytes);
    done += chunk;
  } while (done < payload_bytes);
  return kept;
}

}  // namespace smdebug
