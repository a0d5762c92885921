// Turns the steps of a run on disk into the observations that rules judge.

#include <algorithm>
#include <deque>
#include <unordered_map>
#include <utility>

#include "smdebug/base/try.h"

#include "read/record_reader.h"
#include "read/trial_impl.h"

namespace smdebug {
namespace {

// Larger event files are read one record at a time, to bound the memory.
constexpr std::uint64_t kMaxWholeFileBytes = 64 << 20;

// Beyond these, the oldest feed is forgotten: its sink, if it still exists,
// receives facts and collections again.
constexpr std::size_t kMaxFeeds = 64;

// The event files of one step, each read whole at most once if it is small.
class StepFiles {
 public:
  StepFiles(const Storage& storage, const RunTable& table,
            EventFiles& event_files)
      : storage_(storage), table_(table), event_files_(event_files) {}

  Result<TensorValue> read_through_file(EntryId id) {
    const FileId file = table_.entry(id).file;
    auto found = files_.find(file);
    if (found == files_.end()) {
      found = files_
                  .emplace(file, get_object(storage_, table_.event_file(file),
                                            kMaxWholeFileBytes))
                  .first;
    }
    if (!found->second) return read_record(storage_, table_, id);
    return read_record_in(*found->second, table_, id);
  }

  Result<TensorValue> read(EntryId id) {
    if (files_.contains(table_.entry(id).file)) return read_through_file(id);
    return event_files_.read(id);
  }

 private:
  const Storage& storage_;
  const RunTable& table_;
  EventFiles& event_files_;
  std::unordered_map<FileId, Result<Bytes>> files_;
};

class EntryValues : public ValueSource {
 public:
  EntryValues(StepFiles& files, const RunTable& table, EntryId entry)
      : files_(files), table_(table), entry_(entry) {}

  Result<TensorView> load() override {
    const Result<TensorValue>& value = loaded();
    if (!value) return value.error();
    return value->view();
  }

  const Result<TensorValue>& loaded(bool through_file = false) {
    if (!value_) value_ = read(through_file);
    return *value_;
  }

  // The event file and the reason, if its bytes are not what the index expects.
  std::optional<Damage> damage() const {
    if (!value_ || value_->ok() || value_->error().code != Error::Code::corrupt)
      return std::nullopt;
    return Damage{table_.event_file(table_.entry(entry_).file),
                  value_->error().message};
  }

 private:
  Result<TensorValue> read(bool through_file) {
    if (entry_ == kNone || !table_.entry(entry_).has_record()) {
      return Error{Error::Code::not_found,
                   "the run does not hold the elements of this tensor"};
    }
    return through_file ? files_.read_through_file(entry_)
                        : files_.read(entry_);
  }

  StepFiles& files_;
  const RunTable& table_;
  EntryId entry_;
  std::optional<Result<TensorValue>> value_;
};

// Builds the observations of one step, and owns what they point to.
class StepObservations {
 public:
  StepObservations(const Storage& storage, const RunTable& table,
                   EventFiles& event_files,
                   const std::function<bool(std::string_view)>& wanted)
      : table_(table), wanted_(wanted), files_(storage, table, event_files) {}

  void add_file(FileId file) {
    std::unordered_map<TensorId, std::size_t> indices;
    const EntryId first = table_.file(file).first_entry;
    for (EntryId id = first; id < first + table_.file(file).entries; ++id) {
      const TensorId tensor = table_.entry(id).tensor;
      if (wanted_ && !wanted_(table_.tensor_name(tensor))) continue;
      const auto [index, is_new] = indices.try_emplace(tensor, parts_.size());
      if (is_new) parts_.push_back({file, tensor, kNone, {}});
      Part& part = parts_[index->second];
      if (table_.entry(id).is_reduction()) {
        part.reductions.push_back(id);
      } else {
        part.value = id;
      }
    }
  }

  std::span<const Observation> finish() {
    for (const Part& part : parts_) observations_.push_back(observe(part));
    return observations_;
  }

  // The event files of which something that was asked for could not be read.
  std::vector<Damage> damage() const {
    std::vector<Damage> damage = damage_;
    for (const EntryValues& values : values_) {
      if (auto found = values.damage()) damage.push_back(*std::move(found));
    }
    return damage;
  }

 private:
  struct Part {
    FileId file;
    TensorId tensor;
    EntryId value;
    std::vector<EntryId> reductions;
  };

