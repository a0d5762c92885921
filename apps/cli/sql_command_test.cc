// Tests `smdebug sql`: where it finds runs, what it prints and its exit codes.

#include <nlohmann/json.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli_testing.h"

namespace smdebug {
namespace {

using testing::HasSubstr;

class SqlCommandTest : public testing::Test {
 protected:
  SqlCommandTest() {
    record_run(folder_.path("runs/a"), kHealthy);
    record_run(folder_.path("runs/b"), kHealthy);
  }

  TemporaryFolder folder_;
  const std::string runs_ = folder_.path("runs");
};

TEST_F(SqlCommandTest, AnswersAboutTheRunsBelowAFolder) {
  const Spoken spoken =
      smdebug({"sql",
               "select run, count(distinct tensor) > 0 as has from statistics "
               "group by run order by run",
               runs_, "--json"});
  EXPECT_EQ(spoken.code, 0) << spoken.err;
  const auto rows = nlohmann::json::parse(spoken.out);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0]["run"], runs_ + "/a");
  EXPECT_EQ(rows[1]["run"], runs_ + "/b");
  EXPECT_EQ(rows[0]["has"], 1);
}

TEST_F(SqlCommandTest, APatternStandsForTheRunsBelowAFolder) {
  const std::string query = "select count(distinct run) as n from statistics";
  EXPECT_EQ(smdebug({"sql", query, runs_ + "/*", "--csv"}).out, "n\n2\n");
  const Spoken none = smdebug({"sql", query, runs_ + "/a/index/*"});
  EXPECT_EQ(none.code, 1);
  EXPECT_THAT(none.err, HasSubstr("stands for the runs below"));
}

TEST_F(SqlCommandTest, PrintsATableOrCsv) {
  const std::string query =
      "select 'x' as name, count(*) > 0 as n from statistics";
  EXPECT_EQ(smdebug({"sql", query, runs_}).out, "name  n\nx     1\n");
  EXPECT_EQ(smdebug({"sql", query, runs_, "--csv"}).out, "name,n\nx,1\n");
}

TEST_F(SqlCommandTest, NamesTheRunThatDoesNotExistAndAnswersAboutTheOthers) {
  const Spoken spoken =
      smdebug({"sql", "select count(distinct run) from statistics",
               runs_ + "/none", runs_ + "/a", "--csv"});
  EXPECT_EQ(spoken.code, 1);
  EXPECT_THAT(spoken.err, HasSubstr("/none"));
  EXPECT_EQ(spoken.out, "count(distinct run)\n1\n");
}

TEST_F(SqlCommandTest, ExplainsAWrongQuery) {
  const Spoken spoken = smdebug({"sql", "select gradient from scalars", runs_});
  EXPECT_EQ(spoken.code, 2);
  EXPECT_EQ(spoken.out, "");
  EXPECT_THAT(spoken.err, HasSubstr("no such column: gradient"));
  EXPECT_THAT(spoken.err, HasSubstr("scalars(run, name,"));
}

TEST_F(SqlCommandTest, NeedsAQueryAndARun) {
  EXPECT_EQ(smdebug({"sql"}).code, 2);
  EXPECT_EQ(smdebug({"sql", "select 1"}).code, 2);
}

}  // namespace
}  // namespace smdebug
