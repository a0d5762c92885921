#pragma once

// A `Session` records one worker's part of one run: it decides what is due,
// copies it with its statistics in one pass, and passes it to a thread that
// writes. It owns the names of tensors and the numbers of steps, so that a
// model has the same names in every language. An adapter reports events: a
// step begins, a module has an output, the optimizer is about to act.
//
// No error of smdebug reaches the training loop. A call returns only mistakes
// in its arguments; the first error of any other kind is latched in `status()`
// and logged, and later calls return at once.
//
// Threads: one thread, the owner, begins and ends steps. Any thread may put
// tensors into slots while a step is open. Only the owner may make other calls,
// unless they are marked "Any thread".

#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "smdebug/base/clock.h"
#include "smdebug/base/logger.h"
#include "smdebug/base/result.h"
#include "smdebug/capture/capture_plan_view.h"
#include "smdebug/capture/scalar_slot.h"
#include "smdebug/capture/session_status.h"
#include "smdebug/capture/tensor_slot.h"
#include "smdebug/config/framework.h"
#include "smdebug/config/hook_config.h"
#include "smdebug/core/mode.h"
#include "smdebug/core/observation.h"
#include "smdebug/core/run_facts.h"
#include "smdebug/core/tensor_view.h"
#include "smdebug/store/storage.h"

namespace [[gnu::visibility("default")]] smdebug {

// Facts about this process that `run.json` records beside the configuration.
// Nothing is derived from them.
struct ProcessFacts {
  std::vector<std::string> command;
  std::map<std::string, std::string> versions;  // "torch" -> "2.13.0"
  // Settings that help to reproduce the run: "seed" -> "7".
  std::map<std::string, std::string> environment;
};

struct SessionOptions {
  HookConfig config;
  Framework framework;  // without a name: `plain_framework()`
  ProcessFacts process;
  // null: opened from `config.out_dir`, for the access and the durability that
  // `config` has
  std::shared_ptr<Storage> storage;
  // null: opened from `config.tensorboard_dir`, if that is given
  std::shared_ptr<Storage> tensorboard;
  // null: the adapter copies tensors from a device itself
  std::shared_ptr<DeviceTransfer> device_transfer;
  // A call that waits for the storage longer than this fails; 0: as
  // `WaitLimit::from_environment`.
  std::chrono::milliseconds storage_timeout{0};
  // Asked during waits of more than a second: true ends the wait, and the
  // recording. Called on the waiting thread; null: never.
  std::function<bool()> check_interrupt = nullptr;
  // Both must outlive the session.
  const Clock* clock = nullptr;  // null: system_clock()
  Logger* logger = nullptr;      // null: default_logger()
};

class Session {
 public:
  /// Creates a session; nothing is written before its first step. Fails with
  /// `invalid_config` (see Plan::build), with `invalid_argument` for an empty
  /// `out_dir`, as `open_storage`, and with `closed` if `out_dir` holds a run
  /// that has ended. An `out_dir` that cannot be written is an error of the
  /// first step, and latched.
  static Result<std::unique_ptr<Session>> create(SessionOptions options);

  /// Stops the writer without publishing an open step; call `close` first.
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // --- configuration ---

  /// Returns the configuration that was set last.
  const HookConfig& config() const;
  /// Replaces the configuration when the next step begins. Fails with
  /// `invalid_config` and then keeps the old one.
  Status set_config(HookConfig config);

  /// Sets the worker that this session records: `name`, or `worker_<rank>` if
  /// that is empty. A process that records several workers, such as the
  /// replicas of a model, has a session for each and names them all; the
  /// session of rank 0 claims the run. Ignored after the first step has begun.
  void set_worker(int rank, int world_size, std::string_view name = {});

  /// Returns a view of what the configuration saves.
  CapturePlanView plan() const;

  // --- steps ---

  /// Sets the mode of the steps that begin from now on; the open step keeps its
  /// mode. Initially `global`.
  void set_mode(Mode mode);
  Mode mode() const;

  /// Ends the open step, if there is one, and begins the next step of the
  /// current mode. Returns whether anything is due in it. May wait for the
  /// writer if the buffer is full. The calling thread becomes the owner.
  bool begin_step();
  /// Shows the sink the step so far. Call it when the gradients are computed
  /// and the optimizer has not applied them yet.
  void before_update();
  /// Ends the open step and passes it to the writer.
  void end_step();
  /// Returns the step that was begun last, also after its end. Before the first
  /// step both numbers are -1 and the mode is `global`.
  StepId step() const;
  /// Returns whether anything is due in the open step. Any thread.
  bool is_capturing() const;
  /// Makes the calling thread the owner. For frameworks that begin a step on
  /// one thread and continue it on another. Two threads must never use the
  /// session as owners at the same time.
  void bind_to_current_thread();

  /// The right to begin and end steps, to flush and to close, which one thread
  /// has at a time. It also makes the thread the owner. A program whose threads
  /// may do these at the same time asks for a turn before each, while no other
  /// thread captures; a binding of a language with a global lock holds it.
  class Turn {
   public:
    Turn() = default;
    Turn(Turn&&) = default;
    Turn& operator=(Turn&&) = default;
    /// Whether the calling thread has the turn.
    explicit operator bool() const { return lock_.owns_lock(); }
    /// Makes the thread the owner again that was it before.
    void return_ownership();

