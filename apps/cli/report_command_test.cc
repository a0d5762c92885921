// Tests `smdebug report`, and the rule that writes a report, on a run of four
// rounds. tests/report compares the figures with scikit-learn.

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "smdebug/capture/file_writer.h"

#include "cli_testing.h"
#include "tests/support/source_dir_testing.h"

namespace smdebug {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kPage =
    "rule-output/CreateXgboostReport/xgboost_report.html";
constexpr const char* kData =
    "rule-output/CreateXgboostReport/xgboost_report.json";

std::string content_of(const std::string& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

TensorView view_of(std::span<const double> values, const std::int64_t& size) {
  return {DType::float64,
          reinterpret_cast<const std::byte*>(values.data()),
          {&size, 1},
          {}};
}

void record_rounds(const std::string& run) {
  for (Step step = 0; step < 4; ++step) {
    FileWriterOptions options;
    options.step = step;
    auto writer = FileWriter::create(run, options);
    ASSERT_TRUE(writer.ok()) << writer.error().message;
    const double labels[] = {0.5, 1.5, 2.5};
    const double predictions[] = {0.25, 1.5, 3};
    const double rmse[] = {1.0 / static_cast<double>(step + 1)};
    const std::int64_t three = 3, one = 1;
    for (const auto& [name, view] :
         {std::pair{"labels", view_of(labels, three)},
          std::pair{"predictions", view_of(predictions, three)},
          std::pair{"train-rmse", view_of(rmse, one)}}) {
      EXPECT_TRUE((*writer)->write_tensor(name, view).ok());
    }
    EXPECT_TRUE((*writer)->close().ok());
  }
}

class Report : public testing::Test {
 protected:
  Report() { record_rounds(run_); }

  TemporaryFolder folder_;
  std::string run_ = folder_.path("run");
};

TEST_F(Report, IsWrittenIntoTheRun) {
  const Spoken spoken = smdebug({"report", run_});
  EXPECT_EQ(spoken.code, 0) << spoken.err;
  EXPECT_EQ(spoken.out, run_ + "/" + kPage + "\n");
  EXPECT_THAT(content_of(run_ + "/" + kPage),
              AllOf(StartsWith("<!DOCTYPE html>"), HasSubstr("regression")));
  EXPECT_THAT(content_of(run_ + "/" + kData),
              HasSubstr(R"("task": "regression")"));
}

TEST_F(Report, IsWrittenWhereTheUserWantsIt) {
  const std::string page = folder_.path("here.html");
  const Spoken spoken = smdebug({"report", run_, "--out", page});
  EXPECT_EQ(spoken.code, 0) << spoken.err;
  EXPECT_EQ(spoken.out, page + "\n");
  EXPECT_THAT(content_of(page), StartsWith("<!DOCTYPE html>"));
  EXPECT_THAT(content_of(folder_.path("here.json")), StartsWith("{"));
  EXPECT_FALSE(std::filesystem::exists(run_ + "/" + kPage));
}

TEST_F(Report, PrintsItsPathWithoutWhatATerminalObeys) {
  const std::string page = folder_.path("a\x1b[2J.html");
  const Spoken spoken = smdebug({"report", run_, "--out", page});
  EXPECT_EQ(spoken.out, folder_.path("a\\x1b[2J.html\n"));
  EXPECT_TRUE(std::filesystem::exists(page));
}

TEST_F(Report, NamesARefusedWriterOfTheRun) {
  std::ofstream(run_ + "/refused.smd") << "unreadable";
  EXPECT_THAT(smdebug({"report", run_}).err,
              HasSubstr("also tried to write this run"));
}

TEST_F(Report, IsPrintedAsJsonWithoutAFile) {
  const Spoken spoken = smdebug({"report", run_, "--json"});
  EXPECT_EQ(spoken.code, 0) << spoken.err;
  // 0.25 too low, right, 0.5 too high.
  EXPECT_THAT(spoken.out, HasSubstr(R"("mean_absolute": 0.25,)"));
  EXPECT_FALSE(std::filesystem::exists(run_ + "/rule-output"));
}

TEST_F(Report, TakesTheSetThatTheFactsNameForTheTrainingSet) {
  for (Step step = 4; step < 8; ++step) {
    FileWriterOptions options;
    options.step = step;
    auto writer = FileWriter::create(run_, options);
    ASSERT_TRUE(writer.ok()) << writer.error().message;
    const double of_training[] = {0.1}, of_others[] = {0.2};
    const std::int64_t one = 1;
    EXPECT_TRUE(
        (*writer)
            ->write_tensor("validation_0-mae", view_of(of_training, one))
            .ok());
    EXPECT_TRUE((*writer)
                    ->write_tensor("validation_1-mae", view_of(of_others, one))
                    .ok());
    EXPECT_TRUE((*writer)->close().ok());
  }
  std::filesystem::create_directory(run_ + "/facts");
  std::ofstream(run_ + "/facts/worker_0-000000000000.json")
      << R"({"version": 1, "step": 0, "parameters": [], "optimizers": [],)"
      << R"( "modules": [], "losses": [], "training_sets": ["validation_0"]})";
  EXPECT_THAT(smdebug({"report", run_, "--json"}).out,
              HasSubstr("validation_1 is 100 % worse than validation_0"));
}

TEST_F(Report, IsNotWrittenOverItsOwnData) {
  const Spoken spoken =
      smdebug({"report", run_, "--out", folder_.path("report.json")});
  EXPECT_EQ(spoken.code, 2);
  EXPECT_THAT(spoken.err, HasSubstr("--out must name an HTML file"));
}

TEST_F(Report, RefusesAFileThatIsNoPage) {
  std::filesystem::create_directory(folder_.path("folder.html"));
  for (const std::string& out :
       {std::string("."), std::string(".."), folder_.path("folder.html"),
        folder_.path("page.pdf"), folder_.path("page")}) {
    const Spoken spoken = smdebug({"report", run_, "--out", out});
    EXPECT_EQ(spoken.code, 2) << out;
    EXPECT_THAT(spoken.err, HasSubstr("--out must name an HTML file such as "
                                      "'report.html', found '" +
                                      out + "'"));
  }
  EXPECT_FALSE(std::filesystem::exists(folder_.path("page.pdf")));
}

TEST_F(Report, NamesAnotherPlaceIfTheRunCannotBeWritten) {
  folder_.write("run/rule-output", "a file in place of the folder");
  const Spoken spoken = smdebug({"report", run_});
  EXPECT_EQ(spoken.code, 1);
  EXPECT_THAT(spoken.err,
              HasSubstr("; --out FILE writes the report elsewhere"));
}

TEST_F(Report, ThatCannotBeWrittenIsAnError) {
  folder_.write("file", "");
  const Spoken spoken =
      smdebug({"report", run_, "--out", folder_.path("file/report.html")});
  EXPECT_EQ(spoken.code, 1);
  EXPECT_THAT(spoken.err, HasSubstr("report.html"));
}

TEST_F(Report, IsMadeByItsRuleWhenTheRunIsJudged) {
  const Spoken spoken =
      smdebug({"check", run_, "--rule", "create_xgboost_report"});
  EXPECT_EQ(spoken.code, 0) << spoken.err;
  EXPECT_THAT(spoken.err, HasSubstr("report: " + run_ + "/" + kPage));
  EXPECT_TRUE(std::filesystem::exists(run_ + "/" + kPage));
}

TEST_F(Report, IsNotMadeByOtherRules) {
  EXPECT_EQ(smdebug({"check", run_, "--rule", "ExplodingTensor"}).code, 0);
  EXPECT_FALSE(std::filesystem::exists(run_ + "/rule-output"));
}

TEST_F(Report, ThatCannotBeWrittenDoesNotChangeTheVerdict) {
  std::ofstream(run_ + "/rule-output") << "a file where the folder should be";
  const Spoken spoken =
      smdebug({"check", run_, "--rule", "create_xgboost_report"});
  EXPECT_EQ(spoken.code, 0);
  EXPECT_THAT(spoken.out, HasSubstr("NoIssuesFound"));
  EXPECT_THAT(spoken.err, HasSubstr("cannot write the report"));
}

TEST_F(Report, BelowAFileIsRefusedWithThatFile) {
  const std::string file = folder_.path("notes");
  std::ofstream(file) << "of the user";
  const Spoken spoken = smdebug({"report", run_, "--out", file + "/x.html"});
  EXPECT_EQ(spoken.code, 1);
  EXPECT_THAT(spoken.err, HasSubstr("'" + file + "' is a file, not a folder"));
}

TEST_F(Report, OfATrainingWithAnotherFrameworkIsRefusedInOneSentence) {
  const std::string other = folder_.path("other");
  record_run(other, kHealthy);
  const Spoken spoken = smdebug({"report", other});
  EXPECT_EQ(spoken.code, 1);
  EXPECT_THAT(spoken.err, HasSubstr("recorded with pytorch, but the report "
                                    "covers only XGBoost trainings"));
  EXPECT_FALSE(std::filesystem::exists(other + "/rule-output"));
}

TEST_F(Report, OfARunWhoseFilesAreAllDamagedNamesTheDamage) {
  for (const auto& file :
       std::filesystem::recursive_directory_iterator(run_ + "/events")) {
    if (file.is_regular_file())
      std::ofstream(file.path(), std::ios::binary) << std::string(5000, 'x');
  }
  const Spoken spoken = smdebug({"report", run_});
  EXPECT_EQ(spoken.code, 1);
  EXPECT_THAT(spoken.err, AllOf(HasSubstr("that can be read: events/"),
                                HasSubstr("is damaged")));
}

TEST_F(Report, OfADamagedRunSaysWhatItMayLack) {
  std::filesystem::directory_iterator first(run_ + "/index/000000000");
  const std::string file = first->path().string();
  std::ofstream(file, std::ios::binary) << "garbage";
  const Spoken spoken = smdebug({"report", run_});
  EXPECT_EQ(spoken.code, 0);
  EXPECT_THAT(spoken.err,
              AllOf(HasSubstr("the report may lack data"),
                    HasSubstr(std::filesystem::path(file).filename()),
                    HasSubstr("'smdebug show' lists the damage")));
}

TEST_F(Report, OfARunOfSomethingElseIsRefused) {
  const std::string other = folder_.path("other");
  FileWriterOptions options;
  auto writer = FileWriter::create(other, options);
  ASSERT_TRUE(writer.ok());
  const double value[] = {1};
  const std::int64_t one = 1;
  EXPECT_TRUE((*writer)->write_tensor("weight", view_of(value, one)).ok());
  EXPECT_TRUE((*writer)->close().ok());
  const Spoken spoken = smdebug({"report", other});
  EXPECT_EQ(spoken.code, 1);
  EXPECT_THAT(spoken.err, HasSubstr("no data of an XGBoost training"));
  EXPECT_FALSE(std::filesystem::exists(other + "/rule-output"));
}

// They record no framework, so their tensors decide.
TEST_F(Report, OfARunOfTheOriginalIsMadeOnlyOfXgboost) {
  const std::filesystem::path golden =
      std::filesystem::path(SMDEBUG_SOURCE_DIR) / "tests/golden";
  int of_xgboost = 0;
  for (const auto& entry : std::filesystem::directory_iterator(golden)) {
    if (!std::filesystem::exists(entry.path() / "run")) continue;
    const bool is_xgboost =
        entry.path().filename().string().starts_with("xgboost");
    of_xgboost += is_xgboost;
    const Spoken spoken =
        smdebug({"report", (entry.path() / "run").string(), "--json"});
    EXPECT_EQ(spoken.code, is_xgboost ? 0 : 1) << entry << spoken.err;
    if (is_xgboost) continue;
    EXPECT_EQ(spoken.out, "") << entry;
    EXPECT_THAT(spoken.err,
                AllOf(HasSubstr("contains no data of an XGBoost training"),
                      HasSubstr("use 'smdebug show' and 'smdebug check'")));
  }
  EXPECT_EQ(of_xgboost, 2);
}

TEST_F(Report, IsNotMadeByItsRuleFromARunOfSomethingElse) {
  std::filesystem::copy(
      std::filesystem::path(SMDEBUG_SOURCE_DIR) / "tests/golden/keras_fit/run",
      folder_.path("keras"), std::filesystem::copy_options::recursive);
  const Spoken spoken = smdebug(
      {"check", folder_.path("keras"), "--rule", "create_xgboost_report"});
  EXPECT_THAT(spoken.err,
              AllOf(HasSubstr("cannot write the report"),
                    HasSubstr("contains no data of an XGBoost training")));
  EXPECT_FALSE(std::filesystem::exists(folder_.path("keras/rule-output")));
}

}  // namespace
}  // namespace smdebug
