// Parses any text as a file of scalar series. A file that is accepted must be
// the same after it is written and parsed again.

#include <cstdlib>
#include <string_view>

#include "format/series_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto file = smdebug::parse_series_file(text);
  if (!file) return 0;
  const std::string written = smdebug::write_series_file(*file);
  const auto again = smdebug::parse_series_file(written);
  if (!again || smdebug::write_series_file(*again) != written) std::abort();
  return 0;
}
