#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "actions/action_testing.h"
#include "actions/actions.h"
#include "base/json.h"
#include "base/result_matchers_testing.h"
#include "tests/support/temporary_folder_testing.h"

namespace smdebug {
namespace {

using testing::HasSubstr;

class CommandActionTest : public testing::Test {
 protected:
  Result<std::string> run(const std::string& command) {
    return make_command_action({ActionKind::command, command}, settings_)
        ->perform(fired_alert());
  }
  std::string path(const std::string& name) const { return folder_.path(name); }

  TemporaryFolder folder_;
  ActionSettings settings_;
};

TEST_F(CommandActionTest, ReadsTheVerdictFromItsInput) {
  EXPECT_THAT(run("cat > " + path("seen")),
              IsOkAndHolds("the command ended with exit code 0"));
  std::stringstream seen;
  seen << std::ifstream(path("seen")).rdbuf();
  const auto json = Json::parse(seen.str());
  ASSERT_THAT(json, IsOk());
  EXPECT_THAT(json->find("verdict")->string_at("rule"),
              IsOkAndHolds("VanishingGradient"));
}

TEST_F(CommandActionTest, MayIgnoreItsInputAndSayALot) {
  EXPECT_THAT(run("head -c 3000000 /dev/zero"), IsOk());
}

TEST_F(CommandActionTest, SaysHowItFailed) {
  const auto failed = run("echo no printer >&2; exit 7");
  ASSERT_THAT(failed, FailsWith(Error::Code::io));
  EXPECT_THAT(failed.error().message,
              testing::EndsWith("exit code 7: no printer"));
  EXPECT_THAT(run("kill -KILL $$"),
              FailsWith(Error::Code::io, HasSubstr("signal 9")));
  EXPECT_THAT(run(path("nothing")),
              FailsWith(Error::Code::io, HasSubstr("exit code 127")));
}

// The child, and what it started, has no part in our time.
TEST_F(CommandActionTest, EndsWithItsTimeAndTakesItsChildrenAlong) {
  settings_.command_timeout = std::chrono::milliseconds(100);
  EXPECT_THAT(run("sleep 600 & echo $! > " + path("pid") + "; wait"),
              FailsWith(Error::Code::unavailable, HasSubstr("0.1 s")));
  pid_t child = 0;
  std::ifstream(path("pid")) >> child;
  ASSERT_GT(child, 0);
  // Gone, or waiting to be reaped by whoever inherited it.
  std::string name, state = "Z";
  std::ifstream("/proc/" + std::to_string(child) + "/stat") >> name >> name >>
      state;
  EXPECT_EQ(state, "Z");
}

}  // namespace
}  // namespace smdebug
