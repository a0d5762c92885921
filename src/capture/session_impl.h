#pragma once

// The inside of a session: the parts that the public header does not show, and
// how they are wired. Made in three moves: `Impl` holds the configuration
// from the start; `Recorder` (rings, lanes, write thread) is made at the first
// step, when the worker is known and the run is claimed; it ends at `close`.

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "smdebug/capture/session.h"

#include "base/current_thread.h"
#include "capture/checkpoint_state.h"
#include "capture/cycle_clock.h"
#include "capture/lane.h"
#include "capture/live_step.h"
#include "capture/run_files.h"
#include "capture/saved_tensor.h"
#include "capture/slot_table.h"
#include "capture/staging_ring.h"
#include "capture/step_counter.h"
#include "capture/tensorboard_writer.h"
#include "capture/write_thread.h"

namespace smdebug {

// What was captured through one lane.
struct LaneCounts {
  std::uint64_t tensors = 0;
  std::uint64_t bytes = 0;
  std::uint64_t dropped_tensors = 0;
  std::uint64_t dropped_bytes = 0;
};

// The machinery between the training step and the files.
struct Recorder {
  std::unique_ptr<StagingRing> owner_ring;
  std::unique_ptr<StagingRing> shared_ring;
  std::unique_ptr<WriteThread> thread;
  std::optional<Lane> owner_lane;
  std::mutex shared_mutex;  // guards the shared lane and its counts
  std::optional<Lane> shared_lane;
  LaneCounts owner_counts;
  LaneCounts shared_counts;

  static Result<std::unique_ptr<Recorder>> create(
      const HookConfig& config, std::unique_ptr<StepWriter> writer,
      Logger& logger);

  LaneCounts counts();
};

class Session::Impl {
 public:
  Impl(SessionOptions options, std::shared_ptr<const Plan> plan);

  bool begin_step(std::atomic<bool>& capturing);
  void end_step(std::atomic<bool>& capturing);
  // The collections that are due in the step that would begin now.
  CollectionSet next_due() const;
  // The saved collections that a site belongs to in that step's plan.
  CollectionSet coming_matches(const Site& site) const;
  const Plan& coming_plan() const {
    return pending_plan ? *pending_plan : sites.plan();
  }
  void capture(Site& site, const Treatment& treatment, const TensorView& tensor,
               const std::atomic<bool>& capturing);
  bool needs_elements(const Site& site, const Treatment& treatment);
  // `tensor` shows a dtype and a shape.
  void capture_statistics(Site& site, const Treatment& treatment,
                          const TensorView& tensor,
                          const TensorStatistics& statistics,
                          const std::atomic<bool>& capturing);
  // One record for all `sites`, by the thread that owns the step.
  void capture_shared(std::vector<Site*> sites, const Treatment& treatment,
                      const TensorView& tensor);
  void skip(Site& site, std::string_view reason);  // says it once per name
  void save(const SavedTensor& saved, const TensorView& tensor);
  void save_number(std::string_view name, DType dtype, const void* value,
                   std::optional<double> wall_seconds);
  void export_collections();
  Status close(std::atomic<bool>& capturing);
  void tell_sink_collections();
  // The latched error, if there is one.
  Status failure() const {
    if (error_) return *error_;
    return {};
  }
  SessionStatus status();
  SessionCost cost();
  // How many processes write this run: what its readers wait for.
  int num_writers() const {
    return config.include_workers == IncludeWorkers::one ? 1 : num_workers;
  }
  bool is_first_worker() const { return rank == 0; }
  // The first worker's session tells what concerns all of the process's.
  bool is_spoken_for() const { return shares_process && !is_first_worker(); }
  bool is_owner() const { return owner_ == current_thread(); }
  void take_over() { owner_ = current_thread(); }

  // Tensors were assigned to collections since a sink was last told of them.
  std::atomic<bool> has_new_members = false;

  HookConfig config;
  std::shared_ptr<const Plan> pending_plan;  // used from the next step on
  const Framework framework;
  const ProcessFacts process;
  const Clock& clock;
  Logger& logger;
  std::shared_ptr<Storage> storage;
  // Null where nothing is written for TensorBoard.
  std::shared_ptr<Storage> tensorboard_storage;

  SiteTable sites;
  StepCounter steps;  // where a checkpoint was taken, they go on from there
  std::uint64_t sequence = 0;  // of the step that was begun last
  std::uint64_t plan_version = 1;
  int rank = 0;
  std::string worker = "worker_0";
  int num_workers = 1;
  bool shares_process = false;  // with the sessions of other workers
  std::string summary;
  bool wants_pause = false;  // from the next step on
  LiveStep live;
  std::uint64_t step_cycles = 0;
  std::unique_ptr<Recorder> recorder;  // null before the first step
  bool is_dead = false;                // in the child of a fork

 private:
  void resume_from_checkpoint();
  void note_checkpoint();
  void start();
  Status start_recording();
  void make_tensorboard_writer();
  void use_pending_plan();
  void note(LaneCounts& counts, const Site& site, const TensorView& tensor,
            const TensorStatistics* kept);
  void notice_failure();
  bool is_recording();
  void announce_step();
  void write_collections_if_grown();
  void tell_summary();
  void put_saved(Site& site, const SavedTensor& saved,
                 const TensorView& tensor);
  void put_waiting();
  // `put` is called with the lane of this thread; what it returns is noted.
  template <typename Put>
  void put_in_lane(const Site& site, const TensorView& tensor,
                   const std::atomic<bool>& capturing, const Put& put);
  bool is_capturable(Site& site, const TensorView& tensor);
  bool has_capturable_shape(Site& site, const TensorView& tensor);
  void latch(Error error);
  Status finish_files();

  bool has_waiting();

  std::atomic<const void*> owner_ = nullptr;
  bool is_paused_ = false;  // in the open step
  bool is_started_ = false;
  bool is_claimed_ = false;
  bool is_step_open_ = false;
  bool is_announced_ = false;  // the open step has a message
  bool is_summarized_ = false;
  bool is_closed_ = false;
  SessionStatus::State state_ = SessionStatus::State::active;
  std::string silent_reason_;
  std::optional<Error> error_;
  std::optional<Step> error_step_;
  std::unique_ptr<CheckpointState> checkpoints_;  // null: none configured
  std::optional<Step> last_saved_step_;
  std::uint64_t steps_begun_ = 0;
  std::uint64_t steps_saved_ = 0;
  std::uint64_t calls_after_failure_ = 0;
  std::size_t exported_memberships_ = 0;
  std::uint64_t exported_plan_ = 0;
  LaneCounts at_step_start_;
  double wall_at_step_ = 0;
  std::mutex waiting_mutex_;
  std::vector<WaitingTensor> waiting_;  // for the next step
  std::optional<RunRecord> run_record_;
  std::shared_ptr<TensorBoardWriter> tensorboard_;  // the write thread's
  CycleClock cycle_clock_;
  std::optional<std::chrono::nanoseconds> first_step_at_;

  std::mutex skipped_mutex_;
  std::map<std::string, std::string> skipped_;
};

}  // namespace smdebug
