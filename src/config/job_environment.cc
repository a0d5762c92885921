#include "smdebug/config/job_environment.h"

#include "smdebug/base/try.h"

#include "base/environment.h"
#include "base/strings.h"
#include "base/text_file.h"
#include "config/config_document.h"

namespace smdebug {
namespace {

void read_path(const char* variable, std::string& path) {
  const auto value = environment_variable(variable);
  if (value && !value->empty()) path = *value;
}

// The directory that SageMaker's file names; none without the file.
Result<std::optional<std::string>> sagemaker_dir(const std::string& path) {
  const auto text = read_text_file(path);
  if (!text && text.error().code == Error::Code::not_found) {
    return std::optional<std::string>();
  }
  if (!text) return text.error();
  SMD_TRY(const Json json, parse_config_json(*text, path));
  ConfigDocument document(*text, path);
  SMD_TRY(auto dir, ConfigObject(document, json, "").text("LocalPath"));
  if (dir && dir->empty()) {
    return Error{Error::Code::invalid_config,
                 path + ": LocalPath names no folder for TensorBoard files"};
  }
  return std::optional(std::move(dir).value_or(kSagemakerTensorboardDir));
}

}  // namespace

JobEnvironment JobEnvironment::read() {
  JobEnvironment job;
  if (const auto wanted = environment_variable("USE_SMDEBUG")) {
    job.is_enabled = find_boolean(*wanted).value_or(true);
  }
  job.training_job_name = environment_variable("TRAINING_JOB_NAME");
  read_path("SMDEBUG_CONFIG_FILE_PATH", job.hook_config_path);
  read_path("TENSORBOARD_CONFIG_FILE_PATH", job.tensorboard_config_path);
  read_path("CHECKPOINT_CONFIG_FILE_PATH", job.checkpoint_config_path);
  read_path("SMPROFILER_CONFIG_PATH", job.profiler_config_path);
  return job;
}

Result<std::optional<std::string>> resolve_tensorboard_dir(
    bool export_tensorboard, const std::optional<std::string>& tensorboard_dir,
    const std::string& out_dir, const JobEnvironment& job) {
  if (job.is_sagemaker_job()) return sagemaker_dir(job.tensorboard_config_path);
  if (tensorboard_dir && !tensorboard_dir->empty()) return tensorboard_dir;
  if (!export_tensorboard) return std::optional<std::string>();
  const bool has_slash = out_dir.ends_with('/');
  return std::optional(out_dir + (has_slash ? "" : "/") + "tensorboard");
}

}  // namespace smdebug
