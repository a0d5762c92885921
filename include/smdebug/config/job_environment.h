#pragma once

// The job that a process runs in: whether it is a SageMaker training job,
// whether smdebug is enabled, where configuration files are, and where
// TensorBoard files go. Environment variables are read here and passed on as
// values.

#include <optional>
#include <string>

#include "smdebug/base/result.h"

namespace [[gnu::visibility("default")]] smdebug {

// The folders whose files SageMaker uploads.
inline constexpr char kSagemakerOutDir[] = "/opt/ml/output/tensors";
inline constexpr char kSagemakerTensorboardDir[] = "/opt/ml/output/tensorboard";

struct JobEnvironment {
  // USE_SMDEBUG: if false, `get_hook` creates no hook for a script that did not
  // create one itself.
  bool is_enabled = true;
  // TRAINING_JOB_NAME: set only in a SageMaker training job.
  std::optional<std::string> training_job_name;
  // SMDEBUG_CONFIG_FILE_PATH
  std::string hook_config_path = "/opt/ml/input/config/debughookconfig.json";
  // TENSORBOARD_CONFIG_FILE_PATH
  std::string tensorboard_config_path =
      "/opt/ml/input/config/tensorboardoutputconfig.json";
  // CHECKPOINT_CONFIG_FILE_PATH
  std::string checkpoint_config_path =
      "/opt/ml/input/config/checkpointconfig.json";
  // SMPROFILER_CONFIG_PATH
  std::string profiler_config_path = "/opt/ml/input/config/profilerconfig.json";

  /// Returns true if `training_job_name` is set.
  bool is_sagemaker_job() const { return training_job_name.has_value(); }

  /// Reads the variables named above. An unset or empty variable leaves the
  /// default; a USE_SMDEBUG that is not a boolean counts as true.
  static JobEnvironment read();
};

/// Returns the directory for TensorBoard files, or none if they are not wanted.
///
/// In a SageMaker job the platform decides and both arguments are ignored: the
/// directory is `LocalPath` of the JSON file at `job.tensorboard_config_path`
/// (`kSagemakerTensorboardDir` without that key), and there is none without the
/// file. Elsewhere it is `tensorboard_dir`, or "<out_dir>/tensorboard" if only
/// `export_tensorboard` is set.
///
/// Fails with `invalid_config` if the file is not valid, naming the line and
/// the key, and with `io` if it cannot be read.
Result<std::optional<std::string>> resolve_tensorboard_dir(
    bool export_tensorboard, const std::optional<std::string>& tensorboard_dir,
    const std::string& out_dir, const JobEnvironment& job);

}  // namespace smdebug
