// smdebug export RUN --format FORMAT

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "smdebug/base/try.h"
#include "smdebug/query/arrow_output.h"
#include "smdebug/report/query_output.h"

#include "commands.h"

namespace smdebug {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFormats[] = {"csv", "arrow", "parquet", "npz",
                                         "safetensors"};

// A file that gets its name when it is complete.
class NewFile {
 public:
  explicit NewFile(std::string path) : path_(std::move(path)) {}
  ~NewFile() {
    std::error_code ignored;
    fs::remove(unfinished(), ignored);
  }
  NewFile(const NewFile&) = delete;

  std::string unfinished() const { return path_ + ".tmp"; }

  // Fails with `io` if `write` does, or the file cannot be written.
  Status write(const std::function<Status(std::ostream&)>& write) const {
    std::ofstream out(unfinished(), std::ios::binary);
    SMD_CHECK_OK(write(out));
    out.close();
    return out ? Status() : failed("it cannot be written");
  }

  Status publish() const {
    std::error_code failure;
    fs::rename(unfinished(), path_, failure);
    return failure ? failed(failure.message()) : Status();
  }

 private:
  Status failed(const std::string& why) const {
    return Error{Error::Code::io,
                 fmt::format("cannot write '{}': {}", path_, why)};
  }

  const std::string path_;
};

std::string sql_text(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    quoted += c;
    if (c == '\'') quoted += c;
  }
  return quoted + "'";
}

std::string query_of(const ExportCommand& command) {
  std::string query = "select * from statistics where 1";
  std::string names;
  for (const std::string& pattern : command.tensors) {
    names += (names.empty() ? "tensor regexp " : " or tensor regexp ") +
             sql_text(pattern);
  }
  if (!names.empty()) query += " and (" + names + ")";
  const bool is_global = command.mode == Mode::global;
  if (!is_global) {
    query += " and mode = " + sql_text(mode_name(command.mode));
  }
  if (command.step) {
    query += fmt::format(" and {} = {}", is_global ? "step" : "mode_step",
                         *command.step);
  }
  return query;
}

// "a.npz" for "s3://bucket/runs/a/".
std::string default_name(const ExportCommand& command) {
  std::string name = command.run;
  while (name.ends_with('/')) name.pop_back();
  name = fs::path(name).filename().string();
  if (name.empty() || name == "." || name == "..") name = "run";
  return name + "." + command.format;
}

// Returns what was left out.
Result<std::vector<QueryProblem>> write_table(
    const ExportCommand& command, const NewFile& file,
    std::unique_ptr<QuerySink> (*output)(std::ostream&)) {
  std::vector<QueryProblem> problems;
  SMD_CHECK_OK(file.write([&](std::ostream& out) -> Status {
    const auto sink = output(out);
    SMD_TRY(auto summary,
            query_runs({&command.run, 1}, query_of(command), *sink));
    problems = std::move(summary.problems);
    if (summary.rows > 0 || problems.empty()) return {};
    return Error{Error::Code::io, "run '" + problems.front().run +
                                      "': " + problems.front().what};
  }));
  return problems;
}

Result<std::vector<QueryProblem>> write_file(const ExportCommand& command,
                                             const std::string& out,
                                             const Console& console) {
  const NewFile file(out);
  std::vector<QueryProblem> problems;
  if (command.format == "csv" || command.format == "arrow") {
    SMD_TRY(problems,
            write_table(command, file,
                        command.format == "csv" ? &query_csv_output
                                                : &query_arrow_output));
    SMD_CHECK_OK(file.publish());
    return problems;
  }
  if (!console.hooks.export_file) {
    return Error{Error::Code::unsupported,
                 fmt::format("this program cannot write {0}: use the command "
                             "smdebug of the Python package, or --format "
                             "{1}",
                             command.format,
                             command.format == "parquet" ? "arrow" : "csv")};
  }
  ExportRequest request = {command.format,  file.unfinished(), command.run,
                           command.tensors, command.step,      command.mode};
  const NewFile table(out + ".arrow");
  if (command.format == "parquet") {
    SMD_TRY(problems, write_table(command, table, &query_arrow_output));
    request.source = table.unfinished();
  }
  SMD_CHECK_OK(console.hooks.export_file(request));
  SMD_CHECK_OK(file.publish());
  return problems;
}

}  // namespace

int run(const ExportCommand& command, const Console& console) {
  if (std::ranges::find(kFormats, command.format) == std::end(kFormats)) {
    return console.fail(
        {Error::Code::invalid_argument,
         fmt::format("--format: unknown format '{}'; use {}", command.format,
                     fmt::join(kFormats, ", "))});
  }
  const std::string out =
      command.out.empty() ? default_name(command) : command.out;
  std::error_code ignored;
  if (fs::exists(out, ignored)) {
    return console.fail({Error::Code::invalid_argument,
                         "'" + out +
                             "' exists already: remove it, or name another "
                             "file with --out"});
  }
  const auto problems = write_file(command, out, console);
  if (!problems) return console.fail(problems.error());
  console.out << out << std::endl;
  int code = kExitNothingFound;
  for (const auto& [run, what] : *problems) {
    code = console.fail({Error::Code::io, "run '" + run + "': " + what});
  }
  return code;
}

}  // namespace smdebug
