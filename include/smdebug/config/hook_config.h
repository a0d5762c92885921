#pragma once

// What the user asked for, as asked: every field may be left out. It becomes
// a `Plan` (see plan.h) once, at the first step and after each edit; nothing
// else in the library reads it.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "smdebug/base/result.h"
#include "smdebug/config/collection.h"
#include "smdebug/config/framework.h"
#include "smdebug/core/mode.h"

namespace smdebug {

// What happens to a tensor that finds the queue full. `block`: the training
// waits for the writer. `drop`: the tensor is lost. Both are counted and shown.
enum class OverflowPolicy { block, drop };

enum class IncludeWorkers { one, all };

// The word that ends each record: the constant that the original's Trial asks
// for, or the true checksum, as TFRecord tools ask for.
enum class Checksum { constant, crc32c };

struct HookConfig {
  std::string out_dir;
  std::optional<SaveConfig> save_config;
  std::optional<ReductionConfig> reduction_config;
  std::vector<std::string> include_regex;        // into collection `default`
  std::vector<std::string> include_collections;  // beside the framework's
  bool save_all = false;
  bool dry_run = false;
  IncludeWorkers include_workers = IncludeWorkers::one;
  OverflowPolicy when_full = OverflowPolicy::block;
  Checksum checksum = Checksum::constant;
  std::size_t queue_bytes = std::size_t{64} << 20;
  // Where TensorBoard finds histograms and numbers, beside the run (see
  // tensorboard_output.h); none: they are not written. Read when the session
  // is made.
  std::optional<std::string> tensorboard_dir;
  // The most bytes of event and index files that each worker keeps, over all
  // attempts in the folder: the oldest published steps are removed when more
  // are there, but never the newest. More than 0; none: all are kept. Steps
  // that are a multiple of `keep_every` go last; 0: none is special. Both are
  // read at the first step; later edits have no effect.
  std::optional<std::uint64_t> max_run_bytes;
  Step keep_every = 0;
  // What an adapter of a framework with modules and optimizers is told: which
  // event begins a step ("forward", "optimizer"), and which gradients are saved
  // ("backward": as each leaves them, "final": as the optimizer uses them).
  // None: the first of them. The core does not look at them.
  std::optional<std::string> step_on;
  std::optional<std::string> gradients;
  // Collections that were created or edited; others keep the framework's
  // definition.
  std::vector<Collection> collections;

  /// Returns the collection of that name, or none. Looks at the edited ones
  /// first, then at the framework's.
  const Collection* find_collection(const Framework& framework,
                                    std::string_view name) const;

  friend bool operator==(const HookConfig&, const HookConfig&) = default;
};

}  // namespace smdebug
