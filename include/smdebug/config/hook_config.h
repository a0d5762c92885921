#pragma once

// The configuration of a hook or session as the user gave it: every field is
// optional. `Plan::build` (plan.h) checks it and resolves the collections,
// before the first step and after each edit.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "smdebug/base/result.h"
#include "smdebug/config/collection.h"
#include "smdebug/config/framework.h"
#include "smdebug/core/mode.h"

namespace [[gnu::visibility("default")]] smdebug {

// If the buffer is full, `block` makes the training wait for the writer, and
// `drop` loses the tensor. The session counts both.
enum class OverflowPolicy { block, drop };

// Whether only the first worker of a distributed training saves tensors, or
// all.
enum class IncludeWorkers { one, all };

// The last word of each record: the constant that the original's Trial expects,
// or the true checksum, which TFRecord tools verify.
enum class Checksum { constant, crc32c };

// Whether a published step survives the end of the process, or also a power
// failure of the machine, for which the write thread waits for the disk.
enum class Durability { process, step };

struct HookConfig {
  std::string out_dir;  // a path or an address that `open_storage` takes
  // For collections without settings of their own. None: every
  // `Framework::default_save_interval` steps; values without reductions.
  std::optional<SaveConfig> save_config;
  std::optional<ReductionConfig> reduction_config;
  std::vector<std::string> include_regex;  // patterns of collection `default`
  // Saved in addition to `Framework::default_saved`.
  std::vector<std::string> include_collections;
  bool save_all = false;
  bool dry_run = false;  // capture and count, but write nothing
  IncludeWorkers include_workers = IncludeWorkers::one;
  OverflowPolicy overflow_policy = OverflowPolicy::block;
  Checksum checksum = Checksum::constant;
  // The size of the buffer between the training and the writer.
  std::size_t buffer_bytes = std::size_t{64} << 20;
  // The folder for TensorBoard's histograms and scalars (job_environment.h);
  // none: they are not written. Read when the session is created.
  std::optional<std::string> tensorboard_dir;
  // The most bytes of files that each worker keeps, over all attempts in the
  // folder and for TensorBoard; more than 0, or none to keep all. Beyond that
  // the oldest published steps are removed, but never the newest. Steps that
  // are a multiple of `keep_every` are removed last; 0 treats all steps alike.
  // Both are read at the first step; later edits have no effect.
  std::optional<std::uint64_t> max_run_bytes;
  Step keep_every = 0;
  // Creates the files and folders of the run and of TensorBoard for their
  // owner only (0600, 0700), whatever the umask. Read when the session is
  // created.
  bool is_private = false;
  // Whether the files of the run, but not those for TensorBoard, are synced.
  // Ignored in an object store, which confirms only what is durable. Read when
  // the session is created.
  Durability durability = Durability::process;
  // Logs a line when the first step is saved. A launcher that has announced the
  // run itself turns it off.
  bool announces_first_step = true;
  // The most inputs, and outputs, of each module that a step saves; 0: all. A
  // launcher limits them, because a script may call a module any number of
  // times in a step.
  std::uint32_t max_tensors_per_module = 0;
  // How many steps are saved, due or not, after the leap of a loss or of the
  // norm of a gradient (capture/leap_watch.h); 0: none. Ignored in a run of
  // several workers, which would save different steps.
  std::uint32_t steps_after_leap = 0;
  // Whether each parameter of a model is in `weights` or `biases`, whatever its
  // name. The patterns of the frameworks lack names such as "pos_embed".
  bool parameters_by_role = false;
  // For adapters of frameworks with modules and optimizers; the core ignores
  // them. `step_on`: the event that begins a step, "forward" (default) or
  // "optimizer". `gradients`: which gradients are saved, "backward" (default,
  // as each backward pass leaves them) or "final" (as the optimizer uses them).
  std::optional<std::string> step_on;
  std::optional<std::string> gradients;
  // Collections that were created or edited. All others are the framework's.
  std::vector<Collection> collections;

  /// Returns the collection of that name, or null. Searches `collections` first
  /// and then the framework's. Valid until either changes.
  const Collection* find_collection(const Framework& framework,
                                    std::string_view name) const {
    const auto edited = std::ranges::find(collections, name, &Collection::name);
    return edited != collections.end() ? &*edited : framework.find(name);
  }

  friend bool operator==(const HookConfig&, const HookConfig&) = default;
};

}  // namespace smdebug
