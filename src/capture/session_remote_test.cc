// Tests a session whose storage is over a network: it does not wait for its
// answers, and other hosts see whether it runs.

#include <gmock/gmock.h>

#include "capture/session_fixture_testing.h"
#include "format/progress_file.h"
#include "format/run_file.h"
#include "tests/fault/faulty_storage.h"
#include "tests/support/fake_clock_testing.h"
#include "tests/support/remote_storage_testing.h"

namespace smdebug {
namespace {

using ::testing::HasSubstr;

constexpr Step kSteps = 50;

class SessionRemoteTest : public SessionFixture {
 protected:
  SessionRemoteTest() { storage_ = std::make_shared<RemoteStorage>(faulty_); }

  void train(Session& session) {
    for (Step step = 0; step < kSteps; ++step) {
      session.begin_step();
      put(session, "a", {static_cast<float>(step)});
    }
    session.end_step();
  }

  void put_owner_on_another_host(double written_seconds) {
    const ProcessMark owner = {"elsewhere", 1, 1};
    ASSERT_TRUE(put_object(*storage_, kClaimKey, write_claim(owner)));
    RunProgress progress;
    progress.host = owner.host;
    progress.process_id = owner.process_id;
    progress.start_ticks = owner.start_ticks;
    progress.written_seconds = written_seconds;
    ASSERT_TRUE(
        put_object(*storage_, kProgressKey, write_progress_file(progress)));
  }

  std::shared_ptr<FaultyStorage> faulty_ =
      std::make_shared<FaultyStorage>(storage_);
};

TEST_F(SessionRemoteTest, HasPublishedEverythingAfterAFlush) {
  auto session = open();
  train(*session);
  ASSERT_TRUE(session->flush().ok());
  for (Step step = 0; step < kSteps; ++step) {
    EXPECT_TRUE(is_there(index_file_key(step, "worker_0"))) << step;
    EXPECT_THAT(records(step).at("a"),
                ::testing::ElementsAre(static_cast<float>(step)));
  }
  EXPECT_TRUE(session->close().ok());
  EXPECT_TRUE(is_there(kEndMarkerKey));
}

TEST_F(SessionRemoteTest, HasPublishedEverythingAfterItsClose) {
  auto session = open();
  train(*session);
  EXPECT_TRUE(session->close().ok());
  for (Step step = 0; step < kSteps; ++step) {
    EXPECT_TRUE(is_there(index_file_key(step, "worker_0"))) << step;
  }
}

TEST_F(SessionRemoteTest, LatchesAFailedUploadAndShowsNoStepAfterIt) {
  auto session = open();
  train(*session);
  ASSERT_TRUE(session->flush().ok());
  faulty_->fail_with("the store is down");
  train(*session);
  EXPECT_FALSE(session->flush().ok());
  EXPECT_FALSE(session->close().ok());
  EXPECT_EQ(session->status().state, SessionStatus::State::failed);
  EXPECT_THAT(session->status().error->message, HasSubstr("store is down"));
  EXPECT_TRUE(is_there(index_file_key(kSteps - 1, "worker_0")));
  EXPECT_FALSE(is_there(index_file_key(kSteps + 1, "worker_0")));
}

TEST_F(SessionRemoteTest, TakesOverTheClaimOfAHostThatIsSilent) {
  const FakeClock clock(10'000);
  put_owner_on_another_host(10'000 - 181);
  auto session = open(clock);
  EXPECT_TRUE(session->begin_step());
  EXPECT_THAT(log_.text(), HasSubstr("taken over"));
  EXPECT_TRUE(session->close().ok());
}

TEST_F(SessionRemoteTest, LeavesTheClaimOfAHostThatHasJustWritten) {
  const FakeClock clock(10'000);
  put_owner_on_another_host(10'000 - 179);
  auto session = open(clock);
  EXPECT_FALSE(session->begin_step());
  EXPECT_THAT(log_.text(), HasSubstr("process 1 on 'elsewhere' writes"));
}

}  // namespace
}  // namespace smdebug
