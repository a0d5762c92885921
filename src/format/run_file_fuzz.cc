// Parses any text as run.json. A file that is accepted must be the same after
// it is written and parsed again.

#include <cstdlib>
#include <string_view>

#include "format/run_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto run = smdebug::parse_run_file(text);
  if (!run) return 0;
  const std::string written = smdebug::write_run_file(*run);
  const auto again = smdebug::parse_run_file(written);
  if (!again || smdebug::write_run_file(*again) != written) std::abort();
  return 0;
}
