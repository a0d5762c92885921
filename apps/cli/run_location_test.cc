#include "run_location.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "smdebug/store/open_storage.h"

#include "cli_testing.h"
#include "tests/support/as_nobody_testing.h"
#include "tests/support/fake_clock_testing.h"

namespace smdebug {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// 2026-11-21 03:07:24 UTC.
constexpr double kNow = 1795230444.9;

// Works in a folder of its own while it lives.
class WorkingFolder {
 public:
  WorkingFolder() { std::filesystem::current_path(folder_.path()); }
  ~WorkingFolder() { std::filesystem::current_path(before_); }
  std::string path(const std::string& name) const { return folder_.path(name); }

 private:
  std::filesystem::path before_ = std::filesystem::current_path();
  TemporaryFolder folder_;
};

TEST(RunLocation, IsNamedAfterTheScriptAndTheTime) {
  const WorkingFolder folder;
  RunCommand command;
  command.trainer = {"python", "-u", "examples/train.py", "--lr", "1"};
  const auto location = create_run_location(command, FakeClock(kNow));
  ASSERT_TRUE(location.ok()) << location.error().message;
  EXPECT_EQ(location->path, folder.path("smdebug-runs/train-20261121-030724"));
  EXPECT_TRUE(std::filesystem::is_directory(location->path));
}

TEST(RunLocation, KeepsTwoRunsOfOneSecondApart) {
  const WorkingFolder folder;
  RunCommand command;
  command.trainer = {"./train.sh"};
  const auto first = create_run_location(command, FakeClock(kNow));
  ASSERT_TRUE(first.ok());
  std::ofstream(first->path + "/claim.smd") << "x";
  const auto second = create_run_location(command, FakeClock(kNow));
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(second->path, first->path + "-2");
}

TEST(RunLocation, KeepsTwoRunsApartThatHaveRecordedNothingYet) {
  const WorkingFolder folder;
  RunCommand command;
  command.trainer = {"./train.sh"};
  const auto first = create_run_location(command, FakeClock(kNow));
  const auto second = create_run_location(command, FakeClock(kNow));
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(second->path, first->path + "-2");
}

TEST(RunLocation, IsNotThatOfAnotherRunThatHasRecordedNothingYet) {
  const TemporaryFolder folder;
  RunCommand command;
  command.trainer = {"x"};
  command.out = folder.path("run");
  {
    const auto first = create_run_location(command, system_clock());
    ASSERT_TRUE(first.ok()) << first.error().message;
    const auto second = create_run_location(command, system_clock());
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(second.error().code, Error::Code::invalid_argument);
    EXPECT_EQ(second.error().message,
              "--out: '" + command.out +
                  "' is the folder of another 'smdebug run' that has not "
                  "ended; choose another folder");
  }
  EXPECT_TRUE(create_run_location(command, system_clock()).ok());
}

TEST(RunLocation, RefusesAFolderThatHoldsFiles) {
  const TemporaryFolder folder;
  folder.write("run.json", "{}");
  RunCommand command;
  command.trainer = {"x"};
  command.out = folder.path();
  const auto location = create_run_location(command, FakeClock(kNow));
  ASSERT_FALSE(location.ok());
  EXPECT_EQ(location.error().code, Error::Code::invalid_argument);
  EXPECT_THAT(location.error().message, HasSubstr(folder.path()));
}

TEST(RunLocation, IsNotThatOfATrainingThatIsRunning) {
  const TemporaryFolder folder;
  RunCommand command;
  command.trainer = {"x"};
  command.out = folder.path("run");
  std::string live;
  record_run(command.out, kHealthy, true, [&] {
    live = create_run_location(command, system_clock()).error().message;
  });
  EXPECT_THAT(live, HasSubstr("a training that still writes it; choose another "
                              "folder"));
  EXPECT_THAT(create_run_location(command, system_clock()).error().message,
              HasSubstr("already contains a run; remove it with 'smdebug rm'"));
}

TEST(RunLocation, SaysThatItsFolderCannotBeCreated) {
  const TemporaryFolder folder;
  folder.write("file", "");
  RunCommand command;
  command.trainer = {"x"};
  command.out = folder.path("file/run");
  const auto location = create_run_location(command, FakeClock(kNow));
  ASSERT_FALSE(location.ok());
  EXPECT_EQ(location.error().code, Error::Code::invalid_argument);
  EXPECT_THAT(location.error().message,
              HasSubstr("cannot record to '" + command.out + "': '" +
                        folder.path("file") +
                        "' is a file, not a folder; choose another folder with "
                        "--out"));
}

TEST(RunLocation, RefusesAFolderThatTheUserMayNotWriteTo) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.path("a"));
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0755));
  std::filesystem::permissions(folder.path("a"), std::filesystem::perms(0555));
  RunCommand command;
  command.trainer = {"x"};
  const AsNobody nobody;  // permissions do not bind root
  for (const char* out : {"a", "a/run"}) {
    command.out = folder.path(out);
    EXPECT_THAT(create_run_location(command, FakeClock(kNow)).error().message,
                AllOf(HasSubstr("cannot record to '" + command.out + "': "),
                      HasSubstr("in '" + folder.path("a") +
                                "': Permission denied; choose another")));
  }
}

