#pragma once

// A `Session` records one worker's part of one run: it decides what is due,
// copies it with its statistics in one pass, and passes it to a thread that
// writes. It owns the names of tensors and the numbers of steps, so that a
// model has the same names in every language. An adapter reports events: a
// step begins, a module has an output, the optimizer is about to act.
//
// Nothing here fails into the training loop. A call returns the caller's own
// mistakes; every other error is latched in `status()` and logged once, and
// later calls return at once.
//
// Threads: one thread, the owner, begins and ends steps. Tensors may be put
// into slots from any thread while a step is open. The other calls belong to
// the owner.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "smdebug/base/clock.h"
#include "smdebug/base/logger.h"
#include "smdebug/base/result.h"
#include "smdebug/capture/capture_plan_view.h"
#include "smdebug/capture/device_transfer.h"
#include "smdebug/capture/session_status.h"
#include "smdebug/capture/tensor_slot.h"
#include "smdebug/config/framework.h"
#include "smdebug/config/hook_config.h"
#include "smdebug/core/mode.h"
#include "smdebug/core/observation.h"
#include "smdebug/core/tensor_view.h"
#include "smdebug/store/storage.h"

namespace smdebug {

// What `run.json` records about this process besides its configuration.
struct ProcessFacts {
  std::vector<std::string> command;
  std::map<std::string, std::string> versions;     // "torch" -> "2.13.0"
  std::map<std::string, std::string> environment;  // "seed" -> "7"
};

struct SessionOptions {
  HookConfig config;
  Framework framework;
  ProcessFacts process;
  std::shared_ptr<Storage> storage;  // null: opened from `config.out_dir`
  // null: opened from `config.tensorboard_dir`, if that is given
  std::shared_ptr<Storage> tensorboard;
  // null: the adapter copies tensors from a device itself
  std::shared_ptr<DeviceTransfer> device_transfer;
  const Clock* clock = nullptr;  // null: system_clock()
  Logger* logger = nullptr;      // null: default_logger()
};

class Session {
 public:
  /// Fails with `invalid_config` (see Plan::build), or with
  /// `closed` for an `out_dir` that holds an ended run. An `out_dir`
  /// that cannot be written is a latched error, not a failure here.
  static Result<std::unique_ptr<Session>> create(SessionOptions options);

  /// Stops the writer without publishing an open step; `close` first.
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // --- configuration ---

  const HookConfig& config() const;
  /// Takes effect when the next step begins. Fails with `invalid_config`; the
  /// old configuration stays.
  Status set_config(HookConfig config);

  /// Names what this session records among the workers of the run: `name`, or
  /// `worker_<rank>` if that is empty. A process that records several workers,
  /// such as the devices that share a model, has a session for each and names
  /// them all; the first of them claims the run. Later calls than before the
  /// first step are ignored.
  void set_worker(int rank, int world_size, std::string_view name = {});

  /// What the present configuration saves.
  CapturePlanView plan() const;

  // --- steps ---

  void set_mode(Mode mode);
  Mode mode() const;

  /// Ends the open step, if there is one, and begins the next step of the
  /// present mode. Returns whether anything is due in it.
  bool begin_step();
  /// Lets a sink judge the step so far: the gradients are computed and the
  /// optimizer has not acted on them yet.
  void before_update();
  /// Ends the open step and passes it to the writer.
  void end_step();
  StepId step() const;
  /// Whether anything is due in the open step. Any thread.
  bool is_capturing() const;
  /// Makes the calling thread the owner. For frameworks that begin a step on a
  /// thread of their own and return from it: the threads own the session one
  /// after the other, never at the same time.
  void bind_to_current_thread();

  /// Stops capturing and saving from the next step on, until `resume`. Steps
  /// are still counted.
  void pause();
  void resume();
  bool is_paused() const;

  // --- tensors ---

  /// The slot of a tensor by its full name. The tensor also belongs to the
  /// named collections, whatever its name, from now on and in every plan. Any
  /// thread.
  TensorSlot tensor(std::string_view name,
                    std::span<const std::string> collections = {});
  /// The names of module frameworks: "Net_fc1.weight",
  /// "gradient/Net_fc1.weight".
  TensorSlot parameter(std::string_view root, std::string_view path);
  TensorSlot gradient(std::string_view root, std::string_view path);
  /// "fc1" gives "fc1_input_0", "fc1_output_0", ...
  ModuleSlots module(std::string_view path);

  /// Captures one tensor in those of `slots` that are due. It is stored once
  /// and readers find it under each name. A reduction is stored once per name.
  void put_shared(std::span<const TensorSlot> slots, const TensorView& tensor);

  /// Saves one number as tensor "scalar/<name>" in the current step and mode,
  /// due or not. `wall_seconds` is the record's time since the epoch; none:
  /// the step's.
  void save_scalar(std::string_view name, double value,
                   std::optional<double> wall_seconds = std::nullopt);
  /// Saves a whole number, as int64.
  void save_integer(std::string_view name, std::int64_t value,
                    std::optional<double> wall_seconds = std::nullopt);
  /// Saves a tensor in the current step and mode, due or not, in the form that
  /// the named collections ask for (values, if none of them exists), and lists
  /// it in them. Collections that do not exist are created. The tensor is
  /// copied before this returns. A tensor saved before the first step, between
  /// steps or from another thread is kept for the next step. If a name is
  /// saved twice in a step, the last tensor counts. Any thread. Fails with
  /// `invalid_argument` for an empty name.
  Status save_tensor(std::string_view name, const TensorView& tensor,
                     std::span<const std::string> collections);

  /// Feeds the steps of this session to `sink`, from the owner's thread. Null
  /// stops it. Setting the same sink again asks it again what it needs. The
  /// sink must outlive the session or the next call. Call it while no other
  /// thread captures.
  void set_sink(ObservationSink* sink);

  // --- the end ---

  /// Writes the collections file with the tensors seen so far, as the end of
  /// each saved step does. Does nothing before the first step.
  void export_collections();
  /// Returns when all ended steps are readable. Fails with the latched error.
  Status flush();
  /// Publishes the open step, writes the end marker, stops the writer.
  /// Returns the latched error, if any. A second call does nothing.
  Status close();

  /// In the child of a fork: the session writes nothing, has no thread, and
  /// every call returns at once.
  void after_fork_in_child();

  // --- reports ---

  SessionStatus status() const;
  SessionCost cost() const;
  std::string worker() const;
  /// Whether this is the first worker, which reports for the whole run.
  bool is_first_worker() const;
  /// What the first saved step matched, as logged; empty before.
  std::string summary() const;

 private:
  explicit Session(std::unique_ptr<SessionImpl> impl);
  std::unique_ptr<SessionImpl> impl_;
};

}  // namespace smdebug
