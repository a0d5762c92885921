// Tests `smdebug export`: the files that it writes itself, and what it asks the
// surrounding program to write.

#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli_testing.h"

namespace smdebug {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

namespace fs = std::filesystem;

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

class ExportCommandTest : public testing::Test {
 protected:
  ExportCommandTest() { record_run(run_, kHealthy); }

  Spoken to_file(std::vector<std::string> words, CliHooks hooks = {}) {
    words.insert(words.begin(), {"export", run_, "--out", out_});
    return smdebug(words, hooks);
  }

  TemporaryFolder folder_;
  const std::string run_ = folder_.path("runs/a");
  const std::string out_ = folder_.path("out");
};

TEST_F(ExportCommandTest, WritesTheStatisticsAsCsv) {
  const Spoken spoken = to_file({"--format", "csv"});
  EXPECT_EQ(spoken.code, 0) << spoken.err;
  EXPECT_EQ(spoken.out, out_ + "\n");
  EXPECT_EQ(text_of(out_),
            smdebug({"sql", "select * from statistics", run_, "--csv"}).out);
  EXPECT_FALSE(fs::exists(out_ + ".tmp"));
}

TEST_F(ExportCommandTest, SelectsTensorsAndSteps) {
  EXPECT_EQ(to_file({"--format", "csv", "--tensor", "no'ne", "--tensor",
                     "^(?!loss)", "--step", "2", "--mode", "train"})
                .code,
            0);
  EXPECT_EQ(text_of(out_),
            smdebug({"sql",
                     "select * from statistics where tensor not like 'loss%' "
                     "and mode = 'TRAIN' and mode_step = 2",
                     run_, "--csv"})
                .out);
}

TEST_F(ExportCommandTest, WritesArrow) {
  EXPECT_EQ(to_file({"--format", "arrow"}).code, 0);
  EXPECT_THAT(text_of(out_), StartsWith("ARROW1"));
}

TEST_F(ExportCommandTest, AsksTheProgramForOtherFormats) {
  CliHooks hooks;
  ExportRequest asked;
  std::string table;
  hooks.export_file = [&](const ExportRequest& request) -> Status {
    asked = request;
    if (fs::is_regular_file(request.source)) table = text_of(request.source);
    std::ofstream(request.out) << "written";
    return {};
  };
  EXPECT_EQ(
      to_file({"--format", "npz", "--tensor", "w", "--step", "3"}, hooks).code,
      0);
  EXPECT_EQ(text_of(out_), "written");
  EXPECT_EQ(asked.format, "npz");
  EXPECT_EQ(asked.source, run_);
  EXPECT_THAT(asked.tensors, ElementsAre("w"));
  EXPECT_EQ(asked.step, 3);
  EXPECT_EQ(asked.mode, Mode::global);
  fs::remove(out_);
  EXPECT_EQ(to_file({"--format", "parquet"}, hooks).code, 0);
  EXPECT_EQ(text_of(out_), "written");
  EXPECT_THAT(table, StartsWith("ARROW1"));
  EXPECT_FALSE(fs::exists(asked.source));
}

TEST_F(ExportCommandTest, LeavesNothingBehindIfWritingFails) {
  CliHooks hooks;
  hooks.export_file = [&](const ExportRequest& request) -> Status {
    std::ofstream(request.out) << "half";
    return Error{Error::Code::io, "no library"};
  };
  for (const char* format : {"parquet", "safetensors"}) {
    const Spoken spoken = to_file({"--format", format}, hooks);
    EXPECT_EQ(spoken.code, 1);
    EXPECT_THAT(spoken.err, HasSubstr("no library"));
  }
  const auto left = fs::directory_iterator(folder_.path());
  EXPECT_EQ(std::distance(begin(left), end(left)), 1);  // the runs
}

TEST_F(ExportCommandTest, ExplainsWhatItCannotWrite) {
  EXPECT_THAT(to_file({"--format", "npz"}).err,
              HasSubstr("use the command smdebug of the Python package"));
  EXPECT_THAT(to_file({"--format", "xls"}).err,
              HasSubstr("unknown format 'xls'; use csv, arrow, parquet"));
  EXPECT_EQ(to_file({}).code, 2);
  folder_.write("out", "mine");
  const Spoken spoken = to_file({"--format", "csv"});
  EXPECT_EQ(spoken.code, 2);
  EXPECT_THAT(spoken.err, HasSubstr("exists already"));
  EXPECT_EQ(text_of(out_), "mine");
}

TEST_F(ExportCommandTest, FailsWithoutARun) {
  const Spoken spoken =
      smdebug({"export", run_ + "-none", "--format", "csv", "--out", out_});
  EXPECT_EQ(spoken.code, 1);
  EXPECT_THAT(spoken.err, HasSubstr("a-none"));
  EXPECT_FALSE(fs::exists(out_));
}

}  // namespace
}  // namespace smdebug