TEST(RunLocation, NamesTheOptionIfItsFolderCannotBeCreated) {
  RunCommand command;
  command.trainer = {"x"};
  command.out = "/proc/run";
  EXPECT_THAT(create_run_location(command, FakeClock(kNow)).error().message,
              AllOf(HasSubstr("cannot record to '/proc/run': no file can be "
                              "created in '/proc'"),
                    HasSubstr("; choose another folder with --out")));
}

TEST(RunLocation, MayBeInAStoreThatIsEmpty) {
  RunCommand command;
  command.trainer = {"x"};
  command.out = "memory://run-location-test";
  const auto location = create_run_location(command, FakeClock(kNow));
  ASSERT_TRUE(location.ok()) << location.error().message;
  EXPECT_EQ(location->path, command.out);
  const auto storage = *open_storage(command.out);
  EXPECT_THAT(*storage->list(""), testing::IsEmpty());
  ASSERT_TRUE(put_object(*storage, "run.json", "{}"));
  const auto again = create_run_location(command, FakeClock(kNow));
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code, Error::Code::invalid_argument);
  EXPECT_THAT(again.error().message, HasSubstr("already contains"));
}

TEST(RunLocation, IsNotInAStoreThatSmdebugDoesNotKnow) {
  RunCommand command;
  command.trainer = {"x"};
  command.out = "abfs://container/run";
  const auto location = create_run_location(command, FakeClock(kNow));
  ASSERT_FALSE(location.ok());
  EXPECT_EQ(location.error().code, Error::Code::invalid_argument);
  EXPECT_THAT(location.error().message, HasSubstr("'abfs://container/run'"));
}

TEST(RunLocation, OfAPrivateRunCanBeEnteredByItsOwnerAlone) {
  const TemporaryFolder folder;
  RunCommand command;
  command.trainer = {"x"};
  command.out = folder.path("above/run");
  command.is_private = true;
  ASSERT_TRUE(create_run_location(command, FakeClock(kNow)));
  EXPECT_EQ(std::filesystem::status(command.out).permissions(),
            std::filesystem::perms(0700));
}

TEST(RunLocation, RemovesAFolderOnlyWhereItIsEmpty) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.path("empty"));
  std::filesystem::create_directory(folder.path("full"));
  folder.write("full/file", "x");
  remove_if_empty(folder.path("empty"));
  remove_if_empty(folder.path("full"));
  EXPECT_FALSE(std::filesystem::exists(folder.path("empty")));
  EXPECT_TRUE(std::filesystem::exists(folder.path("full/file")));
}

}  // namespace
}  // namespace smdebug
