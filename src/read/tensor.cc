#include "smdebug/read/tensor.h"

#include <algorithm>

#include <fmt/format.h>

#include "smdebug/base/try.h"
#include "smdebug/core/error_subject.h"
#include "smdebug/reduce/reductions.h"

#include "base/suggestions.h"
#include "read/absence.h"
#include "read/record_reader.h"
#include "read/trial_impl.h"

namespace smdebug {
namespace {

// Names the data that the run holds of a tensor whose elements it lacks.
std::string kept_instead(const RunTable& table,
                         std::span<const EntryId> same_step, EntryId id) {
  const IndexEntry& entry = table.entry(id);
  std::vector<std::string> ops;
  for (EntryId id : same_step) {
    const IndexEntry& other = table.entry(id);
    if (other.file == entry.file && other.is_reduction()) {
      ops.push_back(reduction_op_name(other.op()));
    }
  }
  if (!ops.empty()) return "its reductions " + quoted_list(ops);
  return table.has_statistics(id)
             ? "its statistics, which give reductions such as its mean"
             : "its shape";
}

bool has_reduction(const RunTable& table, std::span<const EntryId> same_step,
                   const IndexEntry& entry) {
  return std::ranges::any_of(same_step, [&](EntryId id) {
    const IndexEntry& other = table.entry(id);
    return other.file == entry.file && other.is_reduction();
  });
}

std::shared_ptr<const ErrorSubject> subject_of(const std::string& tensor,
                                               const StepQuery& query) {
  auto subject = std::make_shared<ErrorSubject>();
  subject->tensor = tensor;
  subject->worker = query.worker.value_or("");
  subject->step = query.step;
  subject->mode = query.mode;
  return subject;
}

}  // namespace

TensorValue::TensorValue(DType dtype, std::vector<std::int64_t> shape,
                         Bytes bytes, std::vector<std::string> strings)
    : dtype_(dtype), shape_(std::move(shape)), bytes_(std::move(bytes)) {
  static const auto none = std::make_shared<const Strings>();
  strings_ = none;
  if (strings.empty()) return;
  auto kept = std::make_shared<Strings>();
  kept->owned = std::move(strings);
  kept->views.assign(kept->owned.begin(), kept->owned.end());
  strings_ = std::move(kept);
}

TensorView TensorValue::view() const {
  const auto* data =
      is_string(dtype_)
          ? reinterpret_cast<const std::byte*>(strings_->views.data())
          : bytes_.data();
  return {dtype_, data, shape_, {}};
}

std::recursive_mutex& Tensor::turn() const { return trial_->turn(); }

const std::string& Tensor::name() const {
  return trial_->impl_->table().tensor_name(id_);
}

std::optional<std::string> Tensor::original_name() const {
  const std::string& name = trial_->impl_->table().original_name(id_);
  if (name.empty()) return std::nullopt;
  return name;
}

std::vector<Step> Tensor::steps(Mode mode, bool incomplete) {
  Trial::Impl& trial = *trial_->impl_;
  trial.refresh_for_query();
  const RunTable& table = trial.table();
  std::vector<Step> steps;
  Step last = -1;
  for (EntryId entry : table.entries_of(id_)) {
    const Step global = table.step_of(entry);
    if (global == last) continue;
    last = global;
    if (!incomplete && !trial.completeness().is_over(global)) continue;
    if (mode == Mode::global) {
      steps.push_back(global);
      continue;
    }
    const StepId& id = table.find_step(global)->id;
    if (mode == id.mode) steps.push_back(id.mode_step);
  }
  std::ranges::sort(steps);
  return steps;
}

std::vector<Step> Tensor::prev_steps(Step step, std::size_t n, Mode mode) {
  std::vector<Step> all = steps(mode);
  all.erase(std::ranges::upper_bound(all, step), all.end());
  if (n != 0 && all.size() > n) {
    all.erase(all.begin(), all.end() - static_cast<std::ptrdiff_t>(n));
  }
  return all;
}

Result<std::vector<std::string>> Tensor::workers(Step step, Mode mode) {
  const StepQuery query{step, mode, std::nullopt};
  auto first = find_entry(query);
  if (!first) {
    return std::move(first).error().with(Error::Detail::tensor_not_at_step,
                                         subject_of(name(), query));
  }
  const RunTable& table = trial_->impl_->table();
  std::vector<std::string> workers;
  for (EntryId id : table.entries_at(id_, table.step_of(*first))) {
    workers.push_back(
        table.worker_name(table.file(table.entry(id).file).worker));
  }
  std::ranges::sort(workers);
  workers.erase(std::unique(workers.begin(), workers.end()), workers.end());
  return workers;
}

// Returns an entry of the query's step and worker: the tensor itself if it was
// saved, otherwise one of its reductions; `kNone` if there is none yet.
std::uint32_t Tensor::known_entry(const StepQuery& query) const {
  const RunTable& table = trial_->impl_->table();
  const auto global = trial_->impl_->find_global(query.step, query.mode);
  if (!global) return kNone;
  const auto worker_of = [&](EntryId id) -> const std::string& {
    return table.worker_name(table.file(table.entry(id).file).worker);
  };
  EntryId best = kNone;
  for (EntryId id : table.entries_at(id_, *global)) {
    if (query.worker && worker_of(id) != *query.worker) continue;
    const auto rank = [&](EntryId e) {
      return std::pair(std::string_view(worker_of(e)),
                       table.entry(e).is_reduction());
    };
    if (best == kNone || rank(id) < rank(best)) best = id;
  }
  return best;
}

Result<std::uint32_t> Tensor::find_entry(const StepQuery& query) {
  Trial::Impl& trial = *trial_->impl_;
  const RunTable& table = trial.table();
  EntryId known = known_entry(query);
  if (known != kNone) {
    // New files cannot change which entry the query refers to.
    const Step global = table.step_of(known);
    if (query.worker || trial.completeness().is_whole(*table.find_step(global)))
      return known;
  }
  trial.refresh_for_query();
  known = known_entry(query);
  if (known != kNone) return known;
  return why_unknown(query);
}

Error Tensor::why_unknown(const StepQuery& query) const {
  Trial::Impl& trial = *trial_->impl_;
  const RunTable& table = trial.table();
  const Absence absence(table, trial.collections().collections(), id_, query);
  const std::string what = fmt::format("tensor '{}' at {}", name(),
                                       step_text(query.step, query.mode));
  const auto fail = [&](Error::Code code, Error::Detail detail,
                        std::string_view why) {
    return Error{code, fmt::format("{}: {}", what, why)}.with(
        detail, subject_of(name(), query));
  };
  const auto global = trial.find_global(query.step, query.mode);
  if (global && !table.entries_at(id_, *global).empty()) {
    if (std::ranges::find(table.workers(), *query.worker) ==
        table.workers().end()) {
      return Error{
          Error::Code::invalid_argument,
          fmt::format("no worker '{}' in run '{}'; there are {}", *query.worker,
                      trial.options().name, quoted_list(trial.workers()))}
          .with(Error::Detail::worker_unknown, subject_of(name(), query));
    }
    return fail(Error::Code::not_found, Error::Detail::worker_unknown,
                fmt::format("worker '{}' did not save it", *query.worker));
  }
  switch (trial.completeness().state(table, query.step, query.mode)) {
    case StepState::not_yet_available:
      return fail(Error::Code::not_yet, Error::Detail::step_not_yet,
                  absence.of_coming_step());
    case StepState::unavailable:
      if (const auto file = trial.find_damaged_index(query.step, query.mode)) {
        return fail(Error::Code::not_found, Error::Detail::step_passed,
                    fmt::format("the step cannot be read: index file '{}' is "
                                "damaged",
                                *file));
      }
      return fail(Error::Code::not_found, Error::Detail::step_passed,
                  absence.of_passed_step());
    case StepState::available:
      break;
  }
  return fail(Error::Code::not_found, Error::Detail::tensor_not_at_step,
              absence.of_tensor());
}

// Returns the entry that holds the elements.
Result<std::uint32_t> Tensor::find_record(const StepQuery& query) {
  SMD_TRY(const EntryId id, find_entry(query));
  Trial::Impl& trial = *trial_->impl_;
  const IndexEntry& entry = trial.table().entry(id);
  if (!entry.is_reduction() && entry.has_record()) return id;
  const RunTable& table = trial.table();
  const auto same_step = table.entries_at(id_, table.step_of(id));
  const Absence absence(table, trial.collections().collections(), id_, query);
  const auto detail = has_reduction(table, same_step, entry)
                          ? Error::Detail::only_reductions
                          : Error::Detail::elements_unavailable;
  return Error{
      Error::Code::not_found,
      fmt::format("tensor '{}' at {}: {}", name(),
                  step_text(query.step, query.mode),
                  absence.of_elements(kept_instead(table, same_step, id)))}
      .with(detail, subject_of(name(), query));
}

// Reads a record. If its event file is missing or cannot be read, the error
// names the tensor and the step; damaged bytes stay `corrupt`.
Result<TensorValue> Tensor::read(std::uint32_t entry, const StepQuery& query) {
  auto value = trial_->impl_->read_value(entry);
  if (value) return value;
  return unavailable(std::move(value).error(), query);
}

Error Tensor::unavailable(Error error, const StepQuery& query) const {
  switch (error.code) {
    case Error::Code::not_found:
    case Error::Code::io:
    case Error::Code::unavailable:
      return std::move(error).with(Error::Detail::elements_unavailable,
                                   subject_of(name(), query));
    default:
      return error;
  }
}

Result<TensorValue> Tensor::value(const StepQuery& query) {
  SMD_TRY(const EntryId id, find_record(query));
  return read(id, query);
}

Result<std::vector<StepValue>> Tensor::values(
    Mode mode, std::optional<std::string> worker) {
  return values(steps(mode), mode, std::move(worker));
}

Result<std::vector<StepValue>> Tensor::values(
    std::span<const Step> steps, Mode mode, std::optional<std::string> worker) {
  StepQuery query{0, mode, std::move(worker)};
  std::vector<EntryId> entries;
  entries.reserve(steps.size());
  for (Step step : steps) {
    query.step = step;
    SMD_TRY(const EntryId entry, find_record(query));
    entries.push_back(entry);
  }
  auto at_once = trial_->impl_->read_without_waiting(entries);
  std::vector<StepValue> values;
  values.reserve(steps.size());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    query.step = steps[i];
    if (!at_once[i]) {
      // Cached, not written yet, or damaged.
      SMD_TRY(at_once[i], read(entries[i], query));
    }
    values.push_back({steps[i], *std::move(at_once[i])});
  }
  return values;
}

