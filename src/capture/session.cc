#include "smdebug/capture/session.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "smdebug/store/open_storage.h"

#include "capture/session_impl.h"
#include "format/file_names.h"

namespace smdebug {
namespace {

// A folder in which a run has ended is not written into: two runs in one
// folder cannot be told apart.
Status check_not_ended(const Storage& storage) {
  auto has_ended = storage.exists(kEndMarkerKey);
  if (!has_ended || !*has_ended) return {};
  return Error{Error::Code::invalid_argument,
               "out_dir '" + storage.uri() +
                   "' holds a run that has ended: choose another folder or "
                   "remove it"};
}

// A direction that was never called may still match.
bool can_match_any(const ModuleSite::Direction& direction) {
  for (const std::atomic<Site*>& known : direction.sites) {
    const Site* site = known.load(std::memory_order_acquire);
    if (site == nullptr) break;
    if (!site->matched.empty()) return true;
  }
  return direction.sites.front().load() == nullptr;
}

// `prefix` is a name without its index.
bool may_match_any(const Plan& plan, const std::string& prefix) {
  for (std::size_t i = 0; i < ModuleSite::Direction::kKept; ++i) {
    if (!plan.match(prefix + std::to_string(i)).empty()) return true;
  }
  return false;
}

// Whether a collection of `due` is that one, or matches that name.
bool is_among(const Plan& plan, const CollectionSet& due,
              std::string_view tensor_name, std::string_view collection) {
  for (std::size_t i = 0; i < plan.collections().size(); ++i) {
    if (due.contains(i) && plan.collections()[i].name() == collection) {
      return true;
    }
  }
  return !(due & plan.match(tensor_name)).empty();
}

}  // namespace

Result<std::unique_ptr<Session>> Session::create(SessionOptions options) {
  SMD_TRY(auto plan, Plan::build(options.config, options.framework));
  if (!options.storage) {
    if (options.config.out_dir.empty()) {
      return Error{Error::Code::invalid_argument,
                   "out_dir is empty: say where the run is to be written"};
    }
    SMD_TRY(options.storage, open_storage(options.config.out_dir));
  }
  if (!options.config.tensorboard_dir) {
    options.tensorboard = nullptr;
  } else if (!options.tensorboard) {
    auto opened = open_storage(*options.config.tensorboard_dir);
    if (!opened) return std::move(opened).error().within("tensorboard_dir");
    options.tensorboard = *std::move(opened);
  }
  SMD_CHECK_OK(check_not_ended(*options.storage));
  return std::unique_ptr<Session>(
      new Session(std::make_unique<Impl>(std::move(options), std::move(plan))));
}

Session::Session(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Session::~Session() = default;

const HookConfig& Session::config() const { return impl_->config; }

Status Session::set_config(HookConfig config) {
  SMD_TRY(impl_->pending_plan, Plan::build(config, impl_->framework));
  impl_->config = std::move(config);
  return {};
}

std::uint64_t Session::plan_version() const { return impl_->plan_version; }

void Session::set_worker(int rank, int world_size, std::string_view name) {
  if (impl_->sequence != 0) return;
  impl_->rank = rank;
  impl_->worker =
      name.empty() ? "worker_" + std::to_string(rank) : std::string(name);
  impl_->num_workers = world_size;
  impl_->shares_process = !name.empty();
}

void Session::set_mode(Mode mode) { impl_->steps.set_mode(mode); }
Mode Session::mode() const { return impl_->steps.mode(); }
StepId Session::step() const { return impl_->steps.current(); }

bool Session::begin_step() {
  CycleMeter meter(impl_->step_cycles);
  return impl_->begin_step(capturing_);
}

bool Session::is_next_due() const { return !impl_->next_due().empty(); }

bool Session::is_next_due(const Site* site) const {
  const CollectionSet due = impl_->next_due();
  if (due.empty()) return false;
  return !(due & impl_->coming_matches(*site)).empty();
}

bool Session::is_next_due(std::string_view tensor_name,
                          std::string_view collection) const {
  const CollectionSet due = impl_->next_due();
  return !due.empty() &&
         is_among(impl_->coming_plan(), due, tensor_name, collection);
}

void Session::before_update() {
  if (!impl_->live.has_sink() || !is_capturing()) return;
  impl_->live.show(step(), StepPhase::before_update, impl_->worker);
}

void Session::end_step() {
  CycleMeter meter(impl_->step_cycles);
  impl_->end_step(capturing_);
}

void Session::take_over() { impl_->take_over(); }

Site* Session::tensor(std::string_view name) { return impl_->sites.site(name); }

Site* Session::tensor(std::string_view name,
                      std::span<const std::string> collections) {
  Site* site = tensor(name);
  if (impl_->sites.assign(*site, collections)) impl_->has_new_members = true;
  return site;
}

Site* Session::parameter(std::string_view root, std::string_view path) {
  return tensor(std::string(root) + "_" + std::string(path));
}

Site* Session::gradient(std::string_view root, std::string_view path) {
  return tensor("gradient/" + std::string(root) + "_" + std::string(path));
}

ModuleSite* Session::module(std::string_view path) {
  return impl_->sites.module(path);
}

bool Session::saves(std::string_view collection) const {
  const Plan& plan = impl_->sites.plan();
  for (std::size_t i = 0; i < plan.collections().size(); ++i) {
    if (plan.collections()[i].name() == collection) return plan.is_saved(i);
  }
  return false;
}

bool Session::is_due(const Site* site) const {
  return is_capturing() &&
         site->treatment.load(std::memory_order_relaxed) != nullptr;
}

bool Session::is_due(std::string_view tensor_name,
                     std::string_view collection) const {
  if (!is_capturing()) return false;
  const Plan& plan = impl_->sites.plan();
  return is_among(plan, plan.due(step()), tensor_name, collection);
}

std::vector<std::string> Session::due_collections() const {
  std::vector<std::string> names;
  if (!is_capturing()) return names;
  const Plan& plan = impl_->sites.plan();
  const CollectionSet due = plan.due(step());
  for (std::size_t i = 0; i < plan.collections().size(); ++i) {
    if (due.contains(i)) names.push_back(plan.collections()[i].name());
  }
  return names;
}

bool Session::can_match(const Site* site) const {
  return !site->matched.empty();
}

void Session::put(Site* site, const TensorView& tensor) {
  if (!is_capturing()) return;
  const Treatment* treatment = site->treatment.load(std::memory_order_relaxed);
  if (treatment == nullptr) return;
  impl_->capture(*site, *treatment, tensor, capturing_);
}

void Session::put_shared(std::span<Site* const> names,
                         const TensorView& tensor) {
  if (!is_capturing()) return;
  // Those that are written alike share one record.
  std::vector<std::pair<const Treatment*, std::vector<Site*>>> groups;
  for (Site* site : names) {
    const Treatment* treatment =
        site->treatment.load(std::memory_order_relaxed);
    if (treatment == nullptr) continue;
    const auto group = std::ranges::find(
        groups, treatment,
        &std::pair<const Treatment*, std::vector<Site*>>::first);
    // A reduction is a record of its own, with the name in its tag.
    if (group == groups.end() || !treatment->reductions.empty()) {
      groups.push_back({treatment, {site}});
    } else {
      group->second.push_back(site);
    }
  }
  for (auto& [treatment, sites] : groups)
    impl_->capture_shared(std::move(sites), *treatment, tensor);
}

bool Session::needs_elements(const Site* site) {
  if (!is_capturing()) return false;
  const Treatment* treatment = site->treatment.load(std::memory_order_relaxed);
  return treatment != nullptr && impl_->needs_elements(*site, *treatment);
}

void Session::put_statistics(Site* site, DType dtype,
                             std::span<const std::int64_t> shape,
                             const TensorStatistics& statistics) {
  if (!is_capturing()) return;
  const Treatment* treatment = site->treatment.load(std::memory_order_relaxed);
  if (treatment == nullptr) return;
  impl_->capture_statistics(*site, *treatment, {dtype, nullptr, shape, {}},
                            statistics, capturing_);
}

void Session::set_placement(Site* site,
                            const std::optional<ShardPlacement>& placement) {
  impl_->sites.place(*site, placement);
}

Site* Session::next_input(ModuleSite* module) {
  if (!is_capturing()) return nullptr;
  return impl_->sites.next_due(*module, module->inputs, impl_->sequence);
}

Site* Session::next_output(ModuleSite* module) {
  if (!is_capturing()) return nullptr;
  return impl_->sites.next_due(*module, module->outputs, impl_->sequence);
}

void Session::put_input(ModuleSite* module, const TensorView& tensor) {
  if (Site* site = next_input(module)) put(site, tensor);
}

void Session::put_output(ModuleSite* module, const TensorView& tensor) {
  if (Site* site = next_output(module)) put(site, tensor);
}

bool Session::can_match_input(const ModuleSite* module) const {
  return can_match_any(module->inputs);
}

bool Session::can_match_output(const ModuleSite* module) const {
  return can_match_any(module->outputs);
}

bool Session::may_match_input(const ModuleSite* module) const {
  return may_match_any(impl_->coming_plan(), module->path + "_input_");
}

bool Session::may_match_output(const ModuleSite* module) const {
  return may_match_any(impl_->coming_plan(), module->path + "_output_");
}

void Session::skip(Site* site, std::string_view reason) {
  impl_->skip(*site, reason);
}

void Session::save_scalar(std::string_view name, double value,
                          std::optional<double> wall_seconds) {
  impl_->save_number(name, DType::float64, &value, wall_seconds);
}

void Session::save_integer(std::string_view name, std::int64_t value,
                           std::optional<double> wall_seconds) {
  impl_->save_number(name, DType::int64, &value, wall_seconds);
}

Status Session::save_tensor(std::string_view name, const TensorView& tensor,
                            std::span<const std::string> collections) {
  if (name.empty()) {
    return Error{Error::Code::invalid_argument,
                 "a tensor is to be saved without a name: give it one"};
  }
  impl_->save({.name = std::string(name),
               .collections = {collections.begin(), collections.end()}},
              tensor);
  return {};
}

void Session::pause() { impl_->wants_pause = true; }
void Session::resume() { impl_->wants_pause = false; }
bool Session::is_paused() const { return impl_->wants_pause; }

void Session::export_collections() { impl_->export_collections(); }

Status Session::flush() {
  if (impl_->is_dead) return {};
  if (!impl_->recorder) return impl_->failure();
  SMD_CHECK_OK(impl_->recorder->thread->drain());
  if (auto failure = impl_->recorder->thread->failure()) return failure->error;
  return {};
}

Status Session::close() { return impl_->close(capturing_); }

SessionStatus Session::status() const { return impl_->status(); }
SessionCost Session::cost() const { return impl_->cost(); }
std::string Session::worker() const { return impl_->worker; }

bool Session::is_first_worker() const { return impl_->is_first_worker(); }
std::string Session::summary() const { return impl_->summary; }

void Session::set_sink(ObservationSink* sink) {
  impl_->live.set_sink(sink);
  impl_->tell_sink_collections();
}

void Session::after_fork_in_child() {
  capturing_.store(false);
  impl_->is_dead = true;
  // The thread is not there, and its mutexes may be held for ever.
  (void)impl_->recorder.release();
}

}  // namespace smdebug
