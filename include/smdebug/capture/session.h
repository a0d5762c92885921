#pragma once

// A `Session` records one worker's part of one run: it decides what is due,
// copies it with its statistics in one pass, and hands it to a thread that
// writes. It owns the names of tensors and the numbers of steps, so a model
// has the same names in every language; an adapter says only "step begins",
// "tensor t of module m, output i", "optimizer is about to act".
//
// Nothing here fails into the training loop. The user's own mistakes are
// returned by the call that made them; everything else is latched in
// `status()`, logged once, and later calls return at once.
//
// Threads: one thread, the owner, begins and ends steps. `put` may be called
// from any thread while a step is open. The rest belongs to the owner.

#include <atomic>
#include <cstdint>
#include <functional>
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
#include "smdebug/config/framework.h"
#include "smdebug/config/hook_config.h"
#include "smdebug/core/mode.h"
#include "smdebug/core/observation.h"
#include "smdebug/core/shard.h"
#include "smdebug/core/statistics.h"
#include "smdebug/core/tensor_view.h"
#include "smdebug/store/storage.h"

namespace smdebug {

// What `run.json` says about this process beside its configuration.
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
  // null: opened from `config.tensorboard_dir`, where that is given
  std::shared_ptr<Storage> tensorboard;
  const Clock* clock = nullptr;  // null: system_clock()
  Logger* logger = nullptr;      // null: default_logger()
};

// Where a session stands, for `hook.status()` and the run's summary.
struct SessionStatus {
  // `silent`: another process writes this run. `failed`: see `error`.
  enum class State { active, silent, failed, closed } state = State::active;
  std::optional<Error> error;  // the first that happened
  std::optional<Step> error_step;
  // The first failure of the TensorBoard files, with its step. The run itself
  // goes on.
  std::optional<Error> tensorboard_error;
  std::string reason;  // why it is silent, one sentence
  Step last_step = -1;
  std::uint64_t steps = 0;        // begun
  std::uint64_t steps_saved = 0;  // with something due
  std::uint64_t steps_published = 0;
  std::uint64_t tensors = 0;  // captured
  std::uint64_t records = 0;  // written
  std::uint64_t bytes = 0;    // written
  // Published steps that `max_run_bytes` took away again, and the lowest step
  // that is still there; none while nothing was removed.
  std::uint64_t removed_steps = 0;
  std::optional<Step> first_kept_step;
  // Tensors that were written and that another one of the same name and step
  // took the place of.
  std::uint64_t replaced_tensors = 0;
  std::uint64_t dropped_tensors = 0;
  std::uint64_t dropped_bytes = 0;
  std::uint64_t calls_after_failure = 0;
  // Tensors that could not be read, with the reason.
  std::map<std::string, std::string> skipped;
};

// What watching has cost so far.
struct SessionCost {
  double step_thread_seconds = 0;  // inside our calls, waits included
  double wait_seconds = 0;         // of that, waiting for the writer
  double writer_cpu_seconds = 0;
  std::uint64_t bytes_captured = 0;
  std::uint64_t bytes_written = 0;
  std::uint64_t steps = 0;
  double run_seconds = 0;  // since the first step began
};

// One tensor name. Made once, valid as long as its session; a pointer is all
// that the training step carries.
class Site;

// A module whose inputs and outputs are numbered over its calls in a step.
class ModuleSite;

class Session {
 public:
  /// Fails with `invalid_config` (see Plan::build), or with
  /// `invalid_argument` for an `out_dir` that holds an ended run. An `out_dir`
  /// that cannot be written is a latched error, not a failure here.
  static Result<std::unique_ptr<Session>> create(SessionOptions options);

  /// Stops the writer without publishing an open step; `close` first.
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // --- what to save ---

  const HookConfig& config() const;
  /// Takes effect when the next step begins. Fails with `invalid_config`; the
  /// old configuration stays.
  Status set_config(HookConfig config);
  /// Grows by one with each plan in use: an adapter that removed hooks puts
  /// them back when it changes.
  std::uint64_t plan_version() const;

