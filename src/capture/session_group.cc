#include "smdebug/capture/session_group.h"

#include <algorithm>
#include <memory>

namespace smdebug {
namespace {

Error refused(const std::string& why) {
  return {Error::Code::invalid_argument, "workers cannot be added: " + why};
}

}  // namespace

Status SessionGroup::spread(std::span<Session* const> further,
                            std::span<const std::string> workers) {
  if (sessions_.size() > 1) return refused("the group has several already");
  if (has_begun_) return refused("the run has begun");
  if (further.size() + 1 != workers.size()) {
    return refused(std::to_string(further.size() + 1) + " sessions have " +
                   std::to_string(workers.size()) + " names");
  }
  sessions_.insert(sessions_.end(), further.begin(), further.end());
  const int size = static_cast<int>(sessions_.size());
  for (int rank = 0; rank < size; ++rank) {
    Session& session = *sessions_[static_cast<std::size_t>(rank)];
    session.set_worker(rank, size, workers[static_cast<std::size_t>(rank)]);
    session.set_mode(sessions_.front()->mode());
  }
  return {};
}

bool SessionGroup::has_worker(std::int64_t worker) const {
  return worker >= 0 && worker < static_cast<std::int64_t>(sessions_.size());
}

std::optional<std::size_t> SessionGroup::select(
    std::optional<std::size_t> worker) {
  const std::thread::id thread = std::this_thread::get_id();
  std::lock_guard lock(mutex_);
  std::optional<std::size_t> before;
  if (const auto found = selections_.find(thread); found != selections_.end())
    before = found->second;
  if (worker) {
    selections_[thread] = *worker;
  } else {
    selections_.erase(thread);
  }
  return before;
}

WorkerRange SessionGroup::selected_workers() const {
  const WorkerRange all = {.first = 0, .count = sessions_.size()};
  if (all.count == 1) return all;
  std::lock_guard lock(mutex_);
  const auto found = selections_.find(std::this_thread::get_id());
  if (found == selections_.end() || found->second >= all.count) return all;
  return {.first = found->second, .count = 1};
}

std::span<Session* const> SessionGroup::selected() const {
  const WorkerRange workers = selected_workers();
  return std::span(sessions_).subspan(workers.first, workers.count);
}

GroupSlot SessionGroup::tensor(std::string_view name,
                               std::span<const std::string> collections) {
  std::vector<TensorSlot> slots;
  for (Session* session : sessions_)
    slots.push_back(session->tensor(name, collections));
  return {this, std::move(slots)};
}

bool SessionGroup::begin_step() {
  has_begun_ = true;
  const auto sessions = selected();
  const bool is_due = sessions.front()->begin_step();
  for (Session* session : sessions.subspan(1)) session->begin_step();
  return is_due;
}

void SessionGroup::before_update() {
  for (Session* session : selected()) session->before_update();
}

void SessionGroup::end_step() {
  for (Session* session : selected()) session->end_step();
}

void SessionGroup::bind_to_current_thread() {
  for (Session* session : selected()) session->bind_to_current_thread();
}

void SessionGroup::save_scalar(std::string_view name, double value,
                               std::optional<double> wall_seconds) {
  for (Session* session : selected())
    session->save_scalar(name, value, wall_seconds);
}

void SessionGroup::save_integer(std::string_view name, std::int64_t value,
                                std::optional<double> wall_seconds) {
  for (Session* session : selected())
    session->save_integer(name, value, wall_seconds);
}

Status SessionGroup::save_tensor(std::string_view name,
                                 const TensorView& tensor,
                                 std::span<const std::string> collections) {
  return for_each_session(selected(), [&](Session& session) {
    return session.save_tensor(name, tensor, collections);
  });
}

Status SessionGroup::set_config(const HookConfig& config) {
  return for_each_session(
      sessions_, [&](Session& session) { return session.set_config(config); });
}

void SessionGroup::set_worker(int rank, int world_size) {
  if (sessions_.size() == 1) sessions_.front()->set_worker(rank, world_size);
}

void SessionGroup::set_mode(Mode mode) {
  for (Session* session : sessions_) session->set_mode(mode);
}

void SessionGroup::pause() {
  for (Session* session : sessions_) session->pause();
}

void SessionGroup::resume() {
  for (Session* session : sessions_) session->resume();
}

void SessionGroup::export_collections() {
  for (Session* session : sessions_) session->export_collections();
}

void SessionGroup::explain_empty(std::string_view collection,
                                 std::string_view reason) {
  for (Session* session : sessions_) session->explain_empty(collection, reason);
}

Status SessionGroup::flush() {
  return for_each_session(sessions_,
                          [](Session& session) { return session.flush(); });
}

Status SessionGroup::close(std::string_view raised) {
  Status written;
  if (sessions_.size() > 1) {
    for (Session* session : sessions_) session->end_step();
    written = flush();
  }
  Status closed = for_each_session(
      sessions_, [&](Session& session) { return session.close(raised); });
  return closed ? written : closed;
}

void SessionGroup::after_fork_in_child() {
  // Another thread of the parent may have held it.
  std::construct_at(&mutex_);
  for (Session* session : sessions_) session->after_fork_in_child();
}

SessionStatus SessionGroup::status() const {
  std::vector<SessionStatus> statuses;
  for (const Session* session : sessions_)
    statuses.push_back(session->status());
  return merged_status(statuses);
}

SessionCost SessionGroup::cost() const {
  std::vector<SessionCost> costs;
  for (const Session* session : sessions_) costs.push_back(session->cost());
  return merged_cost(costs);
}

WorkerRange GroupSlot::selected() const {
  const WorkerRange workers = group_->selected_workers();
  const WorkerRange all = {.first = 0, .count = slots_.size()};
  return workers.first + workers.count > all.count ? all : workers;
}

void GroupSlot::put(const TensorView& tensor) const {
  for_each_selected(
      [&](const TensorSlot& slot, std::size_t) { slot.put(tensor); });
}

Status GroupSlot::put_each(std::span<const TensorView> tensors) const {
  if (tensors.size() != slots_.size()) {
    return Error{Error::Code::invalid_argument,
                 std::to_string(slots_.size()) + " workers cannot share " +
                     std::to_string(tensors.size()) + " tensors"};
  }
  for_each_selected([&](const TensorSlot& slot, std::size_t worker) {
    slot.put(tensors[worker]);
  });
  return {};
}

void GroupSlot::skip(std::string_view reason) const {
  first().skip(reason);
  leave_out(reason);
}

void GroupSlot::leave_out(std::string_view reason) const {
  for_each_selected(
      [&](const TensorSlot& slot, std::size_t) { slot.leave_out(reason); });
}

bool GroupSlot::is_due() const { return first().is_due(); }
bool GroupSlot::is_next_due() const { return first().is_next_due(); }
bool GroupSlot::can_match() const { return first().can_match(); }

SessionStatus merged_status(std::span<const SessionStatus> statuses) {
  const auto failed = std::ranges::find_if(
      statuses,
      [](const SessionStatus& each) { return each.error.has_value(); });
  SessionStatus merged = failed == statuses.end() ? statuses.front() : *failed;
  merged.tensors = merged.records = merged.bytes = 0;
  merged.removed_steps = merged.replaced_tensors = 0;
  merged.dropped_tensors = merged.dropped_bytes = 0;
  merged.skipped.clear();
  for (const SessionStatus& each : statuses) {
    merged.tensors += each.tensors;
    merged.records += each.records;
    merged.bytes += each.bytes;
    merged.removed_steps += each.removed_steps;
    merged.replaced_tensors += each.replaced_tensors;
    merged.dropped_tensors += each.dropped_tensors;
    merged.dropped_bytes += each.dropped_bytes;
    for (const auto& [name, reason] : each.skipped)
      merged.skipped.insert_or_assign(name, reason);
  }
  return merged;
}

SessionCost merged_cost(std::span<const SessionCost> costs) {
  SessionCost merged = costs.front();
  for (const SessionCost& each : costs.subspan(1)) {
    merged.step_thread_seconds += each.step_thread_seconds;
    merged.wait_seconds += each.wait_seconds;
    merged.writer_cpu_seconds += each.writer_cpu_seconds;
    merged.bytes_captured += each.bytes_captured;
    merged.bytes_written += each.bytes_written;
  }
  return merged;
}

}  // namespace smdebug
