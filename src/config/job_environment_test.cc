#include "smdebug/config/job_environment.h"

#include <cstdlib>

#include <gtest/gtest.h>

namespace smdebug {
namespace {

constexpr const char* kVariables[] = {
    "USE_SMDEBUG",
    "TRAINING_JOB_NAME",
    "SMDEBUG_CONFIG_FILE_PATH",
    "TENSORBOARD_CONFIG_FILE_PATH",
    "CHECKPOINT_CONFIG_FILE_PATH",
    "SMPROFILER_CONFIG_PATH",
};

class JobEnvironmentTest : public testing::Test {
 protected:
  void SetUp() override { unset(); }
  void TearDown() override { unset(); }

 private:
  static void unset() {
    for (const char* variable : kVariables) unsetenv(variable);
  }
};

TEST_F(JobEnvironmentTest, IsSagemakersPathsWhereNothingIsSet) {
  const JobEnvironment job = JobEnvironment::read();
  EXPECT_TRUE(job.is_enabled);
  EXPECT_FALSE(job.is_sagemaker_job());
  EXPECT_EQ(job.hook_config_path, "/opt/ml/input/config/debughookconfig.json");
  EXPECT_EQ(job.tensorboard_config_path,
            "/opt/ml/input/config/tensorboardoutputconfig.json");
  EXPECT_EQ(job.checkpoint_config_path,
            "/opt/ml/input/config/checkpointconfig.json");
  EXPECT_EQ(job.profiler_config_path,
            "/opt/ml/input/config/profilerconfig.json");
}

TEST_F(JobEnvironmentTest, TakesEachPathFromItsVariable) {
  setenv("SMDEBUG_CONFIG_FILE_PATH", "h.json", 1);
  setenv("TENSORBOARD_CONFIG_FILE_PATH", "t.json", 1);
  setenv("CHECKPOINT_CONFIG_FILE_PATH", "c.json", 1);
  setenv("SMPROFILER_CONFIG_PATH", "p.json", 1);
  const JobEnvironment job = JobEnvironment::read();
  EXPECT_EQ(job.hook_config_path, "h.json");
  EXPECT_EQ(job.tensorboard_config_path, "t.json");
  EXPECT_EQ(job.checkpoint_config_path, "c.json");
  EXPECT_EQ(job.profiler_config_path, "p.json");
}

TEST_F(JobEnvironmentTest, TakesAnEmptyPathForNone) {
  setenv("SMDEBUG_CONFIG_FILE_PATH", "", 1);
  EXPECT_EQ(JobEnvironment::read().hook_config_path,
            JobEnvironment().hook_config_path);
}

TEST_F(JobEnvironmentTest, IsASagemakerJobByThePresenceOfItsName) {
  setenv("TRAINING_JOB_NAME", "", 1);
  EXPECT_TRUE(JobEnvironment::read().is_sagemaker_job());
  setenv("TRAINING_JOB_NAME", "job-1", 1);
  EXPECT_EQ(JobEnvironment::read().training_job_name, "job-1");
}

TEST_F(JobEnvironmentTest, IsEnabledUnlessToldOtherwise) {
  for (const char* no : {"False", "0", "off", "no"}) {
    setenv("USE_SMDEBUG", no, 1);
    EXPECT_FALSE(JobEnvironment::read().is_enabled) << no;
  }
  for (const char* yes : {"True", "1", "maybe", ""}) {
    setenv("USE_SMDEBUG", yes, 1);
    EXPECT_TRUE(JobEnvironment::read().is_enabled) << yes;
  }
}

}  // namespace
}  // namespace smdebug
