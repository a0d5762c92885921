#include "read/statistics_scan.h"

#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "smdebug/base/try.h"
#include "smdebug/store/open_storage.h"

#include "format/file_names.h"
#include "format/file_sizes.h"
#include "format/statistics_file_columns.h"
#include "index/checked_index_file.h"
#include "read/run_storage.h"
#include "read/tensor_numbers.h"

namespace smdebug {
namespace {

// Values that are read for one part: a run of the original may have millions.
constexpr std::size_t kStepsComputedAtOnce = 64;

Bytes bytes_of(std::string text) {
  const auto owner = std::make_shared<const std::string>(std::move(text));
  return {owner, std::as_bytes(std::span(*owner))};
}

}  // namespace

StatisticsScan::StatisticsScan(std::shared_ptr<const Storage> storage)
    : storage_(std::move(storage)) {}

Result<std::unique_ptr<StatisticsScan>> StatisticsScan::open(
    const std::string& location) {
  SMD_TRY(auto storage, open_storage(location));
  std::unique_ptr<StatisticsScan> scan(new StatisticsScan(std::move(storage)));
  SMD_TRY(const bool has_steps, scan->list());
  if (!has_steps) {
    // It may be in a folder below, have no steps yet, or not exist.
    SMD_TRY(auto found, find_run_storage(location));
    if (found->uri() != scan->storage_->uri()) {
      scan->storage_ = std::move(found);
      SMD_CHECK_OK(scan->list());
    }
  }
  return scan;
}

Result<bool> StatisticsScan::list() {
  SMD_TRY(const auto index, storage_->list(kIndexPrefix));
  for (const ObjectEntry& object : index) {
    const auto name = parse_step_file_key(object.key);
    if (!name || !object.is_file) continue;
    steps_.try_emplace({name->worker, name->step},
                       ListedStep{object.key, object.bytes});
  }
  if (steps_.empty()) return false;
  const auto statistics = storage_->list(kStatisticsPrefix);
  if (!statistics) {
    damage_.push_back({std::string(kStatisticsPrefix),
                       statistics.error().message, /*hides_tensors=*/false});
    return true;
  }
  for (const ObjectEntry& object : *statistics) {
    auto name = parse_statistics_file_key(object.key);
    if (name && object.is_file)
      files_.push_back({object.key, *std::move(name)});
  }
  // Of several files with a step, that of the latest attempt counts.
  std::ranges::stable_sort(
      files_, {}, [](const ListedFile& file) { return file.name.attempt; });
  return true;
}

Result<std::optional<StatisticsPart>> StatisticsScan::next() {
  while (!files_.empty()) {
    const std::string key = std::move(files_.back().key);
    files_.pop_back();
    if (auto part = read_file(key)) return part;
  }
  if (!unpacked_) unpacked_ = steps_.begin();
  while (*unpacked_ != steps_.end()) {
    if (auto part = read_index_files()) return part;
  }
  while (!missing_.empty()) {
    SMD_TRY(auto part, compute());
    if (part) return part;
  }
  return std::optional<StatisticsPart>();
}

std::optional<StatisticsPart> StatisticsScan::read_file(
    const std::string& key) {
  StatisticsPart part;
  const auto note = [&](const Error& error) {
    damage_.push_back(
        {key, error.message + "; its steps were read from their index files",
         /*hides_tensors=*/false});
    return std::nullopt;
  };
  auto bytes = get_object(*storage_, key, kMaxStatisticsFileBytes);
  if (!bytes) return note(bytes.error());
  part.bytes = *std::move(bytes);
  auto file = parse_statistics_file(part.bytes.span());
  if (!file) return note(file.error());
  part.file = *std::move(file);
  for (const auto& rows : part.file.steps()) {
    const auto listed = steps_.find({rows.name.worker, rows.name.step});
    if (listed == steps_.end() || listed->second.is_taken ||
        listed->second.bytes != rows.index_bytes) {
      continue;
    }
    listed->second.is_taken = true;
    part.steps.push_back(rows);
  }
  if (part.steps.empty()) return std::nullopt;
  note_missing(part);
  return part;
}

// Packs the next steps of a worker in memory.
std::optional<StatisticsPart> StatisticsScan::read_index_files() {
  auto& next = *unpacked_;
  const std::string worker = next->first.first;
  const auto has_more = [&] {
    return next != steps_.end() && next->first.first == worker;
  };
  const auto leave_out = [&](const std::string& key, Step step,
                             std::string_view why) {
    damage_.push_back({key, fmt::format("{}; step {} of '{}' is left out", why,
                                        step, worker)});
  };
  StatisticsFileBuilder builder(worker);
  while (!builder.is_full() && has_more()) {
    std::vector<Step> steps;
    IndexFileBatch batch;
    for (; has_more() && !batch.is_full(); ++next) {
      const Step step = next->first.second;
      const auto& [key, bytes, is_taken] = next->second;
      if (is_taken) continue;
      if (bytes > kMaxIndexFileBytes) {
        leave_out(key, step, fmt::format("{} bytes are too many", bytes));
        continue;
      }
      steps.push_back(step);
      batch.add(key, bytes);
    }
    const std::vector<Result<Bytes>> read = batch.read(*storage_);
    for (std::size_t i = 0; i < read.size(); ++i) {
      // A writer with a limit removes the oldest steps.
      if (!read[i] && read[i].error().code == Error::Code::not_found) continue;
      const auto content = checked_index_file(read[i], {steps[i], worker},
                                              IndexParts::everything);
      if (!content) {
        leave_out(batch.key(i), steps[i], content.error().message);
        continue;
      }
      for (const std::string& what : content->damage) {
        damage_.push_back({batch.key(i), what});
      }
      builder.add(steps[i], read[i]->size(), *content);
    }
  }
  auto part = part_of(builder);
  if (part) note_missing(*part);
  return part;
}

std::optional<StatisticsPart> StatisticsScan::part_of(
    StatisticsFileBuilder& builder) {
  if (builder.empty()) return std::nullopt;
  StatisticsPart part;
  part.bytes = bytes_of(builder.finish());
  auto file = parse_statistics_file(part.bytes.span());
  if (!file) {
    damage_.push_back({std::string(kIndexPrefix), file.error().message});
    return std::nullopt;
  }
  part.file = *std::move(file);
  part.steps = part.file.steps();
  return part;
}

// Finds the values whose statistics must be computed: those of runs of the
// original. Of text and of reductions there are none.
void StatisticsScan::note_missing(const StatisticsPart& part) {
  using namespace statistics_file;
  const auto column = [&](Column number) -> const ArrowColumnView& {
    return part.file.column(number);
  };
  for (const auto& rows : part.steps) {
    for (std::size_t row = rows.first; row < rows.end; ++row) {
      if (!column(kDType).is_null(row) || column(kLength).is_null(row) ||
          !column(kReduction).is_null(row) || column(kTensor).is_null(row)) {
        continue;
      }
      missing_[{rows.name.worker, rows.name.step}].push_back(
          {std::string(column(kTensor).text(row)),
           *find_mode(column(kMode).text(rows.first)),
           column(kModeStep).value<std::int64_t>(rows.first)});
    }
  }
}

Result<std::optional<StatisticsPart>> StatisticsScan::compute() {
  if (!trial_) {
    TrialOptions options;
    options.timeout = std::chrono::nanoseconds(0);
    SMD_TRY(trial_, Trial::open(storage_, std::move(options)));
    trial_->set_refreshing(false);
  }
  const std::string worker = missing_.begin()->first.first;
  StatisticsFileBuilder builder(worker);
  for (std::size_t i = 0; i < kStepsComputedAtOnce && !missing_.empty() &&
                          missing_.begin()->first.first == worker;
       ++i) {
    const auto step = missing_.extract(missing_.begin());
    add_computed(*trial_, step.key(), step.mapped(), builder);
  }
  return part_of(builder);
}

void StatisticsScan::add_computed(Trial& trial, const WorkerStep& step,
                                  const std::vector<MissingStatistics>& missing,
                                  StatisticsFileBuilder& builder) {
  IndexFile content;
  content.mode = missing.front().mode;
  content.mode_step = missing.front().mode_step;
  for (const MissingStatistics& value : missing) {
    const StepQuery query = {step.second, Mode::global, step.first};
    auto tensor = trial.tensor(value.tensor);
    if (!tensor) continue;  // of an index file that is damaged by now
    auto numbers = tensor_numbers(*tensor, query);
    if (!numbers) {
      damage_.push_back(
          {event_file_key(step.second, step.first), numbers.error().message});
    } else if (*numbers) {
      content.statistics.push_back(**std::move(numbers));
    }
  }
  if (!content.statistics.empty()) builder.add(step.second, 0, content);
}

}  // namespace smdebug
