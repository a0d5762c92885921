// Tests that SIGKILL at any moment of a training loses only unpublished steps:
// every listed step is complete, and a restart continues the run. Runs are in
// folders, or below the address in SMDEBUG_KILL_STORE: 10, or
// SMDEBUG_KILL_RUNS.

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <set>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "smdebug/read/trial.h"
#include "smdebug/store/open_storage.h"

#include "format/run_file.h"
#include "tests/fault/kill_run.h"
#include "tests/support/temporary_folder_testing.h"

extern char** environ;

namespace smdebug {
namespace {

using ::testing::IsEmpty;
using ::testing::Not;

// Kills in one folder, and folders.
constexpr int kStarts = 20;
// A busy machine may kill no trainer in the middle of a write: then more.
constexpr int kMostRuns = 50;
constexpr Step kForEver = 1'000'000;

int runs_at_least() {
  const char* given = std::getenv("SMDEBUG_KILL_RUNS");
  return given ? std::atoi(given) : 10;
}

std::string store() {
  const char* given = std::getenv("SMDEBUG_KILL_STORE");
  return given ? given : "";
}

std::uint64_t seed() {
  const char* given = std::getenv("SMDEBUG_KILL_SEED");
  const std::uint64_t seed =
      given ? std::strtoull(given, nullptr, 10) : std::random_device()();
  std::printf("SMDEBUG_KILL_SEED=%llu\n",
              static_cast<unsigned long long>(seed));
  return seed;
}

// One start of the trainer.
class Trainer {
 public:
  Trainer(const std::string& run, Step steps, int start) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    told_ = ends[0];
    std::string steps_text = std::to_string(steps);
    std::string start_text = std::to_string(start);
    std::string pipe_text = std::to_string(ends[1]);
    std::string program = SMDEBUG_KILL_TRAINER, folder = run;
    char* arguments[] = {program.data(),    folder.data(),    steps_text.data(),
                         start_text.data(), pipe_text.data(), nullptr};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addclose(&actions, told_);
    // The log, which also has at every start that a claim is taken over.
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, log_.c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC, 0600);
    EXPECT_EQ(posix_spawn(&process_, program.c_str(), &actions, nullptr,
                          arguments, environ),
              0);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
  }
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;
  ~Trainer() {
    if (process_ > 0) kill_now();
    close(told_);
  }

  pid_t process() const { return process_; }

  // Waits for `words` of the trainer, or for its end.
  void hear(int words) {
    for (; words > 0; --words) {
      if (!hear_one()) return;
    }
  }

  void kill_now() {
    kill(process_, SIGKILL);
    (void)wait();
    // What it had said before it died.
    while (hear_one()) {
    }
  }

  // Returns the exit code; none where a signal ended it.
  std::optional<int> wait() {
    int status = 0;
    EXPECT_EQ(waitpid(process_, &status, 0), process_);
    process_ = 0;
    if (WIFEXITED(status)) return WEXITSTATUS(status);
    return std::nullopt;
  }

  // Steps that it said are readable.
  Step readable() const { return readable_; }

