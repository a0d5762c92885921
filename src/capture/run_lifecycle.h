#pragma once

// One run from its first step to its end: the claim on its folder, the writer
// and its files, and the first error. Nothing is written before `start`. After
// an error, or if another process writes the run, calls return at once and are
// counted.

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "smdebug/base/result.h"
#include "smdebug/capture/session_status.h"
#include "smdebug/store/storage.h"

#include "capture/recorder.h"
#include "capture/run_files.h"
#include "capture/session_context.h"
#include "capture/slot_table.h"
#include "capture/tensorboard_writer.h"

namespace smdebug {

struct RunStorages {
  std::shared_ptr<Storage> run;          // for the write thread
  std::shared_ptr<Storage> bounded;      // the same, for the training's threads
  std::shared_ptr<Storage> tensorboard;  // null: nothing is written for it
};

// Why the folders of a run cannot be written, as far as that is known before
// its first step.
struct FolderErrors {
  std::optional<Error> run;
  std::optional<Error> tensorboard;
};

class RunLifecycle {
 public:
  // The context must outlive this.
  RunLifecycle(SessionContext& context, std::shared_ptr<const SlotTable> slots,
               RunStorages storages);

  // Latches and logs each error, so that nothing is written there. Call it
  // before `start`.
  void give_up_folders(FolderErrors errors);

  // Claims the run and starts its writer, at the first step, unless an error is
  // latched. A failure is latched.
  void start();
  bool is_started() const { return first_step_at_.has_value(); }

  // Null before `start`, and if this process does not write the run.
  Recorder* recorder() { return recorder_.get(); }

  // Whether a call has an effect. Counts a call that has none.
  bool is_recording();
  // Does the same, without checking whether the write thread has failed.
  bool is_active() const {
    return !is_over() && state_ == SessionStatus::State::active;
  }
  bool is_inactive() const { return state_ == SessionStatus::State::inactive; }
  // True after `close` and in the child of a fork.
  bool is_over() const { return is_forked_ || is_closed_; }
  bool is_forked() const { return is_forked_; }

  // Writes the collections file if tensors were added or the plan has changed
  // since the last time.
  void write_collections(std::uint64_t plan_version);
  // Does the same at the end of a step, but not for every new tensor: the
  // number of writes grows with the logarithm of the number of tensors.
  void write_collections_if_due(std::uint64_t plan_version);

  // Blocks until everything captured so far is written. Fails with the latched
  // error, and as `WriteThread::drain`.
  Status flush();

  // Latches a failure if the storage has not responded within the limit.
  void notice_stuck_writer();

  // --- the end, in this order ---

  // Writes the tensors captured so far and ends the thread.
  void stop(std::uint64_t plan_version);
  // Writes the end of `run.json` and the end marker, and removes the claim.
  void write_end(const SessionStatus& status, const SessionCost& cost);
  // Returns the latched error, if any.
  Status close();

  // Never frees the recorder: in the child its mutexes may stay locked forever.
  void after_fork_in_child();

  // Fill in the fields that the run knows.
  void report(SessionStatus& status);
  void report(SessionCost& cost);
  std::string uri() const { return storage_->uri(); }

 private:
  Status start_recording();
  std::unique_ptr<AttemptStart> begin_attempt(
      const std::shared_ptr<Storage>& target) const;
  // Returns whether this process may write the run.
  Result<bool> claim();
  void open_tensorboard();
  void open_progress();
  bool are_collections_due(std::uint64_t plan_version) const;
  void deactivate(std::string reason);
  void latch(Error error);
  void notice_failure();
  Status finish_files(const SessionStatus& status, const SessionCost& cost);

  SessionContext& context_;
  const std::shared_ptr<const SlotTable> shared_slots_;
  const SlotTable& slots_;
  const std::shared_ptr<Storage> storage_;
  const std::shared_ptr<StorageWatch> watch_;
  const std::shared_ptr<Storage> write_storage_;
  const std::shared_ptr<Storage> tensorboard_storage_;
  const double created_seconds_;
  // Of the write thread, which may outlive the context.
  const std::shared_ptr<DetachableLogger> logger_;

  std::shared_ptr<TensorBoardWriter> tensorboard_;  // the write thread's
  // The write thread's until that has ended; null: another worker writes it.
  std::shared_ptr<ProgressWriter> progress_;
  std::unique_ptr<Recorder> recorder_;
  std::optional<RunRecord> run_record_;
  std::optional<std::chrono::nanoseconds> first_step_at_;
  std::size_t exported_memberships_ = 0;
  std::uint64_t exported_plan_ = 0;
  std::chrono::nanoseconds exported_at_{0};

  bool is_claimed_ = false;
  std::string claim_key_;
  bool is_closed_ = false;
  bool is_forked_ = false;
  SessionStatus::State state_ = SessionStatus::State::active;
  std::string inactive_reason_;
  std::optional<Error> error_;
  std::optional<Step> error_step_;
  std::optional<Error> tensorboard_error_;  // of the folder
  std::uint64_t calls_after_failure_ = 0;
};

}  // namespace smdebug
