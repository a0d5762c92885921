// Tests the commands on runs with a damaged, cut or missing file: each names
// the file, and none exits with 0 without the value that was requested.

#include <nlohmann/json.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli_testing.h"

namespace smdebug {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kTensor = "gradient/Net_fc.weight";
constexpr const char* kEvents =
    "events/000000000003/000000000003_worker_0"
    ".tfevents";
constexpr const char* kIndex = "index/000000000/000000000003_worker_0.json";

class DamagedRun : public testing::Test {
 protected:
  DamagedRun() { record_run(run_, kHealthy); }

  std::string read(const std::string& file) {
    std::ifstream stream(run_ + "/" + file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  void write(const std::string& file, const std::string& bytes) {
    std::ofstream(run_ + "/" + file, std::ios::binary) << bytes;
  }
  // Flips a bit in each tenth byte.
  void damage(const std::string& file) {
    std::string bytes = read(file);
    ASSERT_FALSE(bytes.empty()) << file;
    for (std::size_t i = 0; i < bytes.size(); i += 10) bytes[i] ^= 1;
    write(file, bytes);
  }
  void cut(const std::string& file) { write(file, read(file).substr(0, 20)); }
  void remove(const std::string& file) {
    ASSERT_TRUE(std::filesystem::remove(run_ + "/" + file)) << file;
  }

  void expect_no_value(const std::string& reason) {
    const Spoken text = smdebug({"tensor", run_, kTensor, "--step", "3"});
    EXPECT_EQ(text.code, 1);
    EXPECT_THAT(text.out,
                AllOf(HasSubstr("its value cannot be read: event file '" +
                                std::string(kEvents) + "'" + reason),
                      // The statistics of the index.
                      HasSubstr("mean"), Not(HasSubstr("checksum word"))));
    const Spoken json =
        smdebug({"tensor", run_, kTensor, "--step", "3", "--json"});
    EXPECT_EQ(json.code, 1);
    const auto row = nlohmann::json::parse(json.out)["rows"][0];
    EXPECT_THAT(row["missing"].get<std::string>(), HasSubstr(kEvents));
    EXPECT_FALSE(row["statistics"].is_null());
    EXPECT_THAT(smdebug({"explain", run_, kTensor, "3"}).out,
                HasSubstr("its value cannot be read: event file '" +
                          std::string(kEvents)));
    EXPECT_EQ(smdebug({"tensor", run_, kTensor, "--step", "2"}).code, 0);
  }

  TemporaryFolder folder_;
  const std::string run_ = folder_.path("run");
};

TEST_F(DamagedRun, HasNoValueInADamagedEventFile) {
  damage(kEvents);
  expect_no_value(" is damaged");
}

TEST_F(DamagedRun, HasNoValueInAnEventFileThatWasCut) {
  cut(kEvents);
  expect_no_value(" is damaged: the file ends after");
  EXPECT_THAT(smdebug({"show", run_}).out, HasSubstr(kEvents));
  EXPECT_THAT(smdebug({"check", run_}).out, HasSubstr(kEvents));
}

// Reads each value, as a rule of a user may.
const std::vector<std::string> kValueRule = {
    "--rule", "UnchangedTensor", "--set", "tensor_regex=CrossEntropyLoss"};

TEST_F(DamagedRun, IsNotFreeOfFindingsIfARuleReadsADamagedValue) {
  damage(kEvents);
  std::vector<std::string> args = {"check", run_};
  args.insert(args.end(), kValueRule.begin(), kValueRule.end());
  const Spoken check = smdebug(args);
  EXPECT_EQ(check.code, 1) << check.out;
  EXPECT_THAT(check.out, HasSubstr("1 file of the run is damaged"));
  EXPECT_THAT(check.out, HasSubstr("damage in " + run_ + ": " + kEvents));
}

// The index still has the statistics, by which other rules judge as before.
TEST_F(DamagedRun, IsNotFreeOfFindingsIfARuleNeedsAValueOfTheRemovedEvents) {
  std::filesystem::remove_all(run_ + "/events");
  std::vector<std::string> args = {"check", run_};
  args.insert(args.end(), kValueRule.begin(), kValueRule.end());
  const Spoken values = smdebug(args);
  EXPECT_EQ(values.code, 1) << values.out;
  EXPECT_THAT(values.out, HasSubstr("its value cannot be read"));
  const Spoken statistics =
      smdebug({"check", run_, "--rule", "ExplodingTensor"});
  EXPECT_EQ(statistics.code, 0) << statistics.out;
  EXPECT_THAT(statistics.out, HasSubstr("damage in " + run_ + ": events: "));
}

TEST_F(DamagedRun, IsNotFreeOfFindingsIfAnEventFileIsCutOrMissing) {
  for (const bool is_cut : {true, false}) {
    is_cut ? cut(kEvents) : remove(kEvents);
    for (const char* command : {"check", "watch"}) {
      const Spoken all = smdebug({command, run_});
      EXPECT_EQ(all.code, 1) << all.out;
      EXPECT_THAT(all.out, HasSubstr(kEvents));
      const Spoken one =
          smdebug({command, run_, "--rule", "LossNotDecreasing"});
      EXPECT_EQ(one.code, 1) << one.out;
      EXPECT_THAT(one.out, AllOf(HasSubstr(kEvents), HasSubstr("damaged")));
    }
  }
}

TEST_F(DamagedRun, IsFreeOfFindingsIfOnlyAFileBesideTheTensorsIsDamaged) {
  write("run.json", "{\"version\": ");
  const Spoken check = smdebug({"check", run_});
  EXPECT_EQ(check.code, 0) << check.out;
  EXPECT_THAT(check.out, HasSubstr("damage in "));
}

// Left by a second hook, whose steps were not saved.
TEST_F(DamagedRun, NamesARefusedWriterInEachCommandThatReadsIt) {
  write("refused.smd", "unreadable");
  for (std::vector<std::string> args : {std::vector<std::string>{"show", run_},
                                        {"check", run_},
                                        {"watch", run_},
                                        {"ls", folder_.path()},
                                        {"tensor", run_, kTensor},
                                        {"explain", run_, kTensor}}) {
    const Spoken spoken = smdebug(args);
    EXPECT_EQ(spoken.code, 0) << args[0];
    EXPECT_THAT(spoken.out + spoken.err,
                HasSubstr("also tried to write this run"))
        << args[0];
    args.push_back("--json");
    const Spoken json = smdebug(args);
    EXPECT_THAT(json.out + json.err, HasSubstr("also tried to write this run"))
        << args[0] << " --json";
  }
}

TEST_F(DamagedRun, IsShownIfAnEventFileHasGrown) {
  write(kEvents, read(kEvents) + "more");
  EXPECT_THAT(smdebug({"show", run_}).out,
              HasSubstr(std::string(kEvents) + ": "));
  EXPECT_EQ(smdebug({"check", run_}).code, 1);
}

TEST_F(DamagedRun, HasNoValueInAnEventFileThatIsMissing) {
  remove(kEvents);
  expect_no_value(": ");
  EXPECT_THAT(smdebug({"show", run_}).out,
              HasSubstr(std::string(kEvents) + ": missing"));
  EXPECT_THAT(smdebug({"check", run_, "--json"}).out, HasSubstr(kEvents));
}

TEST_F(DamagedRun, NamesEachFolderThatWasRemoved) {
  const std::vector<std::pair<std::string, std::string>> parts = {
      {"events", "events: missing: the values of 10 steps cannot be read"},
      {"index", "index: missing, but the training published 10 steps"},
      {"collections", "collections: missing: no collection selects tensors"},
      {"run.json", "run.json: missing: the command"}};
  for (const auto& [part, what] : parts) {
    const std::string run = folder_.path("without_" + part);
    record_run(run, kHealthy);
    EXPECT_THAT(smdebug({"show", run}).out, Not(HasSubstr("damage")));
    std::filesystem::remove_all(run + "/" + part);
    EXPECT_THAT(smdebug({"show", run}).out, HasSubstr(what));
    EXPECT_THAT(smdebug({"check", run}).out, HasSubstr(what));
    EXPECT_THAT(smdebug({"ls", folder_.path()}).out, HasSubstr(what));
  }
}

TEST_F(DamagedRun, NamesEachDamagedFileOnce) {
  for (const std::string file : {"run.json", "progress.json"}) {
    write(file, "{\"version\": ");
    const std::string out = smdebug({"show", run_}).out;
    EXPECT_THAT(out, HasSubstr(file + ": line 1, column 13: not JSON"));
    EXPECT_THAT(out, Not(HasSubstr(file + ": " + file)));
  }
}

TEST_F(DamagedRun, IsFoundIfAllOfItsTensorsWereRemoved) {
  for (const char* part : {"events", "index", "collections"})
    std::filesystem::remove_all(run_ + "/" + part);
  EXPECT_THAT(smdebug({"show", run_}).out,
              AllOf(HasSubstr("index: missing, but the training published 10"),
                    HasSubstr("collections: missing")));
  EXPECT_THAT(smdebug({"tensor", run_, kTensor}).err,
              HasSubstr("which has no tensors: index: missing, but the "
                        "training published 10 steps"));
}

TEST_F(DamagedRun, NamesTheIndexFileThatIsMissing) {
  remove(kIndex);
  EXPECT_THAT(smdebug({"show", run_}).out,
              AllOf(HasSubstr("9 saved"),
                    HasSubstr(std::string(kIndex) + ": missing: step 3")));
}

TEST_F(DamagedRun, NamesTheStepThatADamagedIndexFileHides) {
  write(kIndex, "{\"meta\": \n}");
  EXPECT_THAT(smdebug({"show", run_}).out,
              HasSubstr("not JSON, or only a part of it; step 3 of 'worker_0' "
                        "is left out"));
}

TEST_F(DamagedRun, DoesNotMakeRulesInapplicable) {
  std::filesystem::remove_all(run_ + "/collections");
  const Spoken all = smdebug({"check", run_});
  EXPECT_THAT(all.out, AllOf(HasSubstr("which is damaged, for "),
                             HasSubstr("VanishingGradient"),
                             Not(HasSubstr("not applicable"))));
  EXPECT_THAT(smdebug({"check", run_, "--rule", "LossNotDecreasing"}).out,
              HasSubstr("1 file of the run is damaged, 'smdebug show'"));
}

TEST_F(DamagedRun, IsNamedByCheckIfItsRecordingFailed) {
  std::string file = read("run.json");
  const std::string finished = "\"finished\"";
  ASSERT_NE(file.find(finished), file.npos);
  file.replace(file.find(finished), finished.size(), "\"the disk is full\"");
  write("run.json", file);
  EXPECT_THAT(
      smdebug({"check", run_}).out,
      HasSubstr("failed, so later steps are missing: the disk is full"));
  const auto json =
      nlohmann::json::parse(smdebug({"check", run_, "--json"}).out);
  EXPECT_EQ(json[0]["recording_failure"], "the disk is full");
}

TEST_F(DamagedRun, ExplainsAStepOfADamagedIndexFileByTheDamage) {
  write(kIndex, "{");
  const Spoken spoken = smdebug({"explain", run_, kTensor, "3"});
  EXPECT_THAT(spoken.out, HasSubstr("1 file of the run is damaged, 'smdebug "
                                    "show' lists it"));
  const Spoken tensor = smdebug({"tensor", run_, kTensor, "--step", "3"});
  EXPECT_EQ(tensor.code, 1);
  EXPECT_THAT(tensor.err, HasSubstr("1 file of the run is damaged"));
}

}  // namespace
}  // namespace smdebug