  std::string log() const {
    std::ifstream file(log_);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  bool hear_one() {
    return read(told_, &readable_, sizeof(readable_)) == sizeof(readable_);
  }

  const TemporaryFolder folder_;
  const std::string log_ = folder_.path("log");
  pid_t process_ = 0;
  int told_ = -1;
  Step readable_ = 0;
};

// Lets a random part of a few milliseconds pass without giving the processor
// away.
void spin(std::mt19937_64& random) {
  volatile std::uint64_t turns = random() % 4'000'000;
  while (turns > 0) turns = turns - 1;
}

std::unique_ptr<Trial> open(const std::string& run) {
  TrialOptions options;
  options.timeout = std::chrono::nanoseconds(0);
  options.end_delay = std::chrono::nanoseconds(0);
  auto trial = Trial::open(run, std::move(options));
  if (trial) return *std::move(trial);
  EXPECT_EQ(trial.error().code, Error::Code::not_found)
      << trial.error().message;
  return nullptr;
}

std::vector<float> floats(const TensorValue& value) {
  std::vector<float> values(value.bytes().size() / sizeof(float));
  std::memcpy(values.data(), value.bytes().data(), value.bytes().size());
  return values;
}

// All of a step is there, and of one start.
void expect_whole(Trial& trial, Step step) {
  std::optional<int> start;
  for (const KillTensor& tensor : kKillTensors) {
    if (step % tensor.interval != 0) continue;
    auto found = trial.tensor(tensor.name);
    ASSERT_TRUE(found) << found.error().message;
    const auto value = found->value({step});
    ASSERT_TRUE(value) << value.error().message;
    const std::vector<float> found_values = floats(*value);
    ASSERT_THAT(found_values, Not(IsEmpty()));
    if (!start) start = static_cast<int>(found_values[0]);
    // gmock would compare 400,000 elements one by one, with words for each.
    ASSERT_TRUE(found_values == kill_values(tensor, step, *start))
        << tensor.name << " at step " << step;
    EXPECT_TRUE(found->statistics({step}));
  }
}

// Checks the run, and returns its steps.
std::set<Step> expect_sound(const std::string& run) {
  const auto trial = open(run);
  if (!trial) return {};
  EXPECT_THAT(trial->damage(), IsEmpty());
  EXPECT_FALSE(trial->has_ended());
  std::set<Step> steps;
  for (const Step step : trial->steps()) {
    steps.insert(step);
    expect_whole(*trial, step);
  }
  return steps;
}

// The index files of the run by their key, those of its earlier attempts
// included.
std::set<std::string> index_files(const std::string& run) {
  std::set<std::string> files;
  const auto storage = open_storage(run);
  EXPECT_TRUE(storage);
  for (const std::string_view prefix : {"index/", "attempts/"}) {
    const auto listed = (*storage)->list(prefix);
    EXPECT_TRUE(listed);
    for (const ObjectEntry& object : *listed) {
      if (object.key.ends_with(".json") &&
          object.key.find("index/") != std::string::npos) {
        files.insert(object.key);
      }
    }
  }
  return files;
}

// No death costs a step: each index file that lay there `before` is still
// there, perhaps among those of an earlier attempt. Of the steps that the
// trainer said are readable, the newest attempt has all.
void expect_kept(const std::set<std::string>& before, Step readable,
                 const std::set<Step>& newest,
                 const std::set<std::string>& after) {
  for (const std::string& key : before) {
    const bool is_there =
        after.contains(key) ||
        std::ranges::any_of(after, [&](const std::string& other) {
          return other.ends_with("/" + key);
        });
    EXPECT_TRUE(is_there) << key;
  }
  for (Step step = 0; step < readable; ++step)
    EXPECT_TRUE(newest.contains(step));
}

// Each earlier attempt is a sound run.
void expect_sound_attempts(const std::string& run) {
  const auto trial = open(run);
  ASSERT_TRUE(trial);
  const auto attempts = trial->attempts();
  ASSERT_TRUE(attempts) << attempts.error().message;
  for (const Attempt& attempt : *attempts) {
    if (attempt.location.empty()) continue;
    const auto earlier = open(attempt.location);
    ASSERT_TRUE(earlier);
    EXPECT_THAT(earlier->damage(), IsEmpty());
    for (const Step step : earlier->steps()) expect_whole(*earlier, step);
  }
}

std::vector<RunAttempt> attempts_of(const std::string& run) {
  const auto trial = open(run);
  if (!trial) return {};
  const auto text = trial->run_file_text();
  if (!text) return {};
  const auto file = parse_run_file(*text);
  EXPECT_TRUE(file) << file.error().message;
  return file ? file->attempts : std::vector<RunAttempt>();
}

std::size_t unfinished_files(const std::string& run) {
  std::size_t count = 0;
  std::error_code none;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(run, none)) {
    count += entry.path().extension() == ".tmp";
  }
  return count;
}

// The attempts of `run` were made by `started`, in this order; one that was
// killed before its first step may be missing.
void expect_attempts(const std::string& run, const std::vector<pid_t>& started,
                     const std::set<pid_t>& published) {
  auto next = started.begin();
  std::set<pid_t> found;
  for (const RunAttempt& attempt : attempts_of(run)) {
    next = std::find(next, started.end(), attempt.process_id);
    ASSERT_NE(next, started.end()) << attempt.process_id;
    found.insert(*next);
    EXPECT_EQ(attempt.status,
              next + 1 == started.end() ? "finished" : "running");
  }
  EXPECT_THAT(found, ::testing::IsSupersetOf(published));
}

TEST(KilledTrainer, LosesNoStepThatWasPublishedAndIsFollowedByTheNext) {
  std::mt19937_64 random(seed());
  std::size_t torn = 0;
  int runs = 0;
  for (; runs < runs_at_least() || (torn == 0 && runs < kMostRuns); ++runs) {
    const TemporaryFolder folder;
    const std::string run = store().empty()
                                ? folder.path() + "/run"
                                : store() + "/" + std::to_string(runs);
    std::vector<pid_t> started;
    std::set<pid_t> published;
    std::set<Step> steps;
    std::set<std::string> files;
    for (int start = 0; start < kStarts; ++start) {
      SCOPED_TRACE("run " + std::to_string(runs) + ", start " +
                   std::to_string(start));
      Trainer trainer(run, kForEver, start);
      started.push_back(trainer.process());
      trainer.hear(static_cast<int>(random() % 4));
      spin(random);
      trainer.kill_now();
      if (trainer.readable() > 0) published.insert(started.back());
      steps = expect_sound(run);
      std::set<std::string> found = index_files(run);
      expect_kept(files, trainer.readable(), steps, found);
      ASSERT_FALSE(testing::Test::HasFailure());
      files = std::move(found);
      // An object of a store is there or not.
      torn += !store().empty() || unfinished_files(run) > 0;
    }
    // The stale claim and the torn files are no hindrance.
    const Step size = steps.empty() ? 3 : *steps.rbegin() + 3;
    Trainer last(run, size, kStarts);
    started.push_back(last.process());
    ASSERT_EQ(last.wait(), 0) << last.log();
    const auto trial = open(run);
    ASSERT_TRUE(trial);
    EXPECT_TRUE(trial->has_ended());
    EXPECT_EQ(static_cast<Step>(trial->steps().size()), size);
    EXPECT_THAT(trial->damage(), IsEmpty());
    for (const Step step : trial->steps()) expect_whole(*trial, step);
    expect_attempts(run, started, published);
    expect_sound_attempts(run);
  }
  std::printf("after %zu of %d deaths an unfinished file lay there\n", torn,
              runs * kStarts);
  EXPECT_GT(torn, 0u) << "no death fell into a write: nothing was tested";
}

}  // namespace
}  // namespace smdebug
