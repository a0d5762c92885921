// Parses any text as an index file. The end of every location must not
// overflow.

#include <cstdlib>
#include <string_view>

#include "format/index_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const auto parts :
       {smdebug::IndexParts::locations, smdebug::IndexParts::everything}) {
    const auto file = smdebug::parse_index_file(text, parts);
    if (!file) continue;
    for (const auto& tensor : file->tensors) {
      if (tensor.start + tensor.length < tensor.start) std::abort();
    }
    for (const auto& row : file->statistics) {
      if (row.statistics.finite() > row.statistics.count) std::abort();
    }
  }
  return 0;
}
