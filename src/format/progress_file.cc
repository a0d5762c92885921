#include "format/progress_file.h"

#include <limits>
#include <optional>
#include <utility>

#include "smdebug/base/try.h"

#include "base/environment.h"
#include "format/json_fields.h"

namespace smdebug {
namespace {

constexpr int kProgressVersion = 1;
constexpr double kMaxSeconds = 1e12;

// Cuts between two characters of UTF-8.
std::string short_text(const std::string& text) {
  if (text.size() <= kMaxProgressErrorBytes) return text;
  std::size_t end = kMaxProgressErrorBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) {
    --end;
  }
  return text.substr(0, end);
}

Json losses_json(const std::vector<RunProgress::Loss>& losses) {
  Json::Array array;
  for (const RunProgress::Loss& loss : losses) {
    if (loss.tensor.size() > kMaxProgressNameBytes) continue;
    if (array.size() == kMaxProgressLosses) break;
    array.push_back(Json::Object{{"tensor", loss.tensor},
                                 {"mode", mode_name(loss.mode)},
                                 {"step", loss.step},
                                 {"value", number_json(loss.value)}});
  }
  return array;
}

Result<Step> step_at(const Json& json, std::string_view key) {
  SMD_TRY(const Step step, json.int_at(key));
  if (step < -1) return out_of_range(key);
  return step;
}

Result<double> seconds_at(const Json& json, std::string_view key) {
  SMD_TRY(const double seconds, json.double_at(key));
  if (!(seconds >= 0 && seconds <= kMaxSeconds)) return out_of_range(key);
  return seconds;
}

Result<Mode> mode_at(const Json& json) {
  SMD_TRY(const std::string name, json.string_at("mode"));
  const auto mode = find_mode(name);
  if (mode) return *mode;
  return Error{Error::Code::corrupt, "unknown mode '" + name + "'"};
}

Status parse_modes(const Json& json, RunProgress& progress) {
  SMD_TRY(const Json::Array* modes, json.array_at("modes"));
  if (modes->size() > kModes.size()) return out_of_range("modes");
  for (const Json& mode : *modes) {
    RunProgress::ModeSteps steps;
    SMD_TRY(steps.mode, mode_at(mode));
    SMD_TRY(steps.steps, count_at(mode, "steps"));
    SMD_TRY(steps.last, step_at(mode, "last"));
    progress.modes.push_back(steps);
  }
  return {};
}

Status parse_losses(const Json& json, RunProgress& progress) {
  SMD_TRY(const Json::Array* losses, json.array_at("losses"));
  if (losses->size() > kMaxProgressLosses) return out_of_range("losses");
  for (const Json& entry : *losses) {
    RunProgress::Loss loss;
    SMD_TRY(loss.tensor, entry.string_at("tensor"));
    SMD_TRY(loss.mode, mode_at(entry));
    SMD_TRY(loss.step, step_at(entry, "step"));
    const Json* value = entry.find("value");
    const auto number = value ? parse_number(*value) : std::nullopt;
    if (!number) {
      return Error{Error::Code::corrupt,
                   "'value' should be a number, 'nan', 'inf' or '-inf'"};
    }
    loss.value = *number;
    progress.losses.push_back(std::move(loss));
  }
  return {};
}

Status parse_state(const Json& json, RunProgress& progress) {
  SMD_TRY(const std::string state, json.string_at("state"));
  if (state != "running" && state != "ended") {
    return Error{Error::Code::corrupt, "unknown state '" + state + "'"};
  }
  progress.has_ended = state == "ended";
  SMD_TRY(progress.error, json.string_at("error"));
  if (const auto raised = json.string_at("raised")) progress.raised = *raised;
  SMD_TRY(progress.framework, json.string_at("framework"));
  SMD_TRY(progress.attempt, count_at(json, "attempt"));
  SMD_TRY(const std::uint64_t workers, count_at(json, "workers"));
  if (workers > std::numeric_limits<int>::max()) return out_of_range("workers");
  progress.workers = static_cast<int>(workers);
  const auto writer = ProcessMark::parse(json.find("writer"));
  if (!writer) {
    return Error{Error::Code::corrupt,
                 "'writer' should name a host and a process"};
  }
  progress.host = writer->host;
  progress.process_id = writer->process_id;
  progress.start_ticks = writer->start_ticks;
  SMD_TRY(progress.started_seconds, seconds_at(json, "started"));
  SMD_TRY(progress.written_seconds, seconds_at(json, "written"));
  return {};
}

}  // namespace

ProcessMark writer_of(const RunProgress& progress) {
  return {progress.host, progress.process_id, progress.start_ticks};
}

bool has_fallen_silent(const ProcessMark& process, const RunProgress& progress,
                       double wall_seconds) {
  constexpr double kSilentSeconds = 180;
  return process.host != host_name() && process == writer_of(progress) &&
         wall_seconds - progress.written_seconds > kSilentSeconds;
}

std::string write_progress_file(const RunProgress& progress) {
  const ProcessMark writer = {progress.host, progress.process_id,
                              progress.start_ticks};
  Json::Array modes;
  for (const RunProgress::ModeSteps& mode : progress.modes) {
    modes.push_back(Json::Object{{"mode", mode_name(mode.mode)},
                                 {"steps", mode.steps},
                                 {"last", mode.last}});
  }
  const Json json =
      Json::Object{{"version", kProgressVersion},
                   {"state", progress.has_ended ? "ended" : "running"},
                   {"error", short_text(progress.error)},
                   {"raised", short_text(progress.raised)},
                   {"framework", progress.framework},
                   {"attempt", progress.attempt},
                   {"workers", progress.workers},
                   {"writer", writer.json()},
                   {"started", progress.started_seconds},
                   {"written", progress.written_seconds},
                   {"steps", progress.steps},
                   {"last_step", progress.last_step},
                   {"modes", std::move(modes)},
                   {"losses", losses_json(progress.losses)},
                   {"bytes", progress.bytes},
                   {"removed_steps", progress.removed_steps},
                   {"replaced_tensors", progress.replaced_tensors},
                   {"dropped_tensors", progress.dropped_tensors},
                   {"dropped_bytes", progress.dropped_bytes}};
  return json.dump(JsonStyle::spaced);
}

Result<RunProgress> parse_progress_file(std::string_view text) {
  SMD_TRY(const Json json, Json::parse(text));
  SMD_CHECK_OK(check_version(json, kProgressVersion));
  RunProgress progress;
  SMD_CHECK_OK(parse_state(json, progress));
  SMD_TRY(progress.steps, count_at(json, "steps"));
  SMD_TRY(progress.last_step, step_at(json, "last_step"));
  SMD_CHECK_OK(parse_modes(json, progress));
  SMD_CHECK_OK(parse_losses(json, progress));
  SMD_TRY(progress.bytes, count_at(json, "bytes"));
  SMD_TRY(progress.removed_steps, count_at(json, "removed_steps"));
  SMD_TRY(progress.replaced_tensors, count_at(json, "replaced_tensors"));
  SMD_TRY(progress.dropped_tensors, count_at(json, "dropped_tensors"));
  SMD_TRY(progress.dropped_bytes, count_at(json, "dropped_bytes"));
  return progress;
}

}  // namespace smdebug
