#pragma once

// A hook's configuration as JSON: what SageMaker writes into a training
// container (debughookconfig.json), and what a user may write anywhere.
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
// tensorboard_dir, max_run_bytes, keep_every, checksum, step_on, gradients.
//
// CollectionParameters: the save keys and the reduction keys, include_regex,
// save_histogram. A collection takes each save key, mode by mode, from its own
// key for that mode, else from its own plain key, else from the hook. Its
// reductions, where it has any of those keys, replace the hook's as a whole.
// A name may come twice: patterns add up, otherwise the last one counts.
//
// Booleans may be text ("true", "False"), numbers may be text, and a list may
// be text with commas or an array, in which a regular expression keeps its
// commas. S3OutputPath and S3Path are ignored: they are for the platform.

#include <string>
#include <string_view>
#include <vector>

#include "smdebug/base/result.h"
#include "smdebug/config/framework.h"
#include "smdebug/config/hook_config.h"
#include "smdebug/config/job_environment.h"

namespace smdebug {

struct HookConfigFile {
  HookConfig config;
  // What was ignored, one sentence each, with file, line, column and path of
  // keys: unknown keys with the nearest known ones, keys given twice.
  std::vector<std::string> warnings;
};

/// Parses `text`; `file` names it in messages. `framework` gives the
/// collections that the file edits. A file is read only where `job` is a
/// SageMaker job (see tensorboard_output.h).
///
/// Fails with `invalid_config`: "<file>:<line>:<column>: <path of keys>:
/// expected ..., found ...".
Result<HookConfigFile> parse_hook_config(std::string_view text,
                                         std::string_view file,
                                         const Framework& framework,
                                         const JobEnvironment& job);

/// Reads and parses the file at `path`; an empty path stands for
/// `job.hook_config_path`. Fails with `not_found` or `io` where there is no
/// such file or it cannot be read, else as `parse_hook_config`.
Result<HookConfigFile> load_hook_config(const std::string& path,
                                        const Framework& framework,
                                        const JobEnvironment& job);

}  // namespace smdebug
