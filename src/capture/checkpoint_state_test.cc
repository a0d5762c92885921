#include "capture/checkpoint_state.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "smdebug/capture/session.h"
#include "smdebug/store/open_storage.h"

#include "base/json.h"
#include "format/file_names.h"
#include "tests/support/recording_logger_testing.h"
#include "tests/support/temporary_folder_testing.h"

namespace smdebug {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class CheckpointStateTest : public ::testing::Test {
 protected:
  CheckpointStateTest() {
    static int next = 0;
    storage_ =
        *open_storage("memory://checkpoint_state_" + std::to_string(next++));
    fs::create_directory(folder_.path() + "/ckpt");
    configure("{\"LocalPath\": \"" + folder_.path() +
              "/ckpt\", \"S3Uri\": \"s3://bucket/ckpt\"}");
    setenv("CHECKPOINT_CONFIG_FILE_PATH", config_path().c_str(), 1);
  }
  ~CheckpointStateTest() override { unsetenv("CHECKPOINT_CONFIG_FILE_PATH"); }

  std::string config_path() const { return folder_.path() + "/config.json"; }
  std::string file(const std::string& name) const {
    return folder_.path() + "/ckpt/" + name;
  }
  static void write(const std::string& path, std::string_view text) {
    std::ofstream(path, std::ios::binary) << text;
  }
  void configure(std::string_view text) { write(config_path(), text); }
  std::string state() const {
    std::ifstream stream(file("metadata.json"));
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  std::unique_ptr<Session> open() {
    SessionOptions options;
    options.framework = pytorch_framework();
    options.storage = storage_;
    options.logger = &log_;
    options.config.include_workers = IncludeWorkers::all;
    options.config.save_all = true;
    options.config.save_config = SaveConfig(SaveConfigMode{.save_interval = 3});
    return *Session::create(std::move(options));
  }

  static void steps(Session& session, Mode mode, int count) {
    session.set_mode(mode);
    for (int i = 0; i < count; ++i) session.begin_step();
  }

  TemporaryFolder folder_;
  std::shared_ptr<Storage> storage_;
  RecordingLogger log_{LogLevel::warning};
};

TEST_F(CheckpointStateTest, NotesTheCountersWhenACheckpointAppears) {
  auto session = open();
  steps(*session, Mode::train, 5);
  steps(*session, Mode::eval, 2);
  EXPECT_FALSE(fs::exists(file("metadata.json"))) << "no checkpoint yet";
  write(file("epoch_0.pt"), "weights");
  steps(*session, Mode::train, 3);
  // The counters of the step before: the checkpoint was taken there.
  EXPECT_EQ(state(), R"([{"training-run": 0, "latest-global-step-saved": 5, )"
                     R"("latest-global-step-seen": 6, "latest-mode-step": )"
                     R"({"TRAIN": 4, "EVAL": 1, "GLOBAL": 6}}])");
  EXPECT_THAT(log_.lines(),
              ::testing::Each(HasSubstr("no tensor was captured")));
}

TEST_F(CheckpointStateTest, GoesOnWhereTheOriginalLeftOff) {
  write(file("metadata.json"),
        R"([{"training-run": 1, "latest-global-step-saved": 20, )"
        R"("latest-global-step-seen": 29, "latest-mode-step": )"
        R"({"TRAIN": 19, "EVAL": 9, "GLOBAL": 29}}, )"
        R"({"training-run": 1, "latest-global-step-saved": null, )"
        R"("latest-global-step-seen": 9, "latest-mode-step": {"TRAIN": 9}}])");
  auto session = open();
  steps(*session, Mode::train, 1);
  EXPECT_EQ(session->step(), (StepId{30, Mode::train, 20}));
  steps(*session, Mode::eval, 1);
  EXPECT_EQ(session->step(), (StepId{31, Mode::eval, 10}));
  steps(*session, Mode::predict, 1);
  EXPECT_EQ(session->step(), (StepId{32, Mode::predict, 0}));
  write(file("epoch_1.pt"), "weights");
  steps(*session, Mode::train, 1);
  const auto all = Json::parse(state());
  ASSERT_TRUE(all.ok());
  ASSERT_THAT(*all->as_array(), SizeIs(3)) << "the older ones are kept";
  EXPECT_EQ(all->as_array()->back(),
            *Json::parse(
                R"({"training-run": 2, "latest-global-step-saved": 32, )"
                R"("latest-global-step-seen": 32, "latest-mode-step": )"
                R"({"TRAIN": 20, "EVAL": 10, "PREDICT": 0, "GLOBAL": 32}})"));
}

TEST_F(CheckpointStateTest, GivesStepsTheNumbersOfATrainingThatWasNotCut) {
  const auto train = [&](Session& session, int from, int to) {
    std::vector<StepId> seen;
    for (int i = from; i < to; ++i) {
      steps(session, i % 5 == 4 ? Mode::eval : Mode::train, 1);
      seen.push_back(session.step());
    }
    return seen;
  };
  std::vector<StepId> cut;
  {
    auto session = open();
    cut = train(*session, 0, 13);
    write(file("a.pt"), "weights");
    steps(*session, Mode::train, 1);  // lost: after the checkpoint
    ASSERT_TRUE(storage_->remove(kClaimKey).ok());
  }
  const auto rest = train(*open(), 13, 30);
  cut.insert(cut.end(), rest.begin(), rest.end());
  unsetenv("CHECKPOINT_CONFIG_FILE_PATH");
  storage_ = *open_storage("memory://checkpoint_state_uncut");
  EXPECT_EQ(cut, train(*open(), 0, 30));
}

TEST_F(CheckpointStateTest, NotesOnlyChangesOfNamesAndSizes) {
  write(file("old.pt"), "there before the session");
  auto session = open();
  const auto states = [&] {
    steps(*session, Mode::train, 1);
    const auto all = Json::parse(state());
    return all ? all->as_array()->size() : 0;
  };
  EXPECT_EQ(states(), 0u);
  fs::create_directory(file("deep"));
  EXPECT_EQ(states(), 0u) << "a folder is no file";
  write(file("deep/a.pt"), "1");
  EXPECT_EQ(states(), 1u);
  EXPECT_EQ(states(), 1u);
  write(file("deep/a.pt"), "22");
  EXPECT_EQ(states(), 2u);
  fs::rename(file("deep/a.pt"), file("deep/b.pt"));
  EXPECT_EQ(states(), 3u);
  fs::remove(file("deep/b.pt"));
  EXPECT_EQ(states(), 4u);
  write(file("a.pt.sagemaker-uploaded"), "");
  write(file("metadata.json.tmp"), "");
  EXPECT_EQ(states(), 4u);
}

TEST_F(CheckpointStateTest, IsNotThereWithoutAConfiguration) {
  RecordingLogger log{LogLevel::warning};
  for (const char* text : {"{}", "{\"LocalPath\": null}"}) {
    configure(text);
    EXPECT_EQ(CheckpointState::open(log), nullptr) << text;
  }
  fs::remove(config_path());
  EXPECT_EQ(CheckpointState::open(log), nullptr);
  EXPECT_THAT(log.lines(), IsEmpty());
}

TEST_F(CheckpointStateTest, SaysOnceWhatItCannotUseInTheConfiguration) {
  for (const auto& [text, said] : std::map<std::string, std::string>{
           {"", "line 1"},
           {"{not json", "line 1"},
           {"{\"LocalPath\": 7}", "'LocalPath' should be a string"},
           {"{\"LocalPath\": \"\"}", "empty"},
           {"{\"LocalPath\": \"s3://b/c\"}", "s3"}}) {
    RecordingLogger log{LogLevel::warning};
    configure(text);
    EXPECT_EQ(CheckpointState::open(log), nullptr) << text;
    ASSERT_THAT(log.lines(), SizeIs(1)) << text;
    EXPECT_THAT(log.lines()[0], HasSubstr(said));
    EXPECT_THAT(log.lines()[0], HasSubstr(config_path()));
  }
}

TEST_F(CheckpointStateTest, BeginsAnewWhereTheStateIsBroken) {
  for (const char* text :
       {"", "[{\"training-run\": 1, \"latest-glo", "{}", "[7, null, {}]",
        R"([{"latest-global-step-seen": 9223372036854775807}])",
        R"([{"latest-global-step-seen": -5, "latest-mode-step": []}])"}) {
    RecordingLogger log{LogLevel::warning};
    write(file("metadata.json"), text);
    const auto checkpoints = CheckpointState::open(log);
    ASSERT_NE(checkpoints, nullptr);
    EXPECT_FALSE(checkpoints->recorded().has_value()) << text;
    EXPECT_THAT(log.lines(), SizeIs(1)) << text;
  }
}

TEST_F(CheckpointStateTest, SurvivesAFolderThatVanishesOrCannotBeWritten) {
  auto session = open();
  fs::create_directory(file("metadata.json"));  // the state cannot go there
  for (const char* name : {"a.pt", "b.pt"}) {
    write(file(name), "weights");
    steps(*session, Mode::train, 1);
  }
  int said = 0;
  for (const std::string& line : log_.lines())
    said += line.find("metadata.json") != line.npos;
  EXPECT_EQ(said, 1);
  fs::remove_all(folder_.path() + "/ckpt");
  steps(*session, Mode::train, 2);
  EXPECT_EQ(session->step().global, 3);
  EXPECT_EQ(session->status().state, SessionStatus::State::active);
}

TEST_F(CheckpointStateTest, IsNotThereWithAConfigurationThatIsTooLarge) {
  fs::resize_file(config_path(), std::uintmax_t{1} << 40);
  RecordingLogger log{LogLevel::warning};
  EXPECT_EQ(CheckpointState::open(log), nullptr);
  EXPECT_THAT(log.text(),
              HasSubstr(config_path() + "' cannot be read: it has more than"));
}

// `open` of a pipe waits for its writer.
TEST_F(CheckpointStateTest, IsGivenUpIfItsFolderDoesNotRespond) {
  const std::string pipe = folder_.path() + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  setenv("CHECKPOINT_CONFIG_FILE_PATH", pipe.c_str(), 1);
  RecordingLogger log;
  EXPECT_EQ(CheckpointState::open(log, {std::chrono::milliseconds(10), {}}),
            nullptr);
  EXPECT_THAT(log.text(), HasSubstr("'" + pipe +
                                    "' or the checkpoint folder that it names "
                                    "has not responded for 0.01 s"));
  std::ofstream(pipe) << "{}";  // releases the thread
}

TEST_F(CheckpointStateTest, LetsOneWorkerSpeakForAllAndAllResume) {
  auto other = open();
  other->set_worker(1, 2);
  steps(*other, Mode::train, 1);
  write(file("a.pt"), "weights");
  steps(*other, Mode::train, 1);
  EXPECT_FALSE(fs::exists(file("metadata.json")));
  write(file("metadata.json"),
        R"([{"training-run": 0, "latest-global-step-seen": 4}])");
  auto resumed = open();
  resumed->set_worker(1, 2);
  steps(*resumed, Mode::train, 1);
  EXPECT_EQ(resumed->step(), (StepId{5, Mode::train, 0}));
}

TEST_F(CheckpointStateTest, LooksAtABoundedNumberOfFiles) {
  for (std::size_t i = 0; i <= CheckpointState::kMaxFiles; ++i)
    write(file(std::to_string(i)), "");
  RecordingLogger log{LogLevel::warning};
  const auto checkpoints = CheckpointState::open(log);
  checkpoints->record_if_changed({}, std::nullopt);
  ASSERT_THAT(log.lines(), SizeIs(1));
  EXPECT_THAT(log.lines()[0], HasSubstr("only the first 10000 files"));
}

}  // namespace
}  // namespace smdebug
