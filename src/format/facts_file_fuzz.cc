// Parses any text as a facts file. A file that is accepted must be the same
// after it is written and parsed again.

#include <cstdlib>
#include <string_view>

#include "format/facts_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto facts = smdebug::parse_facts_file(text);
  if (!facts) return 0;
  const std::string written = smdebug::write_facts_file(*facts);
  const auto again = smdebug::parse_facts_file(written);
  if (!again || smdebug::write_facts_file(*again) != written) std::abort();
  return 0;
}