  /// Names what this session records among the workers of the run: `name`, or
  /// `worker_<rank>` where that is empty. A process that records several
  /// workers, such as the devices that share a model, has a session for each
  /// and names them all; the first of them claims the run. Before the first
  /// step; later calls are ignored.
  void set_worker(int rank, int world_size, std::string_view name = {});

  // --- steps ---

  void set_mode(Mode mode);
  Mode mode() const;

  /// Ends the step before, if one is open, and begins the next of the present
  /// mode. Returns whether anything is due in it.
  bool begin_step();
  /// Whether anything will be due in the step that `begin_step` would begin
  /// now.
  bool is_next_due() const;
  /// The same of one site, and of a tensor that may have none yet: for adapters
  /// that choose before a step begins what their framework is to hand out.
  bool is_next_due(const Site* site) const;
  bool is_next_due(std::string_view tensor_name,
                   std::string_view collection) const;
  /// The gradients are there and the optimizer is about to act: lets a sink
  /// judge the step so far.
  void before_update();
  /// Ends the open step and hands it to the writer.
  void end_step();
  /// Makes the calling thread the owner. For frameworks that begin a step on
  /// a thread of their own and come back from it: the threads own one after the
  /// other, never at once.
  void take_over();
  StepId step() const;
  /// Whether anything is due in the open step.
  bool is_capturing() const {
    return capturing_.load(std::memory_order_relaxed);
  }

  // --- tensors ---

  /// The site of a tensor by its full name.
  Site* tensor(std::string_view name);
  /// The same for a tensor whose adapter knows what it is: it belongs to the
  /// named collections, whatever its name, from now on and in every plan.
  Site* tensor(std::string_view name, std::span<const std::string> collections);
  /// Names as spec'd for module frameworks: "Net_fc1.weight",
  /// "gradient/Net_fc1.weight".
  Site* parameter(std::string_view root, std::string_view path);
  Site* gradient(std::string_view root, std::string_view path);
  /// "fc1" gives "fc1_input_0", "fc1_output_0", ...
  ModuleSite* module(std::string_view path);

  /// Whether the plan in use saves the collection of that name at all: an
  /// adapter looks for the tensors of a further collection only then.
  bool saves(std::string_view collection) const;
  /// Whether a capture of `site` would be kept in the open step.
  bool is_due(const Site* site) const;
  /// Whether the open step saves a tensor of that name, or the collection. For
  /// adapters that ask before they make a tensor: it searches the name with
  /// every pattern and remembers nothing.
  bool is_due(std::string_view tensor_name, std::string_view collection) const;
  /// The names of the collections that the open step saves, in the plan's
  /// order; none where nothing is due. For adapters that ask once per step.
  std::vector<std::string> due_collections() const;
  /// Whether the present plan can ever save it.
  bool can_match(const Site* site) const;