Result<std::vector<std::int64_t>> Tensor::shape(const StepQuery& query) {
  SMD_TRY(const EntryId id, find_entry(query));
  const auto* known = trial_->impl_->table().shape(id);
  if (known != nullptr) return *known;
  auto value = this->value(query);
  if (value) return value->shape();
  switch (value.error().detail) {
    case Error::Detail::only_reductions:
    case Error::Detail::elements_unavailable:
      return std::move(value).error().with(Error::Detail::shape_unavailable,
                                           subject_of(name(), query));
    default:
      return std::move(value).error();
  }
}

Result<DType> Tensor::dtype(const StepQuery& query) {
  SMD_TRY(const EntryId id, find_entry(query));
  const auto known = trial_->impl_->table().entry(id).dtype();
  if (known) return *known;
  SMD_TRY(const TensorValue value, value(query));
  return value.dtype();
}

Result<std::map<ReductionOp, TensorValue>> Tensor::saved_reductions(
    const StepQuery& query) {
  SMD_TRY(const EntryId id, find_entry(query));
  Trial::Impl& trial = *trial_->impl_;
  const RunTable& table = trial.table();
  const FileId file = table.entry(id).file;
  std::vector<EntryId> saved;
  for (EntryId other : table.entries_at(id_, table.step_of(id))) {
    const IndexEntry& entry = table.entry(other);
    if (entry.file == file && entry.is_reduction()) saved.push_back(other);
  }
  auto values = trial.read_file_values(saved);
  if (!values) return unavailable(std::move(values).error(), query);
  std::map<ReductionOp, TensorValue> reductions;
  for (std::size_t i = 0; i < saved.size(); ++i) {
    reductions.emplace(table.entry(saved[i]).op(), std::move((*values)[i]));
  }
  return reductions;
}

