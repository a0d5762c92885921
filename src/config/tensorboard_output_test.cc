#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

#include "smdebug/config/job_environment.h"

#include "base/result_matchers_testing.h"

namespace smdebug {
namespace {

using testing::HasSubstr;

using Dir = std::optional<std::string>;

TEST(TensorboardDir, IsWhatTheUserSaysOutsideSagemaker) {
  const JobEnvironment job;
  const auto dir = [&](bool is_wanted, const Dir& wanted, const char* out_dir) {
    return resolve_tensorboard_dir(is_wanted, wanted, out_dir, job);
  };
  EXPECT_THAT(dir(false, {}, "/out"), IsOkAndHolds(Dir()));
  EXPECT_THAT(dir(true, {}, "/out"), IsOkAndHolds(Dir("/out/tensorboard")));
  EXPECT_THAT(dir(true, {}, "s3://b/out/"),
              IsOkAndHolds(Dir("s3://b/out/tensorboard")));
  EXPECT_THAT(dir(true, "/tb", "/out"), IsOkAndHolds(Dir("/tb")));
  EXPECT_THAT(dir(false, "/tb", "/out"), IsOkAndHolds(Dir("/tb")));
  EXPECT_THAT(dir(true, "", "/out"), IsOkAndHolds(Dir("/out/tensorboard")));
}

class SagemakerTensorboardDir : public testing::Test {
 protected:
  void SetUp() override {
    job_.training_job_name = "job";
    job_.tensorboard_config_path = testing::TempDir() +
                                   std::to_string(getpid()) +
                                   "_smdebug_tensorboard_output_test.json";
    std::filesystem::remove(job_.tensorboard_config_path);
  }
  void TearDown() override {
    std::filesystem::remove(job_.tensorboard_config_path);
  }

  Result<Dir> dir_with(std::string_view file) {
    std::ofstream(job_.tensorboard_config_path) << file;
    return resolve_tensorboard_dir(true, "/mine", "/out", job_);
  }

  JobEnvironment job_;
};

TEST_F(SagemakerTensorboardDir, IsNoneWithoutThePlatformsFile) {
  EXPECT_THAT(resolve_tensorboard_dir(true, "/mine", "/out", job_),
              IsOkAndHolds(Dir()));
}

TEST_F(SagemakerTensorboardDir, IsWhatThePlatformsFileSays) {
  EXPECT_THAT(dir_with(R"({"LocalPath": "/opt/tb", "S3OutputPath": "s3://x"})"),
              IsOkAndHolds(Dir("/opt/tb")));
  EXPECT_THAT(dir_with("{}"), IsOkAndHolds(Dir("/opt/ml/output/tensorboard")));
}

TEST_F(SagemakerTensorboardDir, NamesThePlaceOfAMistakeInThePlatformsFile) {
  EXPECT_THAT(dir_with("{\n \"LocalPath\": 7}"),
              FailsWith(Error::Code::invalid_config,
                        HasSubstr("smdebug_tensorboard_output_test.json:2:15: "
                                  "LocalPath: expected text, found 7")));
  EXPECT_THAT(dir_with("[]"), FailsWith(Error::Code::invalid_config,
                                        HasSubstr("expected an object")));
}

}  // namespace
}  // namespace smdebug