  Observation observe(const Part& part) {
    EntryValues& values = values_.emplace_back(files_, table_, part.value);
    Observation observation;
    observation.name = table_.tensor_name(part.tensor);
    observation.worker = table_.worker_name(table_.file(part.file).worker);
    observation.values = &values;
    if (part.value != kNone) describe(part.value, values, observation);
    if (observation.statistics == nullptr) {
      observation.reductions = read_reductions(part);
    }
    return observation;
  }

  // The original's index has neither dtype nor shape; its records have both.
  void describe(EntryId id, EntryValues& values, Observation& observation) {
    const IndexEntry& entry = table_.entry(id);
    observation.statistics = table_.statistics(id);
    observation.placement = table_.placement(id);
    if (const auto* shape = table_.shape(id)) observation.shape = *shape;
    if (const auto dtype = entry.dtype()) {
      observation.dtype = *dtype;
    } else if (entry.has_record()) {
      const Result<TensorValue>& value = values.loaded(true);
      if (!value) return;
      observation.dtype = value->dtype();
      observation.shape = value->shape();
    }
  }

  std::span<const SavedReduction> read_reductions(const Part& part) {
    std::vector<SavedReduction>& saved = reductions_.emplace_back();
    for (EntryId id : part.reductions) {
      const Result<TensorValue> value = files_.read_through_file(id);
      if (!value) {
        damage_.push_back(
            {table_.event_file(part.file), value.error().message});
        continue;
      }
      saved.push_back({table_.entry(id).op(), reduction_value(*value)});
    }
    return saved;
  }

  const RunTable& table_;
  const std::function<bool(std::string_view)>& wanted_;
  StepFiles files_;
  std::vector<Part> parts_;
  std::deque<EntryValues> values_;
  std::deque<std::vector<SavedReduction>> reductions_;
  std::vector<Observation> observations_;
  std::vector<Damage> damage_;  // by reductions
};

}  // namespace

Result<Step> Trial::Impl::feed(
    ObservationSink& sink, std::size_t run, Step first,
    const std::function<bool(std::string_view)>& wanted, Step end) {
  load_statistics();
  SMD_CHECK_OK(load_facts());
  SMD_CHECK_OK(load_series());
  Feed& feed = feed_of(sink, run, first);
  const auto& steps = table().steps();
  auto step = steps.lower_bound(first);
  for (; step != steps.end(); ++step) {
    if (step->first >= end || !completeness_.is_over(step->first)) break;
    report_collections(feed, sink);
    report_facts(feed, sink, step->first);
    feed.scalars.report(series_, sink, run, step->first + 1);
    StepObservations observations(*storage_, table(), event_files_, wanted);
    for (FileId file : step->second.files) observations.add_file(file);
    sink.on_step(
        {run, step->second.id, StepPhase::complete, observations.finish()});
    for (const Damage& part : observations.damage()) {
      unreadable_.emplace(part.key, part.what);
    }
    feed.next = step->first + 1;
  }
  // The scalars after the last step. Not before the first one: the sink could
  // be a new one at the address of an earlier one, and would miss them.
  if (feed.next != feed.first || completeness_.has_ended()) {
    const Step pending = step == steps.end() ? end : step->first;
    feed.scalars.report(series_, sink, run, std::min(end, pending));
  }
  return feed.next;
}

Trial::Impl::Feed& Trial::Impl::feed_of(ObservationSink& sink, std::size_t run,
                                        Step first) {
  const auto known = std::ranges::find_if(feeds_, [&](const Feed& feed) {
    return feed.sink == &sink && feed.run == run;
  });
  if (known != feeds_.end()) {
    if (known->next != first) *known = Feed{&sink, run, first};
    return *known;
  }
  if (feeds_.size() == kMaxFeeds) feeds_.erase(feeds_.begin());
  return feeds_.emplace_back(Feed{&sink, run, first});
}

void Trial::Impl::report_collections(Feed& feed, ObservationSink& sink) {
  if (feed.collections_version == collections_.version()) return;
  feed.collections_version = collections_.version();
  sink.on_collections(feed.run, collections_.groups());
}

void Trial::Impl::report_facts(Feed& feed, ObservationSink& sink,
                               Step step) const {
  for (const WorkerFacts& one : facts_.all()) {
    if (one.facts.step >= feed.facts_from && one.facts.step <= step)
      sink.on_facts(feed.run, one.worker, one.facts);
  }
  feed.facts_from = step + 1;
}

}  // namespace smdebug
