#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "smdebug/actions/rule_watch.h"
#include "smdebug/store/open_storage.h"

#include "actions/action_testing.h"
#include "base/result_matchers_testing.h"
#include "tests/support/fake_clock_testing.h"
#include "tests/support/temporary_folder_testing.h"

namespace smdebug {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

TEST(RecordedStatuses, AreWhatAWatchWrote) {
  const auto storage = *open_storage("memory://recorded-statuses");
  FakeClock clock{kStartSeconds};
  RuleWatchOptions options;
  options.storage = storage;
  options.rules = {"VanishingGradient", "AllZero"};
  options.clock = &clock;
  RuleWatch watch(options);
  WatchProgress progress;
  progress.last_fed = 6;
  progress.last_known = 9;
  progress.lag_seconds = 2.5;
  Verdict advice = fired_verdict();
  advice.severity = Severity::advice;
  watch.update(std::vector{advice}, progress);
  const auto statuses = read_recorded_statuses(*storage);
  ASSERT_THAT(statuses, IsOk());
  ASSERT_THAT(*statuses, SizeIs(2));
  const RecordedStatus& fired = statuses->at(1);
  EXPECT_EQ(fired.key, "VanishingGradient");
  EXPECT_EQ(fired.rule, "VanishingGradient");
  EXPECT_EQ(fired.status, "IssuesFound");
  EXPECT_EQ(fired.severity, Severity::advice);
  EXPECT_EQ(statuses->at(0).severity, std::nullopt);
  EXPECT_EQ(fired.message, fired_verdict().message);
  EXPECT_EQ(fired.last_modified, "2015-08-30T12:36:00Z");
  EXPECT_EQ(fired.last_step, 6);
  EXPECT_EQ(fired.lag_steps, 3);
  EXPECT_EQ(fired.lag_seconds, 2.5);
}

TEST(RecordedStatuses, AreNoneOfARunThatNobodyJudged) {
  EXPECT_THAT(*read_recorded_statuses(
                  **open_storage("memory://recorded-statuses-none")),
              IsEmpty());
}

TEST(RecordedStatuses, NameAFileThatIsTheStatusOfAnotherRule) {
  const auto storage = *open_storage("memory://recorded-statuses-exchanged");
  const std::string of_all_zero =
      R"({"rule": "AllZero", "status": "InProgress", "lag_steps": 0, )"
      R"("last_modified": "2026-11-21T03:07:24Z"})";
  for (const char* key : {"AllZero", "AllZero_2", "AllZeros", "Overfit"}) {
    ASSERT_THAT(put_object(*storage, std::string("rules/") + key + ".json",
                           std::string_view(of_all_zero)),
                IsOk());
  }
  std::vector<SkippedStatus> skipped;
  const auto statuses = read_recorded_statuses(*storage, &skipped);
  ASSERT_THAT(statuses, IsOk());
  ASSERT_THAT(*statuses, SizeIs(2));
  EXPECT_EQ(statuses->at(1).key, "AllZero_2");
  ASSERT_THAT(skipped, SizeIs(2));
  EXPECT_EQ(skipped[0].key, "rules/AllZeros.json");
  EXPECT_EQ(skipped[1].key, "rules/Overfit.json");
  EXPECT_THAT(skipped[1].what, testing::HasSubstr("rule 'AllZero'"));
}

TEST(RecordedStatuses, NameEachFileThatCannotBeRead) {
  namespace fs = std::filesystem;
  const TemporaryFolder folder;
  const std::string rules = folder.path() + "/rules";
  const auto storage = *open_storage(folder.path());
  fs::create_directory(rules);
  std::ofstream(rules + "/Huge.json").close();
  fs::resize_file(rules + "/Huge.json", std::uintmax_t{1} << 40);
  fs::create_symlink("/etc/passwd", rules + "/Linked.json");
  ASSERT_EQ(mkfifo((rules + "/Piped.json").c_str(), 0666), 0);
  std::vector<SkippedStatus> skipped;
  EXPECT_THAT(*read_recorded_statuses(*storage, &skipped), IsEmpty());
  ASSERT_THAT(skipped, SizeIs(3));
  EXPECT_EQ(skipped[0].key, "rules/Huge.json");
  EXPECT_EQ(skipped[1].key, "rules/Linked.json");
  EXPECT_EQ(skipped[2].key, "rules/Piped.json");

  fs::remove_all(rules);
  fs::create_directory_symlink("/etc", rules);
  skipped.clear();
  EXPECT_THAT(*read_recorded_statuses(*storage, &skipped), IsEmpty());
  ASSERT_THAT(skipped, SizeIs(1));
  EXPECT_EQ(skipped[0].key, "rules");
}

TEST(RecordedStatuses, LeaveOutWhatIsNone) {
  const auto storage = *open_storage("memory://recorded-statuses-torn");
  for (const char* text : {"", "{", "[]", "{\"rule\": 3}", "null"}) {
    ASSERT_THAT(
        put_object(*storage, "rules/AllZero.json", std::string_view(text)),
        IsOk());
    EXPECT_THAT(*read_recorded_statuses(*storage), IsEmpty()) << text;
  }
}

}  // namespace
}  // namespace smdebug
