#include "read/run_series_files.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "smdebug/base/try.h"

#include "format/file_sizes.h"

namespace smdebug {
namespace {

constexpr Step kEndless = std::numeric_limits<Step>::max();

Step step_of(const ScalarSample& sample) { return sample.step.global; }

// A file with the name of another one was renamed or exchanged.
Status check_name(const SeriesFile& file, const SeriesFileName& name,
                  const std::string& key) {
  const auto [first, last] = steps_of(file);
  if (series_file_key({file.worker, first, last, name.number}) == key)
    return {};
  return Error{
      Error::Code::corrupt,
      fmt::format("it contains steps {} to {} of worker '{}': it was renamed "
                  "or exchanged",
                  first, last, file.worker)};
}

Result<std::vector<ScalarSeries>> parse(std::string_view text,
                                        const SeriesFileName& name,
                                        const std::string& key) {
  SMD_TRY(SeriesFile file, parse_series_file(text));
  SMD_CHECK_OK(check_name(file, name, key));
  return std::move(file.series);
}

}  // namespace

// --- RunSeriesFiles ---

RunSeriesFiles::RunSeriesFiles(std::optional<Step> first_step,
                               std::optional<Step> end_step)
    : first_step_(first_step.value_or(0)),
      end_step_(end_step.value_or(kEndless)) {}

Status RunSeriesFiles::refresh(const Storage& storage) {
  const auto version = storage.folder_version(kSeriesPrefix);
  if (version && version == listed_version_) return {};
  listed_version_.reset();
  auto found = storage.list(kSeriesPrefix);
  if (!found && !storage.check_folder(kSeriesPrefix)) return {};
  SMD_TRY(const std::vector<ObjectEntry> listed, std::move(found));
  listed_version_ = version;
  for (const ObjectEntry& object : listed) {
    if (object.is_file && known_.insert(object.key).second)
      read_file(storage, object.key);
  }
  return {};
}

void RunSeriesFiles::read_file(const Storage& storage, const std::string& key) {
  const auto name = parse_series_file_key(key);
  if (!name || name->last < first_step_ || name->first >= end_step_) return;
  const auto bytes = get_object(storage, key, kMaxSeriesFileBytes);
  if (!bytes) {
    // A new attempt has moved it since it was listed.
    if (bytes.error().code != Error::Code::not_found)
      broken_[key] = bytes.error().message;
    return;
  }
  auto series = parse(bytes->text(), *name, key);
  if (!series) {
    broken_[key] = series.error().message;
    return;
  }
  limit_steps(*series);
  parts_.push_back({*name, *std::move(series)});
}

void RunSeriesFiles::limit_steps(std::vector<ScalarSeries>& series) const {
  for (ScalarSeries& one : series) {
    std::erase_if(one.samples, [this](const ScalarSample& sample) {
      return step_of(sample) < first_step_ || step_of(sample) >= end_step_;
    });
  }
  std::erase_if(series, [](const auto& one) { return one.samples.empty(); });
}

std::vector<std::string> RunSeriesFiles::names() const {
  std::set<std::string_view> names;
  for (const Part& part : parts_) {
    for (const ScalarSeries& one : part.series) names.insert(one.name);
  }
  return {names.begin(), names.end()};
}

std::vector<WorkerSeries> RunSeriesFiles::series(std::string_view name) const {
  std::vector<const Part*> parts;
  for (const Part& part : parts_) parts.push_back(&part);
  // Of two samples for one step, that of the later file counts.
  std::ranges::stable_sort(parts, {},
                           [](const Part* part) { return part->name.number; });
  std::map<std::string_view, std::vector<ScalarSample>> by_worker;
  for (const Part* part : parts) {
    const auto one = std::ranges::find(part->series, name, &ScalarSeries::name);
    if (one == part->series.end()) continue;
    auto& samples = by_worker[part->name.worker];
    samples.insert(samples.end(), one->samples.begin(), one->samples.end());
  }
  std::vector<WorkerSeries> all;
  for (auto& [worker, samples] : by_worker) {
    sort_samples(samples);
    all.push_back({std::string(worker), std::move(samples)});
  }
  return all;
}

// --- SeriesCursor ---

void SeriesCursor::add_new(const RunSeriesFiles& files) {
  for (; known_parts_ < files.parts().size(); ++known_parts_) {
    const SeriesFileName& name = files.parts()[known_parts_].name;
    if (name.last < first_) continue;
    const Step from = std::max(name.first, first_);
    rest_.emplace(from, Rest{known_parts_, from});
  }
}

// Returns the parts with steps before `end`, in the order in which they were
// written.
std::vector<SeriesCursor::Rest> SeriesCursor::take_due(
    const RunSeriesFiles& files, Step end) {
  const auto stop = rest_.lower_bound(end);
  std::vector<Rest> due;
  for (auto rest = rest_.begin(); rest != stop; ++rest)
    due.push_back(rest->second);
  rest_.erase(rest_.begin(), stop);
  std::ranges::stable_sort(due, {}, [&](const Rest& rest) {
    return files.parts()[rest.part].name.number;
  });
  return due;
}

void SeriesCursor::report(const RunSeriesFiles& files, ObservationSink& sink,
                          std::size_t run, Step end) {
  add_new(files);
  using Series = std::map<std::string_view, std::vector<ScalarSample>>;
  std::map<std::string_view, Series> by_worker;
  for (const auto& [position, from] : take_due(files, end)) {
    const RunSeriesFiles::Part& part = files.parts()[position];
    Step next = kEndless;
    for (const ScalarSeries& one : part.series) {
      const auto& all = one.samples;
      const auto begin = std::ranges::lower_bound(all, from, {}, step_of);
      const auto stop = std::ranges::lower_bound(all, end, {}, step_of);
      if (stop != all.end()) next = std::min(next, step_of(*stop));
      if (begin == stop) continue;
      auto& samples = by_worker[part.name.worker][one.name];
      samples.insert(samples.end(), begin, stop);
    }
    if (next != kEndless) rest_.emplace(next, Rest{position, next});
  }
  for (auto& [worker, series] : by_worker) {
    std::vector<ScalarSeriesView> views;
    for (auto& [name, samples] : series) {
      sort_samples(samples);
      views.push_back({name, samples});
    }
    sink.on_scalars(run, worker, views);
  }
}

}  // namespace smdebug
