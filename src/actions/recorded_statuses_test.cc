#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "smdebug/actions/rule_watch.h"
#include "smdebug/store/open_storage.h"

#include "actions/action_testing.h"
#include "base/result_matchers_testing.h"
#include "tests/support/fake_clock_testing.h"

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
  watch.update(std::vector<Verdict>{fired_verdict()}, progress);
  const auto statuses = read_recorded_statuses(*storage);
  ASSERT_THAT(statuses, IsOk());
  ASSERT_THAT(*statuses, SizeIs(2));
  const RecordedStatus& fired = statuses->at(1);
  EXPECT_EQ(fired.key, "VanishingGradient");
  EXPECT_EQ(fired.rule, "VanishingGradient");
  EXPECT_EQ(fired.status, "IssuesFound");
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
