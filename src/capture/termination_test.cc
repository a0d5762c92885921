// Tests runs whose process receives SIGTERM. Each case is a separate process,
// whose exit status is the result.

#include "smdebug/capture/termination.h"

#include <csignal>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "smdebug/capture/session.h"
#include "smdebug/store/open_storage.h"

#include "format/file_names.h"
#include "tests/fault/faulty_storage.h"
#include "tests/support/fork_testing.h"
#include "tests/support/recording_logger_testing.h"
#include "tests/support/temporary_folder_testing.h"

namespace smdebug {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Runs `life` in a child and returns how it ended. A child that outlives its
// purpose ends by SIGALRM.
int end_of(const std::function<void()>& life) {
  const pid_t child = fork_when_others_sleep();
  if (child == 0) {
    alarm(60);
    life();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

[[noreturn]] void wait_for_the_end() {
  while (true) pause();
}

bool ended_by(int signal, int status) {
  return WIFSIGNALED(status) && WTERMSIG(status) == signal;
}

class TerminationTest : public ::testing::Test {
 protected:
  std::string run() const { return folder_.path() + "/run"; }

  // The steps with an index file.
  std::vector<Step> published() const {
    std::vector<Step> steps;
    const auto storage = *open_storage(run());
    const auto files = *storage->list(kIndexPrefix);
    for (const ObjectEntry& file : files) {
      const auto name = parse_step_file_key(file.key);
      EXPECT_TRUE(*storage->exists(event_file_key(name->step, name->worker)));
      steps.push_back(name->step);
    }
    return steps;
  }

  bool has_end_marker() const {
    return *(*open_storage(run()))->exists(kEndMarkerKey);
  }

  std::unique_ptr<Session> open(std::shared_ptr<Storage> storage) {
    SessionOptions options;
    options.logger = &log_;
    options.framework = pytorch_framework();
    options.storage = std::move(storage);
    options.config.save_all = true;
    options.config.save_config = SaveConfig(SaveConfigMode{.save_interval = 1});
    return *Session::create(std::move(options));
  }

  static void put(Session& session, std::string_view name) {
    constexpr std::int64_t kShape[] = {1000};
    const std::vector<float> values(1000, 1.0f);
    session.tensor(name).put({DType::float32,
                              reinterpret_cast<const std::byte*>(values.data()),
                              kShape,
                              {}});
  }
  static void step(Session& session) {
    session.begin_step();
    put(session, "a");
  }

  TemporaryFolder folder_;
  NullLogger log_;
};

TEST_F(TerminationTest, PublishesEveryStepThatEndedAndDiesOfTheSignal) {
  const int end = end_of([this] {
    auto storage = std::make_shared<FaultyStorage>(*open_storage(run()));
    auto session = open(storage);
    if (!install_termination_flush()) _exit(1);
    step(*session);
    session->end_step();
    (void)session->flush();
    storage->hold();
    for (int i = 0; i < 4; ++i) step(*session);
    raise(SIGTERM);
    storage->let_go();
    wait_for_the_end();
  });
  EXPECT_TRUE(ended_by(SIGTERM, end)) << end;
  EXPECT_THAT(published(), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_FALSE(has_end_marker());
}

TEST_F(TerminationTest, WritesTheScalarsThatWereHandedOver) {
  const int end = end_of([this] {
    auto storage = std::make_shared<FaultyStorage>(*open_storage(run()));
    auto session = open(storage);
    if (!install_termination_flush()) _exit(1);
    const ScalarSlot loss = session->scalar("loss");
    step(*session);
    session->end_step();
    (void)session->flush();
    storage->hold();
    step(*session);
    // The last of these fills the buffer.
    for (int i = 0; i < 4096; ++i) loss.note(i);
    raise(SIGTERM);
    storage->let_go();
    wait_for_the_end();
  });
  EXPECT_TRUE(ended_by(SIGTERM, end)) << end;
  const std::string key = series_file_key({"worker_0", 1, 1, 0});
  EXPECT_TRUE(*(*open_storage(run()))->exists(key));
}

TEST_F(TerminationTest, KeepsBackAStepWhoseCapturesHaveNotFinished) {
  const int end = end_of([this] {
    auto session = open(*open_storage(run()));
    install_termination_flush();
    for (int i = 0; i < 3; ++i) {
      step(*session);
      put(*session, "b");
    }
    step(*session);  // without "b"
    raise(SIGTERM);
    wait_for_the_end();
  });
  EXPECT_TRUE(ended_by(SIGTERM, end)) << end;
  EXPECT_THAT(published(), ElementsAre(0, 1, 2));
}

// In step 2 more is due than in step 1.
TEST_F(TerminationTest, ComparesAnOpenStepWithThoseInWhichTheSameIsDue) {
  const int end = end_of([this] {
    SessionOptions options;
    options.logger = &log_;
    options.framework = pytorch_framework();
    options.storage = *open_storage(run());
    Collection often{{"often", {"^a$"}, {}}, {}, {}};
    Collection rare{{"rare", {"^b$"}, {}}, {}, {}};
    often.save_config = SaveConfig(SaveConfigMode{.save_interval = 1});
    rare.save_config = SaveConfig(SaveConfigMode{.save_interval = 2});
    options.config.collections = {often, rare};
    options.config.include_collections = {"often", "rare"};
    auto session = *Session::create(std::move(options));
    install_termination_flush();
    for (int i = 0; i < 2; ++i) {
      step(*session);
      put(*session, "b");
    }
    step(*session);
    raise(SIGTERM);
    wait_for_the_end();
  });
  EXPECT_TRUE(ended_by(SIGTERM, end)) << end;
  EXPECT_THAT(published(), ElementsAre(0, 1));
}

TEST_F(TerminationTest, PublishesTheStepsOfEverySession) {
  const int end = end_of([this] {
    auto first = open(*open_storage(run() + "/one"));
    auto second = open(*open_storage(run() + "/two"));
    install_termination_flush();
    for (Session* session : {first.get(), second.get()}) {
      step(*session);
      session->end_step();
    }
    raise(SIGTERM);
    wait_for_the_end();
  });
  EXPECT_TRUE(ended_by(SIGTERM, end)) << end;
  for (const char* name : {"/one", "/two"}) {
    EXPECT_TRUE(
        *(*open_storage(run() + name))->exists(index_file_key(0, "worker_0")));
  }
}

TEST_F(TerminationTest, EndsInTimeWhenTheStorageDoesNotAnswer) {
  const int end = end_of([this] {
    auto storage = std::make_shared<FaultyStorage>(*open_storage(run()));
    auto session = open(storage);
    install_termination_flush(milliseconds(100));
    step(*session);
    storage->hold();
    session->end_step();
    raise(SIGTERM);
    wait_for_the_end();
  });
  EXPECT_TRUE(ended_by(SIGTERM, end)) << end;
  EXPECT_THAT(published(), IsEmpty());
}

// The training refills the lanes faster than they are written.
TEST_F(TerminationTest, EndsATrainingThatDoesNotPause) {
  const int end = end_of([this] {
    auto session = open(*open_storage(run()));
    install_termination_flush(std::chrono::hours(1));
    for (int i = 0; i < 100; ++i) step(*session);
    raise(SIGTERM);
    while (true) step(*session);
  });
  EXPECT_TRUE(ended_by(SIGTERM, end)) << end;
  EXPECT_GE(published().size(), 100);
}

TEST_F(TerminationTest, EndsAtOnceWhereNoSessionIsOpen) {
  const int end = end_of([this] {
    {
      auto session = open(*open_storage(run()));
      step(*session);
    }
    install_termination_flush();
    raise(SIGTERM);
    wait_for_the_end();
  });
  EXPECT_TRUE(ended_by(SIGTERM, end)) << end;
}

TEST_F(TerminationTest, LeavesTheProgramsOwnAnswerAlone) {
  const int with_code = end_of([] {
    signal(SIGTERM, [](int) { _exit(7); });
    if (install_termination_flush()) _exit(1);
    raise(SIGTERM);
    wait_for_the_end();
  });
  EXPECT_EQ(WEXITSTATUS(with_code), 7);
  const int ignoring = end_of([] {
    signal(SIGTERM, SIG_IGN);
    if (install_termination_flush()) _exit(1);
    raise(SIGTERM);
  });
  EXPECT_EQ(ignoring, 0);
}

TEST_F(TerminationTest, GivesTheSignalToCodeThatWasInstalledAfterIt) {
  const int end = end_of([] {
    install_termination_flush();
    signal(SIGTERM, [](int) { _exit(7); });
    raise(SIGTERM);
    wait_for_the_end();
  });
  EXPECT_EQ(WEXITSTATUS(end), 7);
}

TEST_F(TerminationTest, DoesNotKeepTheChildOfAForkAlive) {
  const int end = end_of([this] {
    auto session = open(*open_storage(run()));
    step(*session);
    install_termination_flush();
    const int child = end_of([&] {
      session->after_fork_in_child();
      raise(SIGTERM);
      wait_for_the_end();
    });
    _exit(ended_by(SIGTERM, child) ? 0 : 1);
  });
  EXPECT_EQ(end, 0);
}

TEST_F(TerminationTest, ServesTheChildOfAForkThatAsksForItself) {
  const int end = end_of([this] {
    auto inherited = open(*open_storage(run() + "/parent"));
    step(*inherited);
    install_termination_flush();
    const int child = end_of([&] {
      inherited->after_fork_in_child();
      auto session = open(*open_storage(run() + "/child"));
      if (!install_termination_flush()) _exit(1);
      step(*session);
      session->end_step();
      raise(SIGTERM);
      wait_for_the_end();
    });
    _exit(ended_by(SIGTERM, child) ? 0 : 1);
  });
  EXPECT_EQ(end, 0);
  EXPECT_TRUE(*(*open_storage(run() + "/child"))
                   ->exists(index_file_key(0, "worker_0")));
}

}  // namespace
}  // namespace smdebug
