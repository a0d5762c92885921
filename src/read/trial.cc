#include "smdebug/read/trial.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "smdebug/base/escape.h"
#include "smdebug/base/try.h"
#include "smdebug/core/error_subject.h"
#include "smdebug/read/run_folder.h"
#include "smdebug/store/bounded_storage.h"
#include "smdebug/store/open_storage.h"

#include "base/suggestions.h"
#include "format/facts_file.h"
#include "format/file_names.h"
#include "format/file_sizes.h"
#include "read/name_filter.h"
#include "read/trial_impl.h"

namespace smdebug {
namespace {

// The number of names that an error suggests.
constexpr std::size_t kOffered = 3;

// Replaces the error of an internal file by one about the run.
Error why_not_opened(const std::string& uri, Error error, bool has_waited) {
  const bool is_missing = error.code == Error::Code::not_found &&
                          error.detail == Error::Detail::none;
  if (!is_missing && error.code != Error::Code::io) return error;
  Error reason = no_run_error(uri);
  if (reason.code == Error::Code::unavailable) return error;
  // The failure was another one, such as a faulty disk.
  if (!is_missing && reason.code != Error::Code::io) return error;
  if (has_waited && is_missing)
    reason.message += "; wait longer if the training begins later";
  return reason;
}

// Returns "did you mean 'a' or 'b'?" as the end of a message; of a run without
// names, its first damage.
std::string offered(std::string_view wanted, std::span<const std::string> known,
                    std::string_view kind,
                    const std::function<std::vector<Damage>()>& find_damage) {
  if (!known.empty()) {
    return fmt::format("; did you mean {}?",
                       quoted_choice(nearest_names(wanted, known, kOffered)));
  }
  const std::vector<Damage> damage = find_damage();
  if (damage.empty()) return fmt::format(", which has no {}", kind);
  return fmt::format(", which has no {}: {}: {}", kind, damage.front().key,
                     damage.front().what);
}

Result<std::shared_ptr<Storage>> open_location(std::string_view location,
                                               const TrialOptions& options) {
  return options.storage_limit
             ? open_bounded_storage(location, *options.storage_limit)
             : open_storage(location);
}

}  // namespace

Result<std::unique_ptr<Trial>> Trial::open(std::string_view location,
                                           TrialOptions options) {
  SMD_TRY(std::shared_ptr<Storage> storage, open_location(location, options));
  const std::string uri = storage->uri();
  const bool waits = options.timeout != std::chrono::nanoseconds(0);
  auto trial = open(std::shared_ptr<const Storage>(std::move(storage)),
                    std::move(options));
  if (!trial) return why_not_opened(uri, std::move(trial).error(), waits);
  // A file counts as a run whose folders cannot be listed.
  std::error_code ignored;
  if ((*trial)->impl_->table().steps().empty() &&
      std::filesystem::is_regular_file(uri, ignored)) {
    return no_run_error(uri);
  }
  return trial;
}

Result<std::unique_ptr<Trial>> Trial::open(
    std::shared_ptr<const Storage> storage, TrialOptions options) {
  const auto first = options.first_step.value_or(0);
  if (first < 0 || (options.end_step && *options.end_step <= first)) {
    return Error{Error::Code::invalid_argument,
                 fmt::format("range of steps [{}, {}): its start must not be "
                             "negative, and its end must come after it",
                             first, options.end_step.value_or(first))};
  }
  auto impl = std::make_unique<Impl>(std::move(storage), options);
  SMD_TRY(const std::string_view folder, impl->wait_for_run());
  if (!folder.empty()) {
    options.name = impl->options().name;
    SMD_TRY(auto below,
            open_location(fmt::format("{}/{}", impl->storage().uri(), folder),
                          options));
    impl = std::make_unique<Impl>(std::move(below), std::move(options));
    SMD_CHECK_OK(impl->wait_for_run());
  }
  SMD_CHECK_OK(impl->refresh());
  return std::unique_ptr<Trial>(new Trial(std::move(impl)));
}

Trial::Trial(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Trial::~Trial() = default;

const std::string& Trial::name() const { return impl_->options().name; }

const std::string& Trial::location() const { return impl_->storage().uri(); }

std::recursive_mutex& Trial::turn() const { return impl_->turn; }

Status Trial::refresh() { return impl_->refresh(); }

void Trial::set_refreshing(bool refreshing) {
  impl_->is_refreshing = refreshing;
}

bool Trial::is_refreshing() const { return impl_->is_refreshing; }

bool Trial::has_ended() {
  impl_->refresh_for_query();
  return impl_->completeness().has_ended();
}

WriterState Trial::writer_state() { return impl_->writer_state(); }

std::optional<RunWriter> Trial::writer() { return impl_->writer(); }

std::uint64_t Trial::attempt() const { return impl_->attempt(); }

std::string Trial::framework() const { return impl_->framework(); }

Result<std::vector<Attempt>> Trial::attempts() { return impl_->attempts(); }

std::vector<WorkerFacts> Trial::facts() {
  impl_->refresh_for_query();
  if (const Status status = impl_->load_facts(); !status) {
    impl_->log_failure(status);
  }
  return impl_->facts();
}

std::vector<std::string> Trial::series_names() {
  impl_->refresh_for_query();
  if (!impl_->load_series()) return {};
  return impl_->series().names();
}

Result<std::vector<WorkerSeries>> Trial::series(std::string_view series_name) {
  impl_->refresh_for_query();
  SMD_CHECK_OK(impl_->load_series());
  auto series = impl_->series().series(series_name);
  if (!series.empty()) return series;
  return Error{
      Error::Code::not_found,
      fmt::format("no scalar series '{}' in run '{}'{}", printable(series_name),
                  name(),
                  offered(series_name, impl_->series().names(), "scalar series",
                          [this] { return impl_->damage(); }))};
}

bool Trial::exists() { return impl_->exists(); }

std::vector<std::string> Trial::tensor_names() {
  impl_->refresh_for_query();
  return impl_->sorted_names();
}

Result<std::vector<std::string>> Trial::tensor_names(
    const TensorNameQuery& query) {
  if (!query.regexes.empty() && query.collection) {
    return Error{Error::Code::invalid_argument,
                 "a query for tensor names has a regex and a collection: use "
                 "only one of them"};
  }
  impl_->refresh_for_query();
  std::vector<std::string> names = impl_->names_at(query.step, query.mode);
  std::vector<std::string> regexes = query.regexes, members = query.names;
  if (query.collection) {
    const auto collection = find_collection(*query.collection);
    if (!collection) {
      std::vector<std::string> known;
      for (const Collection& c : impl_->collections().collections()) {
        known.push_back(c.name());
      }
      return Error{Error::Code::not_found,
                   fmt::format("no collection '{}' in run '{}'{}",
                               *query.collection, name(),
                               offered(*query.collection, known, "collections",
                                       [this] { return impl_->damage(); }))};
    }
    regexes = collection->tensors.include_regex;
    members = collection->tensors.tensor_names;
  } else if (regexes.empty() && members.empty()) {
    return names;
  }
  SMD_TRY(const NameFilter filter,
          NameFilter::create(regexes, std::move(members)));
  std::vector<std::string> accepted;
  for (std::string& name : names) {
    SMD_TRY(const bool is_accepted, filter.accepts(name));
    if (is_accepted) accepted.push_back(std::move(name));
  }
  return accepted;
}

Result<Tensor> Trial::tensor(std::string_view tensor_name) {
  if (!impl_->table().find_tensor(tensor_name)) impl_->refresh_for_query();
  if (const auto id = impl_->table().find_tensor(tensor_name)) {
    return Tensor(this, *id);
  }
  auto subject = std::make_shared<ErrorSubject>();
  subject->tensor = printable(tensor_name);
  return Error{
      Error::Code::not_found,
      fmt::format("no tensor '{}' in run '{}'{}", printable(tensor_name),
                  name(),
                  offered(tensor_name, impl_->sorted_names(), "tensors",
                          [this] { return impl_->damage(); }))}
      .with(Error::Detail::tensor_unknown, std::move(subject));
}

bool Trial::has_tensor(std::string_view tensor_name) {
  if (impl_->table().find_tensor(tensor_name)) return true;
  impl_->refresh_for_query();
  return impl_->table().find_tensor(tensor_name).has_value();
}

std::vector<Step> Trial::steps(Mode mode, bool incomplete) {
  impl_->refresh_for_query();
  std::vector<Step> steps;
  const auto add = [&](Step step, Step global) {
    if (incomplete || impl_->completeness().is_over(global)) {
      steps.push_back(step);
    }
  };
  if (mode == Mode::global) {
    for (const auto& [global, step] : impl_->table().steps()) {
      add(global, global);
    }
  } else {
    for (const auto& [step, global] : impl_->table().steps_of(mode)) {
      add(step, global);
    }
  }
  return steps;
}

std::vector<Mode> Trial::modes() {
  impl_->refresh_for_query();
  std::vector<Mode> modes;
  for (Mode mode : kModes) {
    if (!impl_->table().steps_of(mode).empty()) modes.push_back(mode);
  }
  return modes;
}

std::optional<StepId> Trial::step_id(Step global_step) {
  impl_->refresh_for_query();
  const IndexedStep* step = impl_->table().find_step(global_step);
  if (step == nullptr) return std::nullopt;
  return step->id;
}

std::optional<Step> Trial::global_step(Mode mode, Step mode_step) {
  impl_->refresh_for_query();
  return impl_->find_global(mode_step, mode);
}

std::vector<std::string> Trial::workers() {
  impl_->refresh_for_query();
  return impl_->workers();
}

int Trial::num_workers() const { return impl_->collections().num_workers(); }

Step Trial::last_complete_step() const {
  return impl_->completeness().last_complete_step();
}

std::string Trial::last_index_token() const {
  return impl_->completeness().last_index_token();
}

std::vector<Collection> Trial::collections() {
  impl_->refresh_for_query();
  return impl_->collections().collections();
}

int Trial::collections_version() {
  impl_->refresh_for_query();
  return impl_->collections().version();
}

std::optional<Collection> Trial::find_collection(std::string_view name) {
  for (const Collection& collection : impl_->collections().collections()) {
    if (collection.name() == name) return collection;
  }
  return std::nullopt;
}

StepState Trial::has_passed_step(Step step, Mode mode) {
  impl_->refresh_for_query();
  return impl_->completeness().state(impl_->table(), step, mode);
}

Status Trial::wait_for_steps(std::span<const Step> steps, Mode mode,
                             std::optional<std::chrono::nanoseconds> timeout) {
  const Wait wait(impl_->options(), impl_->storage(), timeout);
  for (Step step : steps) SMD_CHECK_OK(impl_->wait_for_step(step, mode, wait));
  return {};
}

std::vector<Damage> Trial::damage() {
  impl_->refresh_for_query();
  (void)impl_->load_facts();  // damage lists a folder that cannot be read
  (void)impl_->load_series();
  return impl_->damage();
}

std::optional<std::string> Trial::refused_writer() const {
  const auto refused = find_refused_writer(impl_->storage());
  return refused ? *refused : std::nullopt;
}

std::uint64_t Trial::dropped_tensors() {
  impl_->refresh_for_query();
  return impl_->table().dropped_tensors();
}

Result<std::uint64_t> Trial::bytes() {
  SMD_TRY(const auto objects, impl_->storage().list(""));
  std::uint64_t sum = 0;
  for (const ObjectEntry& object : objects) sum += object.bytes;
  return sum;
}

Result<std::string> Trial::run_file_text() {
  SMD_TRY(const Bytes bytes,
          get_object(impl_->storage(), kRunFileKey, kMaxRunFileBytes));
  return std::string(bytes.text());
}

Result<Step> Trial::feed(ObservationSink& sink, std::size_t run, Step first,
                         const std::function<bool(std::string_view)>& wanted,
                         Step end) {
  impl_->refresh_for_query();
  return impl_->feed(sink, run, first, wanted, end);
}

std::string run_facts_json(const RunFacts& facts) {
  return write_facts_file(facts);
}

}  // namespace smdebug
