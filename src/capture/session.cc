#include "smdebug/capture/session.h"

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "smdebug/base/try.h"
#include "smdebug/core/tensor_names.h"
#include "smdebug/store/bounded_storage.h"
#include "smdebug/store/open_storage.h"

#include "capture/session_impl.h"
#include "format/file_names.h"

namespace smdebug {
namespace {

// Refuses a folder in which a run has ended, because readers could not
// distinguish the two runs. A storage that does not respond is a failure of the
// first step.
Status check_not_ended(const Storage& storage) {
  auto has_ended = storage.exists(kEndMarkerKey);
  if (!has_ended || !*has_ended) return {};
  return Error{Error::Code::closed,
               "out_dir '" + storage.uri() +
                   "' holds a run that has ended: choose another folder or "
                   "remove it"};
}

WaitLimit limit_of(const SessionOptions& options) {
  if (options.storage_timeout.count() > 0)
    return {options.storage_timeout, options.check_interrupt};
  return WaitLimit::from_environment(options.check_interrupt);
}

std::optional<Error> folder_error(std::string_view option,
                                  const std::string& location) {
  const Status checked = check_writable(location);
  if (checked || checked.error().code != Error::Code::io) return std::nullopt;
  return Error{
      Error::Code::io,
      fmt::format("{} '{}' cannot be written: {}; choose another folder",
                  option, location, checked.error().message)};
}

// Finds folders that cannot be written before the training begins. A file
// system that does not respond is a failure of the first step.
FolderErrors find_folder_errors(const SessionOptions& options) {
  const HookConfig& config = options.config;
  if (config.dry_run) return {};
  const auto found = std::make_shared<FolderErrors>();
  const auto run = options.storage ? std::string() : config.out_dir;
  const auto tensorboard =
      options.tensorboard ? std::nullopt : config.tensorboard_dir;
  const Status looked = call_bounded(
      "look up the folder", config.out_dir, limit_of(options),
      [found, run, tensorboard] {
        if (!run.empty()) found->run = folder_error("out_dir", run);
        // By default, the folder is inside `out_dir`.
        if (tensorboard && !found->run) {
          found->tensorboard = folder_error("tensorboard_dir", *tensorboard);
        }
        return Status();
      });
  return looked ? *found : FolderErrors();
}

Status open_storages(SessionOptions& options) {
  const HookConfig& config = options.config;
  const FileAccess access =
      config.is_private ? FileAccess::owner_only : FileAccess::by_umask;
  if (!options.storage) {
    if (config.out_dir.empty()) {
      return Error{Error::Code::invalid_argument,
                   "out_dir is empty: name a folder for the run"};
    }
    const FileSync sync = config.durability == Durability::step
                              ? FileSync::each_call
                              : FileSync::never;
    auto opened =
        open_storage(config.out_dir, access, MissingFolder::create, sync);
    if (!opened) return std::move(opened).error().within("out_dir");
    options.storage = *std::move(opened);
  }
  if (!config.tensorboard_dir) {
    options.tensorboard = nullptr;
  } else if (!options.tensorboard) {
    auto opened = open_storage(*config.tensorboard_dir, access);
    if (!opened) return std::move(opened).error().within("tensorboard_dir");
    options.tensorboard = *std::move(opened);
  }
  return {};
}

// In a hand-written loop, a parameter may have any name.
bool has_free_names(const Framework& framework) {
  return framework.name == plain_framework().name;
}

bool is_bias(std::string_view path) {
  return path.find("bias") != std::string_view::npos;
}

// A number is a tensor of shape (1,).
void save_number(StepLifecycle& steps, std::string_view name, DType dtype,
                 const void* value, std::optional<double> wall_seconds) {
  constexpr std::array<std::int64_t, 1> kOne = {1};
  steps.save({.name = scalar_name(name),
              .collections = {},
              .is_scalar = true,
              .wall_seconds = wall_seconds.value_or(0)},
             {dtype, static_cast<const std::byte*>(value), kOne, {}});
}

}  // namespace

// --- the parts ---

SessionImpl::SessionImpl(SessionOptions options,
                         std::shared_ptr<Storage> bounded,
                         std::shared_ptr<const Plan> plan)
    : device_transfer(std::move(options.device_transfer)),
      context{std::move(options.config),
              std::move(options.framework),
              std::move(options.process),
              options.clock != nullptr ? *options.clock : system_clock(),
              options.logger != nullptr ? *options.logger : default_logger(),
              limit_of(options),
              {},
              {}},
      shared_slots(std::make_shared<SlotTable>(std::move(plan))),
      slots(*shared_slots),
      run(context, shared_slots,
          {std::move(options.storage), std::move(bounded),
           std::move(options.tensorboard)}),
      sink(slots, context.logger, leaps),
      scalars(context, run, sink, leaps),
      steps(context, slots, run, sink, scalars, leaps),
      facts(context, run, sink) {}

Status SessionImpl::close(std::string_view raised) {
  if (run.is_over()) return {};
  steps.finish();
  scalars.finish();
  run.stop(steps.plan_version());
  SessionStatus last = status();
  last.raised = raised;
  run.write_end(last, cost());
  return run.close();
}

SessionStatus SessionImpl::status() {
  SessionStatus status;
  run.report(status);
  status.last_step = context.steps.current().global;
  status.steps = steps.begun();
  status.steps_saved = steps.saved();
  status.skipped = sink.skipped();
  status.dropped_scalars = scalars.dropped();
  return status;
}

SessionCost SessionImpl::cost() {
  SessionCost cost;
  run.report(cost);
  cost.step_thread_seconds = sink.step_seconds();
  cost.steps = steps.begun();
  return cost;
}

// --- the public class ---

Result<std::unique_ptr<Session>> Session::create(SessionOptions options) {
  if (options.framework.name.empty()) options.framework = plain_framework();
  SMD_TRY(auto plan, Plan::build(options.config, options.framework));
  FolderErrors errors = find_folder_errors(options);
  SMD_CHECK_OK(open_storages(options));
  if (errors.tensorboard) options.tensorboard = nullptr;
  auto bounded = bounded_storage(options.storage, limit_of(options));
  SMD_CHECK_OK(check_not_ended(*bounded));
  auto impl = std::make_unique<SessionImpl>(
      std::move(options), std::move(bounded), std::move(plan));
  impl->run.give_up_folders(std::move(errors));
  return std::unique_ptr<Session>(new Session(std::move(impl)));
}

Session::Session(std::unique_ptr<SessionImpl> impl) : impl_(std::move(impl)) {}
Session::~Session() = default;

const HookConfig& Session::config() const { return impl_->context.config; }

Status Session::set_config(HookConfig config) {
  SMD_TRY(auto plan, Plan::build(config, impl_->context.framework));
  impl_->steps.set_plan(std::move(plan));
  impl_->context.config = std::move(config);
  return {};
}

void Session::set_worker(int rank, int world_size, std::string_view name) {
  if (impl_->steps.begun() != 0) return;
  impl_->context.worker = {
      rank, name.empty() ? "worker_" + std::to_string(rank) : std::string(name),
      world_size, !name.empty()};
}

CapturePlanView Session::plan() const { return CapturePlanView(*impl_); }

void Session::set_mode(Mode mode) { impl_->context.steps.set_mode(mode); }
Mode Session::mode() const { return impl_->context.steps.mode(); }
StepId Session::step() const { return impl_->context.steps.current(); }

bool Session::begin_step() {
  CycleMeter meter(impl_->sink.step_cycles());
  const bool is_due = impl_->steps.begin();
  impl_->facts.publish_waiting();
  return is_due;
}

void Session::before_update() {
  if (!is_capturing()) return;
  impl_->sink.show_step(step(), StepPhase::before_update,
                        impl_->context.worker.name);
}

void Session::end_step() {
  CycleMeter meter(impl_->sink.step_cycles());
  impl_->steps.end();
}

bool Session::is_capturing() const { return impl_->sink.is_capturing(); }

void Session::bind_to_current_thread() { impl_->sink.bind_to_current_thread(); }

Session::Turn Session::try_turn() {
  Turn turn;
  std::unique_lock lock(*impl_->turn, std::try_to_lock);
  if (!lock || !impl_->sink.may_change_owner()) return turn;
  turn.lock_ = std::move(lock);
  turn.session_ = impl_.get();
  turn.owner_before_ = impl_->sink.owner();
  impl_->sink.bind_to_current_thread();
  return turn;
}

void Session::Turn::return_ownership() {
  session_->sink.set_owner(owner_before_);
}

void Session::explain_empty(std::string_view collection,
                            std::string_view reason) {
  impl_->steps.explain_empty(collection, reason);
}

void Session::pause() { impl_->steps.set_paused(true); }
void Session::resume() { impl_->steps.set_paused(false); }
bool Session::is_paused() const { return impl_->steps.is_paused(); }

TensorSlot Session::tensor(std::string_view name,
                           std::span<const std::string> collections) {
  SlotState* slot = impl_->slots.slot(name);
  if (!collections.empty()) impl_->sink.assign(*slot, collections);
  return {impl_.get(), slot};
}

TensorSlot Session::parameter(std::string_view root, std::string_view path) {
  const std::string name = parameter_name(root, path);
  if (!has_free_names(impl_->context.framework) &&
      !impl_->context.config.parameters_by_role) {
    return tensor(name);
  }
  return tensor(name, {is_bias(path) ? "biases" : "weights"});
}

TensorSlot Session::gradient(std::string_view root, std::string_view path) {
  return tensor(gradient_name(parameter_name(root, path)));
}

ModuleSlots Session::module(std::string_view path) {
  return {impl_.get(), impl_->slots.module(path)};
}

void Session::put_shared(std::span<const TensorSlot> slots,
                         const TensorView& tensor) {
  if (!is_capturing()) return;
  std::vector<SlotState*> states;
  for (const TensorSlot& slot : slots) states.push_back(slot.state_);
  impl_->sink.capture_shared(states, tensor);
}

void Session::save_scalar(std::string_view name, double value,
                          std::optional<double> wall_seconds) {
  save_number(impl_->steps, name, DType::float64, &value, wall_seconds);
}

void Session::save_integer(std::string_view name, std::int64_t value,
                           std::optional<double> wall_seconds) {
  save_number(impl_->steps, name, DType::int64, &value, wall_seconds);
}

Status Session::save_tensor(std::string_view name, const TensorView& tensor,
                            std::span<const std::string> collections) {
  if (name.empty()) {
    return Error{Error::Code::invalid_argument,
                 "save_tensor needs a name for the tensor"};
  }
  impl_->steps.save({.name = std::string(name),
                     .collections = {collections.begin(), collections.end()}},
                    tensor);
  return {};
}

void Session::set_sink(ObservationSink* sink) {
  if (!impl_->sink.has_observer()) impl_->scalars.skip_to_now();
  impl_->sink.set_observer(sink);
  impl_->facts.show();
}

void Session::set_facts(RunFacts facts) { impl_->facts.set(std::move(facts)); }

ScalarSlot Session::scalar(std::string_view name) {
  const Plan& plan = impl_->slots.plan();
  const bool is_loss = plan.save_spec(plan.match(name)).is_loss;
  return {impl_.get(), impl_->scalars.series(name, is_loss)};
}

void Session::keep_step(Step step) {
  RunLifecycle& run = impl_->run;
  if (run.recorder() != nullptr && run.is_recording())
    run.recorder()->owner_lane->keep_step(step);
}

void Session::export_collections() {
  RunLifecycle& run = impl_->run;
  if (run.recorder() == nullptr || !run.is_recording()) return;
  run.write_collections(impl_->steps.plan_version());
  impl_->scalars.hand_over();
}

Status Session::flush() {
  export_collections();
  return impl_->run.flush();
}
Status Session::close(std::string_view raised) { return impl_->close(raised); }

void Session::after_fork_in_child() {
  (void)impl_->turn.release();
  impl_->turn = std::make_unique<std::recursive_mutex>();
  impl_->sink.after_fork_in_child();
  impl_->scalars.stop();
  impl_->run.after_fork_in_child();
}

SessionStatus Session::status() const { return impl_->status(); }
SessionCost Session::cost() const { return impl_->cost(); }
std::string Session::worker() const { return impl_->context.worker.name; }
bool Session::is_first_worker() const {
  return impl_->context.worker.is_first();
}
std::string Session::summary() const { return impl_->steps.summary(); }

}  // namespace smdebug
