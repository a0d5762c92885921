// Reads any bytes as an event file, record by record, as tools do without an
// index. The loop must end, and every record must lie within the bytes.

#include <cstdlib>
#include <span>

#include "format/tensor_record.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  auto rest = std::as_bytes(std::span(data, size));
  while (!rest.empty()) {
    const auto length = smdebug::record_bytes(rest);
    if (!length) break;
    const auto record =
        smdebug::parse_tensor_record(rest, smdebug::PayloadCheck::none);
    if (*length > rest.size()) {
      if (record) std::abort();
      break;
    }
    if (record && record->decoded_payload.empty() && !record->payload.empty() &&
        (record->payload.data() < rest.data() ||
         record->payload.data() + record->payload.size() >
             rest.data() + *length)) {
      std::abort();
    }
    rest = rest.subspan(*length);
  }
  return 0;
}
