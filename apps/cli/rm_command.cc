// smdebug rm RUN...

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "smdebug/report/removal_text.h"

#include "commands.h"
#include "find_runs.h"
#include "run_removal.h"

namespace smdebug {
namespace {

// Whether `inner` is `outer` or a folder below it.
bool is_within(const std::filesystem::path& inner,
               const std::filesystem::path& outer) {
  const auto path = inner.lexically_relative(outer);
  return !path.empty() && *path.begin() != "..";
}

// Leaves out runs that are named twice, and attempts of runs that are named.
std::vector<std::string> outermost(const std::vector<std::string>& runs) {
  std::vector<std::pair<std::string, std::filesystem::path>> kept;
  for (const std::string& run : runs) {
    std::error_code failure;
    auto path = is_address(run)
                    ? std::filesystem::path(run).lexically_normal()
                    : std::filesystem::weakly_canonical(run, failure);
    if (!path.has_filename()) path = path.parent_path();
    bool is_covered = false;
    for (const auto& [name, other] : kept) {
      is_covered |= path == other ||
                    (is_within(path, other) && is_run_folder(path.string()));
    }
    if (is_covered) continue;
    std::erase_if(
        kept, [&](const auto& other) { return is_within(other.second, path); });
    kept.emplace_back(run, path);
  }
  std::vector<std::string> names;
  for (auto& [name, path] : kept) names.push_back(std::move(name));
  return names;
}

// Only "y" and "yes" agree.
bool is_agreed(const std::string& question, const Console& console) {
  console.err << question << " [y/N] " << std::flush;
  std::string answer;
  std::getline(*console.answers, answer);
  return answer == "y" || answer == "Y" || answer == "yes" || answer == "Yes";
}

}  // namespace

int run(const RmCommand& command, const Console& console) {
  std::vector<RunRemoval> removals;
  for (const std::string& run : outermost(command.runs)) {
    auto removal = plan_removal(run, command.force, console);
    if (!removal) return console.fail(removal.error());
    removals.push_back(*std::move(removal));
  }
  console.out << removals_text(removals) << std::flush;
  const std::string total = removal_total(removals);
  if (!command.yes && !console.answers) {
    return console.fail(
        {Error::Code::invalid_argument,
         "nothing was removed: standard input is not a "
         "terminal that could confirm it; add --yes to remove " +
             total});
  }
  if (!command.yes && !is_agreed("remove " + total + "?", console)) {
    console.err << "smdebug: nothing was removed" << std::endl;
    return kExitError;
  }
  int code = kExitNothingFound;
  for (const RunRemoval& removal : removals) {
    if (const Status removed = remove_run(removal); !removed)
      code = console.fail(removed.error());
  }
  if (code == kExitNothingFound)
    console.err << "smdebug: removed " << total << std::endl;
  return code;
}

}  // namespace smdebug
