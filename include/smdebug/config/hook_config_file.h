#pragma once

// Reads a hook's configuration from JSON: the file that SageMaker writes into a
// training container (debughookconfig.json), or one that a user writes.
//
//   {"LocalPath": "/data/run7",
//    "HookParameters": {"save_interval": "50", "eval.save_interval": "10"},
//    "CollectionConfigurations": [
//      {"CollectionName": "acts",
//       "CollectionParameters": {"include_regex": ["relu_.*(1,2)", "tanh"],
//                                "reductions": "mean,abs_max"}}]}
//
// HookParameters: save_interval, start_step, end_step, save_steps, each also
// as train., eval., predict. or global. for one mode; reductions,
// save_raw_tensor, save_shape, summary; save_all, include_regex,
// include_collections, include_workers, dry_run, export_tensorboard,
// tensorboard_dir, max_run_bytes, keep_every, checksum, private, durability,
// step_on, gradients.
//
// CollectionParameters: the save keys and the reduction keys, include_regex,
// save_histogram. A collection takes each save key, mode by mode, from its own
// key for that mode, otherwise from its own plain key, otherwise from the hook.
// If it has any reduction key, its reductions replace the hook's as a whole. A
// collection may be listed twice: patterns add up, and the last entry decides
// everything else.
//
// Booleans and numbers may be text ("true", "False", "50"). A list may be an
// array or text with commas; only in an array can a regular expression contain
// a comma. S3OutputPath and S3Path are ignored, because the platform uses them.

#include <string>
#include <string_view>
#include <vector>

#include "smdebug/base/result.h"
#include "smdebug/config/framework.h"
#include "smdebug/config/hook_config.h"
#include "smdebug/config/job_environment.h"

namespace [[gnu::visibility("default")]] smdebug {

struct HookConfigFile {
  HookConfig config;
  // One sentence per mistake that is no error, with file, line, column and path
  // of keys: unknown keys, with the nearest known ones, keys given twice, and
  // decimals that were cut off.
  std::vector<std::string> warnings;
};

/// Parses `text`; `file` is its name in messages. `framework` provides the
/// collections that the text edits. In a SageMaker job this also reads the file
/// of `resolve_tensorboard_dir`.
///
/// Fails with `invalid_config` ("<file>:<line>:<column>: <path of keys>:
/// expected ..., found ...") and as `resolve_tensorboard_dir`.
Result<HookConfigFile> parse_hook_config(std::string_view text,
                                         std::string_view file,
                                         const Framework& framework,
                                         const JobEnvironment& job);

/// Reads and parses the file at `path`, or at `job.hook_config_path` if `path`
/// is empty. Fails with `not_found` (`file_missing`) if the file does not
/// exist, with `io` if it cannot be read, and as `parse_hook_config`.
Result<HookConfigFile> load_hook_config(const std::string& path,
                                        const Framework& framework,
                                        const JobEnvironment& job);

}  // namespace smdebug