   private:
    friend class Session;
    std::unique_lock<std::recursive_mutex> lock_;
    SessionImpl* session_ = nullptr;
    const void* owner_before_ = nullptr;
  };
  /// Returns no turn if another thread has it, or captures as the owner.
  Turn try_turn();

  /// Stops capturing and saving from the next step on, until `resume`. Steps
  /// are still counted. Any thread.
  void pause();
  void resume();
  bool is_paused() const;

  // --- tensors ---

  /// Returns the slot of a tensor by its full name, and creates it on first
  /// use. From now on and in every plan the tensor also belongs to the
  /// collections named, whatever its own name. Any thread.
  TensorSlot tensor(std::string_view name,
                    std::span<const std::string> collections = {});
  TensorSlot tensor(std::string_view name,
                    std::initializer_list<std::string> collections) {
    return tensor(name, std::span(collections.begin(), collections.size()));
  }
  /// Return the slots of a module's parameter, "Net_fc1.weight", and of its
  /// gradient, "gradient/Net_fc1.weight". With `plain_framework`, a parameter
  /// of any name belongs to the collection biases if its path contains "bias",
  /// otherwise to weights. Any thread.
  TensorSlot parameter(std::string_view root, std::string_view path);
  TensorSlot gradient(std::string_view root, std::string_view path);
  /// Returns the slots of a module's inputs and outputs: for "fc1",
  /// "fc1_input_0", "fc1_output_0", ... Any thread.
  ModuleSlots module(std::string_view path);

  /// Captures one tensor for those of `slots` that are due. Its values are
  /// stored once, and readers find them under each name; reductions are stored
  /// once per name.
  void put_shared(std::span<const TensorSlot> slots, const TensorView& tensor);

  /// Saves one number as float64 tensor "scalar/<name>" in the current step and
  /// mode, due or not. `wall_seconds` is the record's time in seconds since the
  /// epoch; none: the time of the step. Any thread.
  void save_scalar(std::string_view name, double value,
                   std::optional<double> wall_seconds = std::nullopt);
  /// Does the same with an int64 tensor.
  void save_integer(std::string_view name, std::int64_t value,
                    std::optional<double> wall_seconds = std::nullopt);
  /// Saves a tensor in the current step and mode, due or not. The collections
  /// named get it as a member and decide its form; collections that do not
  /// exist are created, and values are stored if none exists. Copies the tensor
  /// before it returns. A tensor saved before the first step, between steps or
  /// from another thread belongs to the next step. If a name is saved twice in
  /// a step, readers get the last tensor. Any thread. Fails with
  /// `invalid_argument` for an empty name.
  Status save_tensor(std::string_view name, const TensorView& tensor,
                     std::span<const std::string> collections);
  Status save_tensor(std::string_view name, const TensorView& tensor,
                     std::initializer_list<std::string> collections = {}) {
    return save_tensor(name, tensor,
                       std::span(collections.begin(), collections.size()));
  }

  /// Reports what is trained from the current step on, or from the first step
  /// on if none has begun. Writes it beside the steps and shows it to the sink.
  /// Ignores `RunFacts::step`, and does nothing if all else equals the facts
  /// reported last.
  void set_facts(RunFacts facts);

  /// Returns the slot of a scalar series, which has one number per step, saved
  /// or not, and creates it on first use. A name that is empty, longer than
  /// 1000 bytes or not UTF-8 is logged, and its samples are ignored.
  ScalarSlot scalar(std::string_view name);

  /// Feeds the steps of this session to `sink`, on the owner's thread; null
  /// stops this. Setting the same sink again repeats the query for the data
  /// that it needs. The sink must live until the next call or the end of the
  /// session. Call this while no other thread captures.
  void set_sink(ObservationSink* sink);

  /// Gives the reason that the log reports at the end of the run if no tensor
  /// belongs to a built-in collection that is saved, in place of similar names:
  /// "the models have no buffers". The owner's thread.
  void explain_empty(std::string_view collection, std::string_view reason);

  /// Keeps the files of `step`, and of the saved steps before and after it, as
  /// long as possible if `max_run_bytes` removes steps. For a step that a rule
  /// has fired on.
  void keep_step(Step step);

  // --- the end ---

  /// Writes the collections file with the tensors seen so far and the scalars
  /// noted so far, as `flush` and `close` do. Without these calls, the end of a
  /// saved step writes it when a fourth of the tensors are new, or after 10
  /// seconds. Does nothing before the first step.
  void export_collections();
  /// Blocks until readers can see all ended steps. Fails with the latched
  /// error: `unavailable` if the storage does not respond within its limit.
  Status flush();
  /// Publishes the open step, writes the end marker and stops the writer. Fails
  /// with the latched error. If the storage does not respond within its limit,
  /// abandons the writer's thread. A second call does nothing. `raised`: the
  /// exception that ends the training, as "ValueError", which lists of runs
  /// show.
  Status close(std::string_view raised = {});

  /// Call in the child of a fork: the session then writes nothing, has no
  /// thread, and every call returns at once.
  void after_fork_in_child();

  // --- reports ---

  SessionStatus status() const;
  SessionCost cost() const;
  /// Returns the name of the worker, "worker_0" by default.
  std::string worker() const;
  /// Returns whether this is the first worker, which reports for the whole run.
  bool is_first_worker() const;
  /// Returns the tensors that the first saved step matched, as text with a line
  /// per collection; empty before the end of that step.
  std::string summary() const;

 private:
  explicit Session(std::unique_ptr<SessionImpl> impl);
  std::unique_ptr<SessionImpl> impl_;
};

}  // namespace smdebug