Result<std::map<ReductionOp, double>> Tensor::reductions(
    const StepQuery& query) {
  SMD_TRY(const auto saved, saved_reductions(query));
  std::map<ReductionOp, double> numbers;
  for (const auto& [op, value] : saved) {
    numbers.emplace(op, reduction_value(value));
  }
  return numbers;
}

Result<double> Tensor::reduction(const StepQuery& query, ReductionOp op) {
  SMD_TRY(const EntryId id, find_entry(query));
  Trial::Impl& trial = *trial_->impl_;
  const RunTable& table = trial.table();
  const FileId file = table.entry(id).file;
  for (EntryId other : table.entries_at(id_, table.step_of(id))) {
    const IndexEntry& entry = table.entry(other);
    if (entry.file != file || !entry.is_reduction() || entry.op() != op) {
      continue;
    }
    SMD_TRY(const TensorValue value, read(other, query));
    return reduction_value(value);
  }
  std::optional<double> number;
  if (!needs_elements(op) && table.has_statistics(id)) {
    const bool is_text = is_string(*table.entry(id).dtype());
    SMD_TRY(const TensorStatistics statistics, statistics(query));
    if (!is_text)
      number = reduction_from(statistics, op, Deviation::population);
  } else {
    SMD_TRY(const TensorValue value, value(query));
    const TensorView view = value.view();
    number = reduce_tensor(view, statistics_of_view(view), op,
                           Deviation::population);
  }
  if (number) return *number;
  return Error{Error::Code::not_found,
               fmt::format("tensor '{}' at {}: it has no numbers to compute "
                           "'{}' from",
                           name(), step_text(query.step, query.mode),
                           reduction_op_name(op))}
      .with(Error::Detail::elements_unavailable, subject_of(name(), query));
}

