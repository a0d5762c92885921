#include "format/series_file.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "smdebug/base/try.h"

#include "base/base64.h"
#include "format/json_fields.h"

namespace smdebug {
namespace {

constexpr int kSeriesVersion = 1;

// --- writing ---

template <typename T>
Json column_json(const std::vector<T>& column) {
  std::string text;
  append_base64(std::as_bytes(std::span(column)), text);
  return text;
}

// The steps of all series, each once.
std::map<Step, StepId> all_steps(const SeriesFile& file) {
  std::map<Step, StepId> steps;
  for (const ScalarSeries& one : file.series) {
    for (const ScalarSample& sample : one.samples)
      steps.try_emplace(sample.step.global, sample.step);
  }
  return steps;
}

Json steps_json(const std::map<Step, StepId>& steps) {
  std::vector<std::int64_t> global, mode_step;
  std::vector<std::uint8_t> mode;
  for (const auto& [number, step] : steps) {
    global.push_back(step.global);
    mode.push_back(static_cast<std::uint8_t>(step.mode));
    mode_step.push_back(step.mode_step);
  }
  return Json::Object{{"global", column_json(global)},
                      {"mode", column_json(mode)},
                      {"mode_step", column_json(mode_step)}};
}

Json to_json(const ScalarSeries& series,
             const std::map<Step, std::uint32_t>& positions) {
  std::vector<std::uint32_t> at;
  std::vector<double> values;
  for (const ScalarSample& sample : series.samples) {
    at.push_back(positions.at(sample.step.global));
    values.push_back(sample.value);
  }
  return Json::Object{
      {"name", series.name},
      {"at", at.size() == positions.size() ? Json() : column_json(at)},
      {"value", column_json(values)}};
}

// --- parsing ---

Error corrupt(std::string message) {
  return {Error::Code::corrupt, std::move(message)};
}

template <typename T>
Result<std::vector<T>> column_at(const Json& json, std::string_view key) {
  SMD_TRY(const std::string text, json.string_at(key));
  auto bytes = decode_base64(text);
  if (!bytes) {
    return std::move(bytes).error().within(fmt::format("column '{}'", key));
  }
  if (bytes->size() % sizeof(T) != 0) {
    return corrupt(fmt::format("column '{}' has {} bytes, not a multiple of {}",
                               key, bytes->size(), sizeof(T)));
  }
  std::vector<T> column(bytes->size() / sizeof(T));
  if (!column.empty()) std::memcpy(column.data(), bytes->data(), bytes->size());
  return column;
}

Error other_length(std::string_view key, std::size_t found,
                   std::size_t expected) {
  return corrupt(fmt::format("column '{}' holds {} numbers instead of {}", key,
                             found, expected));
}

template <typename T>
bool is_ascending(const std::vector<T>& column) {
  return std::ranges::adjacent_find(column, std::ranges::greater_equal()) ==
         column.end();
}

Result<std::vector<StepId>> parse_steps(const Json& json) {
  SMD_TRY(const auto global, column_at<std::int64_t>(json, "global"));
  SMD_TRY(const auto mode, column_at<std::uint8_t>(json, "mode"));
  SMD_TRY(const auto mode_step, column_at<std::int64_t>(json, "mode_step"));
  const std::size_t count = global.size();
  if (mode.size() != count) return other_length("mode", mode.size(), count);
  if (mode_step.size() != count)
    return other_length("mode_step", mode_step.size(), count);
  if (!is_ascending(global)) return corrupt("the steps do not ascend");
  if (count > 0 && global.front() < 0) return out_of_range("global");
  std::vector<StepId> steps;
  steps.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (mode[i] < 1 || mode[i] > kModes.size()) return out_of_range("mode");
    if (mode_step[i] < 0) return out_of_range("mode_step");
    steps.push_back({global[i], static_cast<Mode>(mode[i]), mode_step[i]});
  }
  return steps;
}

// Returns the positions in the table of steps; all of them if the file names
// none.
Result<std::vector<std::uint32_t>> positions_at(const Json& json,
                                                std::size_t steps) {
  const Json* at = json.find("at");
  if (at == nullptr || at->is_null()) {
    std::vector<std::uint32_t> all(steps);
    for (std::size_t i = 0; i < steps; ++i)
      all[i] = static_cast<std::uint32_t>(i);
    return all;
  }
  SMD_TRY(auto positions, column_at<std::uint32_t>(json, "at"));
  if (!is_ascending(positions)) return corrupt("the positions do not ascend");
  if (!positions.empty() && positions.back() >= steps)
    return out_of_range("at");
  return positions;
}

Result<ScalarSeries> parse_series(const Json& json,
                                  const std::vector<StepId>& steps) {
  ScalarSeries series;
  SMD_TRY(series.name, json.string_at("name"));
  if (series.name.empty()) return corrupt("a series has no name");
  SMD_TRY(const auto positions, positions_at(json, steps.size()));
  SMD_TRY(const auto values, column_at<double>(json, "value"));
  if (values.size() != positions.size())
    return other_length("value", values.size(), positions.size());
  if (values.empty()) return corrupt("a series has no samples");
  series.samples.reserve(values.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    series.samples.push_back({steps[positions[i]], values[i]});
  return series;
}

// Every series has a text and a column of its own, so that the size of the file
// bounds the memory; one without "at" repeats the table of steps.
Result<SeriesFile> parse_file(std::string_view text) {
  SMD_TRY(const Json json, Json::parse(text));
  SMD_CHECK_OK(check_version(json, kSeriesVersion));
  SeriesFile file;
  SMD_TRY(file.worker, json.string_at("worker"));
  const Json* table = json.find("steps");
  if (table == nullptr) return corrupt("'steps' is missing");
  SMD_TRY(const auto steps, parse_steps(*table));
  SMD_TRY(const Json::Array* entries, json.array_at("series"));
  std::set<std::string, std::less<>> names;
  for (const Json& entry : *entries) {
    SMD_TRY(ScalarSeries series, parse_series(entry, steps));
    if (!names.insert(series.name).second)
      return corrupt("the series '" + series.name + "' occurs twice");
    file.series.push_back(std::move(series));
  }
  return file;
}

}  // namespace

SeriesSteps steps_of(const SeriesFile& file) {
  SeriesSteps steps;
  for (const ScalarSeries& one : file.series) {
    if (one.samples.empty()) continue;
    const Step first = one.samples.front().step.global;
    if (steps.first < 0 || first < steps.first) steps.first = first;
    steps.last = std::max(steps.last, one.samples.back().step.global);
  }
  return steps;
}

std::string write_series_file(const SeriesFile& file) {
  const auto steps = all_steps(file);
  std::map<Step, std::uint32_t> positions;
  for (const auto& [step, id] : steps)
    positions.emplace(step, static_cast<std::uint32_t>(positions.size()));
  Json::Array series;
  for (const ScalarSeries& one : file.series)
    series.push_back(to_json(one, positions));
  const Json json = Json::Object{{"version", kSeriesVersion},
                                 {"worker", file.worker},
                                 {"steps", steps_json(steps)},
                                 {"series", std::move(series)}};
  return json.dump(JsonStyle::spaced);
}

Result<SeriesFile> parse_series_file(std::string_view text) {
  auto file = parse_file(text);
  if (!file) return std::move(file).error().within("series");
  return file;
}

}  // namespace smdebug
