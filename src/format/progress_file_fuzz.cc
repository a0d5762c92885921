// Parses any text as progress.json. A file that is accepted must be the same
// after it is written and parsed again.

#include <cstdlib>
#include <string_view>

#include "format/progress_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto progress = smdebug::parse_progress_file(text);
  if (!progress) return 0;
  const std::string written = smdebug::write_progress_file(*progress);
  const auto again = smdebug::parse_progress_file(written);
  if (!again || smdebug::write_progress_file(*again) != written) std::abort();
  return 0;
}
