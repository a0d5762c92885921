#include "smdebug/config/job_environment.h"

#include "base/environment.h"
#include "base/words.h"

namespace smdebug {
namespace {

void read_path(const char* variable, std::string& path) {
  const auto value = environment_variable(variable);
  if (value && !value->empty()) path = *value;
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

}  // namespace smdebug
