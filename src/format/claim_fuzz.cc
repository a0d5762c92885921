// Parses any text as a claim. A claim that is accepted must be the same after
// it is written and parsed again.

#include <cstdlib>
#include <string_view>

#include "format/run_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto claim = smdebug::parse_claim(text);
  if (!claim) return 0;
  const auto again = smdebug::parse_claim(smdebug::write_claim(*claim));
  if (!again || again->process_id != claim->process_id ||
      again->start_ticks != claim->start_ticks) {
    std::abort();
  }
  return 0;
}
