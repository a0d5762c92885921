// Tests `smdebug pack`: what it writes and reports.

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli_testing.h"

namespace smdebug {
namespace {

using testing::HasSubstr;

namespace fs = std::filesystem;

class PackCommandTest : public testing::Test {
 protected:
  PackCommandTest() { record_run(run_, kHealthy); }

  TemporaryFolder folder_;
  const std::string run_ = folder_.path("runs/a");
};

TEST_F(PackCommandTest, WritesTheStatisticsFileThatARunLacks) {
  ASSERT_FALSE(fs::exists(run_ + "/statistics"));  // it is short
  Spoken spoken = smdebug({"pack", run_});
  EXPECT_EQ(spoken.code, 0) << spoken.err;
  EXPECT_THAT(spoken.out, HasSubstr(run_ + ": packed "));
  EXPECT_THAT(spoken.out, HasSubstr(" into 1 statistics file\n"));
  EXPECT_TRUE(fs::exists(run_ + "/statistics/worker_0"));
  spoken = smdebug({"pack", run_});
  EXPECT_EQ(spoken.code, 0) << spoken.err;
  EXPECT_THAT(spoken.out, HasSubstr("nothing to pack: "));
  EXPECT_THAT(spoken.out, HasSubstr(" packed already\n"));
}

TEST_F(PackCommandTest, NamesTheRunThatDoesNotExistAndPacksTheOthers) {
  const Spoken spoken = smdebug({"pack", run_ + "/none", run_});
  EXPECT_EQ(spoken.code, 1);
  EXPECT_THAT(spoken.err, HasSubstr("/none"));
  EXPECT_THAT(spoken.out, HasSubstr(run_ + ": packed "));
}

TEST_F(PackCommandTest, NeedsARun) { EXPECT_EQ(smdebug({"pack"}).code, 2); }

}  // namespace
}  // namespace smdebug
