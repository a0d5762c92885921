#include "smdebug/report/removal_text.h"

#include <fmt/format.h>

#include "report/text_table.h"
#include "report/wording.h"

namespace smdebug {
namespace {

constexpr std::size_t kNamesShown = 5;

std::string kept_text(const std::vector<std::string>& kept) {
  if (kept.empty()) return "";
  return "keeps " + names_text(kept, kNamesShown);
}

}  // namespace

std::string removals_text(std::span<const RunRemoval> removals) {
  TextTable table({"", ">", ">", ""});
  for (const RunRemoval& removal : removals) {
    table.add({removal.run, count_text(removal.files.size(), "file"),
               bytes_text(removal.bytes), kept_text(removal.kept)});
  }
  return table.text();
}

std::string removal_total(std::span<const RunRemoval> removals) {
  std::uint64_t bytes = 0;
  for (const RunRemoval& removal : removals) bytes += removal.bytes;
  return fmt::format("{} ({})", count_text(removals.size(), "run"),
                     bytes_text(bytes));
}

}  // namespace smdebug
