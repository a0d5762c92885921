#pragma once

// A `SessionGroup` drives the sessions of several workers in one process, such
// as the replicas of a model on several devices: each worker has a session and
// files of its own, and an adapter calls the group as it would call one
// session. A group of one session behaves like that session.
//
// A thread may select one worker. Its calls for a step then apply to that
// worker only; without a selection they apply to all workers. A call that fails
// for one session is still made for the others, and returns the first failure.
//
// Threads: as for `Session`, one owner for each worker. `select`, `selected`
// and `has_begun` may be called from any thread.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "smdebug/base/result.h"
#include "smdebug/capture/session.h"
#include "smdebug/capture/tensor_slot.h"

namespace [[gnu::visibility("default")]] smdebug {

class SessionGroup;

/// Consecutive workers of a group, by number.
struct WorkerRange {
  std::size_t first = 0;
  std::size_t count = 0;
};

// The slots of one tensor, one for each worker. Like `TensorSlot`, it is valid
// as long as its group, and the first selected worker answers its questions.
class GroupSlot {
 public:
  /// Captures the tensor for the selected workers if it is due. Any thread.
  void put(const TensorView& tensor) const;
  /// Captures `tensors[i]` for worker i, if it is selected. Fails with
  /// `invalid_argument` if there is not one tensor for each worker. Any thread.
  Status put_each(std::span<const TensorView> tensors) const;
  /// See `TensorSlot`.
  void skip(std::string_view reason) const;
  void leave_out(std::string_view reason) const;
  bool is_due() const;
  bool is_next_due() const;
  bool can_match() const;

  /// The number of workers.
  std::size_t size() const { return slots_.size(); }
  /// Calls `use(slot, worker)` for the slot of each worker that this thread has
  /// selected; there is at least one.
  template <typename Use>
  void for_each_selected(const Use& use) const {
    const WorkerRange workers = selected();
    for (std::size_t i = 0; i < workers.count; ++i)
      use(slots_[workers.first + i], workers.first + i);
  }

 private:
  friend class SessionGroup;
  GroupSlot(const SessionGroup* group, std::vector<TensorSlot> slots)
      : group_(group), slots_(std::move(slots)) {}
  WorkerRange selected() const;
  const TensorSlot& first() const { return slots_[selected().first]; }

  const SessionGroup* group_;
  std::vector<TensorSlot> slots_;
};

class SessionGroup {
 public:
  /// A group of one. Sessions must outlive their group.
  explicit SessionGroup(Session& first) : sessions_{&first} {}
  SessionGroup(const SessionGroup&) = delete;
  SessionGroup& operator=(const SessionGroup&) = delete;

  // --- workers ---

  /// Adds `further` sessions of the same run and names all workers, the first
  /// session's included. They take over the mode of the first session. Fails
  /// with `invalid_argument` if the numbers do not match, after a step has
  /// begun, and for a second call.
  Status spread(std::span<Session* const> further,
                std::span<const std::string> workers);

  std::size_t size() const { return sessions_.size(); }
  /// Whether a worker has a session. A group of one has only worker 0.
  bool has_worker(std::int64_t worker) const;
  /// Whether a step has begun, after which no worker can be added.
  bool has_begun() const { return has_begun_; }

  /// Selects a worker for the calling thread; none, or a worker without a
  /// session, selects all. Returns the previous selection.
  std::optional<std::size_t> select(std::optional<std::size_t> worker);
  /// The sessions that calls of this thread apply to; never empty.
  std::span<Session* const> selected() const;
  WorkerRange selected_workers() const;
  /// The first of them. It answers questions that have one answer, such as the
  /// step, or whether a tensor is due.
  Session& first_selected() const { return *selected().front(); }

  /// The slots of a tensor under all workers; see `Session::tensor`. Workers
  /// that are added later have no slot.
  GroupSlot tensor(std::string_view name,
                   std::span<const std::string> collections = {});

  // --- the selected workers ---

  /// Returns whether anything is due for the first of them.
  bool begin_step();
  void before_update();
  void end_step();
  /// See `Session::bind_to_current_thread`.
  void bind_to_current_thread();
  void save_scalar(std::string_view name, double value,
                   std::optional<double> wall_seconds = std::nullopt);
  void save_integer(std::string_view name, std::int64_t value,
                    std::optional<double> wall_seconds = std::nullopt);
  Status save_tensor(std::string_view name, const TensorView& tensor,
                     std::span<const std::string> collections);

  // --- all workers ---

  Status set_config(const HookConfig& config);
  /// Names the worker of a group of one; ignored once the workers have names.
  void set_worker(int rank, int world_size);
  void set_mode(Mode mode);
  void pause();
  void resume();
  void export_collections();
  void explain_empty(std::string_view collection, std::string_view reason);
  Status flush();
  /// Ends the run after the steps of all workers are written: the first session
  /// that closes writes the end marker. `raised`: see `Session::close`.
  Status close(std::string_view raised = {});
  void after_fork_in_child();

  /// The status of the first session that failed, or of the first session if
  /// none did. Counts of tensors, records and bytes are sums over all sessions.
  SessionStatus status() const;
  /// The overhead of all sessions together. `steps` and `run_seconds` are those
  /// of the first session.
  SessionCost cost() const;

 private:
  std::vector<Session*> sessions_;
  std::atomic<bool> has_begun_ = false;  // workers may begin at the same time

  mutable std::mutex mutex_;  // guards selections_
  std::map<std::thread::id, std::size_t> selections_;
};

/// Calls `call(session)`, which returns a Status, for each of `sessions`, also
/// after a failure. Returns the first failure.
template <typename Call>
Status for_each_session(std::span<Session* const> sessions, const Call& call) {
  Status first;
  for (Session* session : sessions) {
    Status status = call(*session);
    if (first && !status) first = std::move(status);
  }
  return first;
}

/// Merges the statuses of at least one worker; see `SessionGroup::status`.
SessionStatus merged_status(std::span<const SessionStatus> statuses);
/// Adds up the costs of several workers; see `SessionGroup::cost`.
SessionCost merged_cost(std::span<const SessionCost> costs);

}  // namespace smdebug
