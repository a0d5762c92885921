// smdebug pack RUN...

#include <limits>

#include <fmt/format.h>

#include "smdebug/base/try.h"
#include "smdebug/read/run_packing.h"
#include "smdebug/store/open_storage.h"

#include "commands.h"
#include "run_location.h"

namespace smdebug {
namespace {

std::string counted(std::uint64_t number, std::string_view noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

std::string result_text(const PackingCounts& counts) {
  std::string text;
  if (counts.packed > 0) {
    text =
        fmt::format("packed {} into {}", counted(counts.packed, "index file"),
                    counted(counts.files, "statistics file"));
  } else {
    text = fmt::format("nothing to pack: {} packed already",
                       counts.packed_before == 0
                           ? "no index file is"
                           : counted(counts.packed_before, "index file") +
                                 (counts.packed_before == 1 ? " is" : " are"));
  }
  if (counts.removed > 0) {
    text += fmt::format("; removed {} that had been damaged or out of date",
                        counted(counts.removed, "statistics file"));
  }
  if (counts.damaged > 0) {
    text += fmt::format("; left out {} with damage: 'smdebug show' lists it",
                        counted(counts.damaged, "index file"));
  }
  return text;
}

// `location` may be the prefix of a job: the run lies below it.
Result<PackingCounts> pack(const std::string& location,
                           const Console& console) {
  // Reads no step.
  SMD_TRY(const auto trial,
          open_run(location, console, {}, std::numeric_limits<Step>::max()));
  SMD_TRY(const auto storage, open_storage(trial->location()));
  return pack_run(*storage);
}

}  // namespace

int run(const PackCommand& command, const Console& console) {
  int code = kExitNothingFound;
  for (const std::string& location : command.runs) {
    const auto counts = pack(location, console);
    if (!counts) {
      code = console.fail(counts.error());
      continue;
    }
    console.out << fmt::format("{}: {}\n", location, result_text(*counts))
                << std::flush;
  }
  return code;
}

}  // namespace smdebug
