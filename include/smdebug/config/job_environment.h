#pragma once

// What the job that a process runs in says about itself: whether it is a
// SageMaker training job, whether smdebug is wanted, and where configuration
// files lie. The environment is read here and passed on as values.

#include <optional>
#include <string>

namespace smdebug {

// Where SageMaker expects what it shall upload.
inline constexpr char kSagemakerOutDir[] = "/opt/ml/output/tensors";
inline constexpr char kSagemakerTensorboardDir[] = "/opt/ml/output/tensorboard";

struct JobEnvironment {
  // USE_SMDEBUG: false keeps `get_hook` from giving a hook to a script that
  // did not make one.
  bool is_enabled = true;
  // TRAINING_JOB_NAME: set in a SageMaker training job, and nowhere else.
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

  bool is_sagemaker_job() const { return training_job_name.has_value(); }

  /// Reads the variables named above. One that is unset or empty leaves the
  /// default; a USE_SMDEBUG that is no boolean counts as true.
  static JobEnvironment read();
};

}  // namespace smdebug
