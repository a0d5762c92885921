// Tests 'smdebug check' with a pattern that stands for the runs below a folder.

#include <filesystem>
#include <nlohmann/json.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli_testing.h"

namespace smdebug {
namespace {

using testing::HasSubstr;

std::vector<std::string> judged_runs(const Spoken& spoken) {
  std::vector<std::string> runs;
  for (const auto& run : nlohmann::json::parse(spoken.out))
    runs.push_back(run["run"]);
  return runs;
}

TEST(RunPatterns, StandForTheRunsBelowAFolder) {
  TemporaryFolder folder;
  for (const char* name : {"all/c", "all/a", "all/deeper/b", "one"})
    record_run(folder.path(name), kHealthy);
  std::filesystem::create_directories(folder.path("all/empty"));
  const Spoken spoken =
      smdebug({"check", folder.path("one"), folder.path("all/*"), "--json"});
  EXPECT_EQ(spoken.code, 0) << spoken.err;
  EXPECT_EQ(judged_runs(spoken),
            (std::vector<std::string>{folder.path("one"), folder.path("all/a"),
                                      folder.path("all/c"),
                                      folder.path("all/deeper/b")}));
}

TEST(RunPatterns, OfAFolderWithoutRunsFail) {
  TemporaryFolder folder;
  std::filesystem::create_directories(folder.path("empty/folder"));
  const Spoken spoken = smdebug({"check", folder.path("empty/*")});
  EXPECT_EQ(spoken.code, 1);
  EXPECT_EQ(spoken.out, "");
  EXPECT_THAT(
      spoken.err,
      HasSubstr("'" + folder.path("empty/*") + "' stands for the runs below '" +
                folder.path("empty") + "', but it has none"));
  const Spoken nowhere = smdebug({"check", folder.path("nowhere/*")});
  EXPECT_EQ(nowhere.code, 1);
  EXPECT_THAT(nowhere.err,
              HasSubstr("cannot list the folder '" + folder.path("nowhere")));
}

TEST(RunPatterns, OfARunFail) {
  TemporaryFolder folder;
  record_run(folder.path("run"), kHealthy);
  const Spoken spoken = smdebug({"check", folder.path("run/*")});
  EXPECT_EQ(spoken.code, 1);
  EXPECT_THAT(spoken.err,
              HasSubstr("which is a run itself; name it without '/*'"));
}

TEST(RunPatterns, AreNotThoseOfAFolderWithThatName) {
  TemporaryFolder folder;
  record_run(folder.path("all/*"), kHealthy);
  record_run(folder.path("all/b"), kHealthy);
  const Spoken spoken = smdebug({"check", folder.path("all/*"), "--json"});
  EXPECT_EQ(judged_runs(spoken),
            std::vector<std::string>{folder.path("all/*")});
}

}  // namespace
}  // namespace smdebug
