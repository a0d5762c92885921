// smdebug report RUN [--out FILE] [--json]

#include <filesystem>

#include "smdebug/base/escape.h"
#include "smdebug/monitor/rule_report.h"
#include "smdebug/xgboost_report/xgboost_report.h"

#include "commands.h"
#include "run_location.h"

namespace smdebug {
namespace {

bool shows_nothing(const XgboostReport& report) {
  return !report.metrics.shown && !report.importance.shown &&
         !report.labels.shown && !report.hyperparameters.shown;
}

Error unreadable(const std::string& run, const Damage& first) {
  return {Error::Code::corrupt,
          "run '" + run +
              "' has no data of an XGBoost training that can be read: " +
              first.key + ": " + first.what +
              "; 'smdebug show' lists the "
              "damage"};
}

bool names_page(const std::filesystem::path& path) {
  const std::filesystem::path ending = path.extension();
  std::error_code ignored;
  return (ending == ".html" || ending == ".htm") &&
         !std::filesystem::is_directory(path, ignored);
}

// Renames the page as requested, and its data accordingly.
Result<std::string> write_to(const std::string& out,
                             std::vector<ReportFile> files) {
  const std::filesystem::path page = std::filesystem::absolute(out);
  std::filesystem::path data = page;
  data.replace_extension(".json");
  if (!names_page(page)) {
    return Error{Error::Code::invalid_argument,
                 "--out must name an HTML file such as 'report.html', found '" +
                     out + "'; the data are written beside it as '.json'"};
  }
  files[0].key = page.filename().string();
  files[1].key = data.filename().string();
  return write_report_files(page.parent_path().string(), files);
}

}  // namespace

int run(const ReportCommand& command, const Console& console) {
  const auto trial = open_run(command.run, console);
  if (!trial) return console.fail(trial.error());
  if (const Status checked = check_xgboost_run(**trial, command.run);
      !checked) {
    const auto lost = (*trial)->damage();
    const bool may_be_lost =
        !lost.empty() && checked.error().code == Error::Code::not_found;
    return console.fail(may_be_lost ? unreadable(command.run, lost.front())
                                    : checked.error());
  }
  const auto report =
      read_xgboost_report(**trial, console.clock.wall_seconds());
  if (!report) return console.fail(report.error());
  const auto damage = (*trial)->damage();
  if (shows_nothing(*report) && !damage.empty())
    return console.fail(unreadable(command.run, damage.front()));
  if (shows_nothing(*report)) {
    return console.fail(
        {Error::Code::not_found,
         "run '" + command.run +
             "' contains no data of an XGBoost training: no metrics, feature "
             "importance, labels or hyperparameters; save these collections as "
             "described in docs/report.md"});
  }
  if (!damage.empty()) {
    console.err << "smdebug: the report may lack data: run '"
                << printable(command.run) << "' is damaged: "
                << printable(damage.front().key + ": " + damage.front().what)
                << "; 'smdebug show' lists the damage" << std::endl;
  }
  if (command.json) {
    console.out << xgboost_report_json(*report);
    if (command.out.empty()) return kExitNothingFound;
  }
  auto files = xgboost_report_files(*report);
  auto place = command.out.empty()
                   ? write_report_files((*trial)->location(), files)
                   : write_to(command.out, std::move(files));
  if (!place) {
    Error failure = std::move(place).error();
    if (command.out.empty())
      failure.message += "; --out FILE writes the report elsewhere";
    return console.fail(failure);
  }
  if (!command.json) console.out << printable(*place) << "\n";
  return kExitNothingFound;
}

}  // namespace smdebug
