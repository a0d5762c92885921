// Parses any bytes as a statistics file, and adds its steps to a table. A
// checksum that the input would hardly match is repaired first.

#include <string>

#include "format/repaired_arrow_file_testing.h"
#include "format/statistics_file.h"
#include "index/run_table.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::string repaired =
      smdebug::with_its_checksum(text, smdebug::footer_bytes_of(text));
  const auto file =
      smdebug::parse_statistics_file(std::as_bytes(std::span(repaired)));
  if (!file) return 0;
  smdebug::RunTable table;
  smdebug::PackedIds ids;
  for (const auto& step : file->steps()) {
    table.add_packed(*file, step, ids, /*with_statistics=*/true);
  }
  return 0;
}