Result<TensorStatistics> Tensor::statistics(const StepQuery& query) {
  SMD_TRY(const EntryId id, find_entry(query));
  Trial::Impl& trial = *trial_->impl_;
  if (trial.table().has_statistics(id)) {
    trial.load_statistics();
    const TensorStatistics* known = trial.table().statistics(id);
    if (known != nullptr) return *known;
  }
  SMD_TRY(const TensorValue value, value(query));
  return statistics_of_view(value.view());
}

Result<std::optional<ShardPlacement>> Tensor::placement(
    const StepQuery& query) {
  SMD_TRY(const EntryId id, find_entry(query));
  const ShardPlacement* known = trial_->impl_->table().placement(id);
  if (known == nullptr) return std::optional<ShardPlacement>();
  return std::optional<ShardPlacement>(*known);
}

Result<TensorStatistics> Tensor::merged_statistics(Step step, Mode mode) {
  SMD_CHECK_OK(find_entry({step, mode, std::nullopt}));
  SMD_TRY(const std::vector<std::string> names, workers(step, mode));
  std::vector<Shard> shards;
  for (const std::string& worker : names) {
    const StepQuery query{step, mode, worker};
    SMD_TRY(const EntryId id, find_entry(query));
    SMD_TRY(const TensorStatistics statistics, statistics(query));
    const ShardPlacement* placement = trial_->impl_->table().placement(id);
    if (placement == nullptr && names.size() == 1) return statistics;
    if (placement == nullptr) {
      return Error{Error::Code::invalid_argument,
                   fmt::format("tensor '{}' at {}: {} saved a whole tensor "
                               "instead of a shard: name a worker",
                               name(), step_text(step, mode), worker)};
    }
    SMD_TRY(auto shape, shape(query));
    shards.push_back({*placement, std::move(shape), statistics});
  }
  auto merged = merge_shards(shards);
  if (merged) return merged;
  return unavailable(std::move(merged).error().within(fmt::format(
                         "tensor '{}' at {}", name(), step_text(step, mode))),
                     {step, mode, std::nullopt});
}

}  // namespace smdebug