  /// Captures the tensor if it is due: copies what is needed before it
  /// returns. Any thread.
  void put(Site* site, const TensorView& tensor);
  /// Captures one tensor under several names, those of them that are due: a
  /// reader finds it under each, and it is stored once. Where reductions are
  /// wanted, each name has its own record. The owner's thread.
  void put_shared(std::span<Site* const> names, const TensorView& tensor);
  /// Whether `put` would keep more of a tensor at `site` than its statistics
  /// hold: values, a median, a histogram, what a sink looks at. For adapters
  /// to which elements cost more than their statistics, such as those of an
  /// accelerator. False where it is not due; true in case of doubt, while a
  /// sink is called and before it knows which tensors were assigned to
  /// collections. Any thread, at once.
  bool needs_elements(const Site* site);
  /// Captures a tensor by statistics that were made where its elements lie, if
  /// it is due: what `put` of elements leaves behind, but for their rounding.
  /// Ask `needs_elements` first. A tensor of which more is to be kept is
  /// skipped, so is one of strings, and one whose shape has another number of
  /// elements than the statistics count. Any thread.
  void put_statistics(Site* site, DType dtype,
                      std::span<const std::int64_t> shape,
                      const TensorStatistics& statistics);
  /// Counts the next input (output) of `module` in this step and returns its
  /// site if it is due, else null. For adapters to which even looking at the
  /// tensor costs something: what it returns is for `put` or `skip`.
  Site* next_input(ModuleSite* module);
  Site* next_output(ModuleSite* module);
  /// Says that what is captured at `site` from now on is a part of a larger
  /// tensor; none: a whole one. Any thread.
  void set_placement(Site* site,
                     const std::optional<ShardPlacement>& placement);
  /// Captures the next input (output) of `module` in this step.
  void put_input(ModuleSite* module, const TensorView& tensor);
  void put_output(ModuleSite* module, const TensorView& tensor);
  /// Whether any input (output) that `module` had so far can match.
  bool can_match_input(const ModuleSite* module) const;
  bool can_match_output(const ModuleSite* module) const;
  /// The same asked ahead, by name: whether the plan of the coming step can
  /// match one of the first inputs (outputs) that `module` may have. For
  /// adapters that decide before a module was called; it searches each name
  /// with every pattern.
  bool may_match_input(const ModuleSite* module) const;
  bool may_match_output(const ModuleSite* module) const;

  /// Says that a tensor could not be read, and why: kept in the status, logged
  /// once per name.
  void skip(Site* site, std::string_view reason);

  /// Saves one number as tensor "scalar/<name>" under the step and mode that
  /// are current, due or not.
  /// `wall_seconds` is the record's time, since the epoch; none: the step's.
  void save_scalar(std::string_view name, double value,
                   std::optional<double> wall_seconds = std::nullopt);
  /// The same of a whole number, which is kept as int64.
  void save_integer(std::string_view name, std::int64_t value,
                    std::optional<double> wall_seconds = std::nullopt);
  /// Saves a tensor in the step and mode that are current, due or not, as the
  /// named collections ask for (values, where none of them exists), and lists
  /// it in them; those that are new are made. Copied before this returns.
  /// Before the first step, between steps and from another thread it is kept
  /// for the next step. A name that comes again in a step counts the last time.
  /// Fails with `invalid_argument` for a name that is empty.
  Status save_tensor(std::string_view name, const TensorView& tensor,
                     std::span<const std::string> collections);

  /// From the next step on nothing is captured or saved, until `resume`; steps
  /// are counted all the same.
  void pause();
  void resume();
  bool is_paused() const;

  // --- the end ---

  /// Writes the collections file with the tensors that were seen so far, as
  /// each saved step does at its end. Before the first step there is no run to
  /// write it to: it does nothing.
  void export_collections();
  /// Returns when all steps that ended are readable. Fails with the latched
  /// error.
  Status flush();
  /// Publishes the open step, writes the end marker, stops the writer.
  /// Returns the latched error, if any. A second call does nothing.
  Status close();

  SessionStatus status() const;
  SessionCost cost() const;
  std::string worker() const;
  /// Whether that is the first worker, which speaks for the run.
  bool is_first_worker() const;
  /// What the first saved step matched, as told in the log; empty before.
  std::string summary() const;

  /// Feeds `sink` the steps of this session, from the owner's thread. Null
  /// stops; the same sink again is asked anew what it is interested in. The
  /// sink outlives the session or the next call. Called by the owner's thread,
  /// while no other thread captures.
  void set_sink(ObservationSink* sink);

  /// In the child of a fork: the session writes nothing, holds no thread, and
  /// every call returns at once.
  void after_fork_in_child();

 private:
  class Impl;
  explicit Session(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
  std::atomic<bool> capturing_ = false;
};

}  // namespace smdebug
