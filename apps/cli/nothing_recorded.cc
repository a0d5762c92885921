#include "nothing_recorded.h"

#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include <fmt/format.h>

#include "smdebug/read/disk_space.h"

#include "trainer.h"

namespace smdebug {
namespace {

constexpr std::chrono::seconds kProbeLimit(10);
constexpr std::chrono::milliseconds kProbeInterval(20);

constexpr int kHasPackage = 40;
constexpr int kLacksPackage = 41;
constexpr const char* kProbe =
    "import importlib.util, os\n"
    "os._exit(40 if importlib.util.find_spec('smdebug') else 41)";

// The package writes it into the folder of the run (smdebug_ng/autostart.py).
constexpr const char* kReasonFile = "not_recorded.txt";
constexpr std::size_t kMaxReason = 1000;

constexpr std::string_view kModel =
    "model with PyTorch, TensorFlow, Keras, XGBoost or MXNet";

bool is_python(const std::string& program) {
  return std::filesystem::path(program).filename().string().starts_with(
      "python");
}

// Returns the Python that executes the program: itself, or the one of its first
// line, "#!/usr/bin/env python3". None if it is not Python.
std::optional<std::string> find_python(const std::string& program) {
  if (is_python(program)) return program;
  std::ifstream file(find_program(program), std::ios::binary);
  char mark[2] = {};
  if (!file.read(mark, 2) || mark[0] != '#' || mark[1] != '!')
    return std::nullopt;
  std::string line;
  std::getline(file, line);
  std::istringstream words(line.substr(0, 1000));
  for (std::string word; words >> word;)
    if (is_python(word)) return word;
  return std::nullopt;
}

// Whether this interpreter has the package; none if that is unknown.
std::optional<bool> has_package(const std::string& python, const Clock& clock) {
  auto probe = Trainer::start({python, "-c", kProbe}, "SMDEBUG_PROBE=1", clock);
  if (!probe) return std::nullopt;
  const auto start = clock.monotonic();
  while (clock.monotonic() - start < kProbeLimit) {
    if (const auto ending = (*probe)->poll()) {
      if (ending->exit_code == kHasPackage) return true;
      if (ending->exit_code == kLacksPackage) return false;
      return std::nullopt;
    }
    clock.sleep_for(kProbeInterval);
  }
  return std::nullopt;
}

std::string of_python(const std::string& python, const Clock& clock) {
  const auto has = has_package(python, clock);
  if (!has) {
    return fmt::format(
        "smdebug recognized no training of a {}, or '{}' does not have the "
        "package 'smdebug'",
        kModel, python);
  }
  if (*has) {
    return fmt::format(
        "smdebug recognized no training of a {}; check that the training loop "
        "runs, and that it calls the model as model(x)",
        kModel);
  }
  return fmt::format(
      "'{}' does not have the package 'smdebug': install it with '{} -m pip "
      "install .' in the source folder of smdebug",
      python, python);
}

}  // namespace

std::string take_reason(const std::string& location) {
  const auto path = std::filesystem::path(location) / kReasonFile;
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(
          std::filesystem::symlink_status(path, ignored))) {
    return "";
  }
  std::ifstream file(path, std::ios::binary);
  std::string reason(kMaxReason, '\0');
  file.read(reason.data(), static_cast<std::streamsize>(kMaxReason));
  reason.resize(static_cast<std::size_t>(file.gcount()));
  std::filesystem::remove(path, ignored);
  return reason.substr(0, reason.find('\n'));
}

std::string nothing_recorded(const RunSummary& summary,
                             const std::string& reason, const Clock& clock) {
  if (const std::string full = disk_space_text(summary.location); !full.empty())
    return "nothing can be written to '" + summary.location + "'" + full;
  if (summary.signal) {
    return fmt::format("signal {} ended the program before it completed a step",
                       *summary.signal);
  }
  if (summary.exit_code != 0) {
    return fmt::format(
        "the program failed with exit code {} before it completed a step; its "
        "own output shows why",
        summary.exit_code);
  }
  if (!reason.empty()) return reason;
  const std::string& program = summary.command.front();
  if (const auto python = find_python(program))
    return of_python(*python, clock);
  return fmt::format(
      "no Python with the package 'smdebug' reported a {} from '{}'; run the "
      "command that trains, as in 'smdebug run -- python train.py'",
      kModel, program);
}

}  // namespace smdebug
