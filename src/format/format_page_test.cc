// Tests that the encoders write the worked example of docs/format.md.

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>

#include <gtest/gtest.h>

#include "base/crc32c.h"
#include "format/collections_file.h"
#include "format/file_names.h"
#include "format/index_file.h"
#include "format/progress_file.h"
#include "format/run_file.h"
#include "format/series_file.h"
#include "format/tensor_record.h"
#include "tests/support/source_dir_testing.h"

namespace smdebug {
namespace {

std::string page() {
  std::ifstream file(SMDEBUG_SOURCE_DIR "/docs/format.md");
  return {std::istreambuf_iterator<char>(file), {}};
}

// Returns the lines of the fenced block behind `<!-- example: name -->`.
std::string example(const std::string& name) {
  const std::string text = page();
  const std::size_t mark = text.find("<!-- example: " + name + " -->");
  const std::size_t fence = text.find("```", mark);
  if (mark == text.npos || fence == text.npos) {
    ADD_FAILURE() << "docs/format.md has no example '" << name << "'";
    return "";
  }
  const std::size_t start = text.find('\n', fence) + 1;
  return text.substr(start, text.find("```", start) - start);
}

// Undoes the line breaks that the page adds at blanks.
std::string joined_example(const std::string& name) {
  std::string text = example(name);
  if (!text.empty()) text.pop_back();
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

// Returns the bytes of a hex dump; what follows a '#' is a remark.
std::string bytes_of_example(const std::string& name) {
  std::istringstream lines(example(name));
  std::string bytes;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    for (std::string word; words >> word;) {
      bytes.push_back(static_cast<char>(std::stoi(word, nullptr, 16)));
    }
  }
  return bytes;
}

const std::vector<std::int64_t> kShape = {2};
const std::vector<float> kValues = {1, 2};

TEST(FormatPage, ShowsTheEventFileThatIsWritten) {
  std::string out;
  append_tensor_record("w", DType::float32, kShape,
                       std::as_bytes(std::span(kValues)), {},
                       {1.5, {7, Mode::train, 3}, "3"}, out);
  EXPECT_EQ(bytes_of_example("event"), out);
}

TEST(FormatPage, ShowsTheIndexFileThatIsWritten) {
  TensorStatistics statistics;
  statistics.count = 2;
  statistics.min = 1;
  statistics.max = 2;
  statistics.mean = 1.5;
  statistics.m2 = 0.5;
  statistics.sum_abs = 3;
  statistics.sum_squares = 5;
  IndexFileBuilder builder;
  builder.add_tensor(json_string("w"), 0, 88,
                     crc32c(std::as_bytes(std::span(kValues))));
  builder.add_statistics(json_string("w"), DType::float32, kShape, statistics);
  EXPECT_EQ(joined_example("index"),
            builder.finish(Mode::train, 3, event_file_key(7, "worker_0")));
}

TEST(FormatPage, ShowsTheCollectionFileThatIsWritten) {
  StoredCollection weights;
  weights.tensors = {"weights", {"^w$"}, {"w"}};
  weights.reductions = {true, "", false};
  weights.schedule.emplace();
  weights.schedule->front() = ModeSchedule{1, {}, 0, std::nullopt};
  EXPECT_EQ(joined_example("collections"),
            write_collections_file({{weights}, 1}));
}

TEST(FormatPage, ShowsTheClaimThatIsWritten) {
  EXPECT_EQ(joined_example("claim"), write_claim({"node", 4711, 90210}));
}

TEST(FormatPage, ShowsTheProgressThatIsWritten) {
  RunProgress progress;
  progress.framework = "pytorch";
  progress.host = "node";
  progress.process_id = 4711;
  progress.start_ticks = 90210;
  progress.started_seconds = 1.25;
  progress.written_seconds = 1.5;
  progress.steps = 1;
  progress.last_step = 7;
  progress.modes = {{Mode::train, 1, 3}};
  progress.losses = {{"w", Mode::train, 7, 1.5}};
  progress.bytes = 768;
  EXPECT_EQ(joined_example("progress"), write_progress_file(progress));
}

TEST(FormatPage, ShowsTheSeriesThatAreWritten) {
  const StepId first = {7, Mode::train, 3}, second = {8, Mode::train, 4};
  EXPECT_EQ(joined_example("series"),
            write_series_file({"worker_0",
                               {{"loss", {{first, 1.5}, {second, 1}}},
                                {"lr", {{first, 0.5}}}}}));
}

TEST(FormatPage, ShowsTheRunFileThatIsWritten) {
  RunFile run;
  run.smdebug_version = "2.0.0";
  run.framework = "pytorch";
  run.saved_collections = {"weights"};
  RunAttempt& attempt = run.attempts.emplace_back();
  attempt.host = "node";
  attempt.process_id = 4711;
  attempt.started_seconds = 1.25;
  attempt.command = {"python", "train.py"};
  attempt.versions = {{"torch", "2.13.0"}};
  attempt.first_step = 7;
  attempt.status = "running";
  EXPECT_EQ(example("run"), write_run_file(run));
}

TEST(FormatPage, NamesEveryFileOfARun) {
  const std::string text = page();
  for (const std::string_view name :
       {kClaimKey, kEndMarkerKey, kRunFileKey, kProgressKey, kIndexPrefix,
        kEventsPrefix, kCollectionsPrefix, kFactsPrefix, kSeriesPrefix}) {
    EXPECT_NE(text.find(name), text.npos) << name;
  }
  EXPECT_NE(text.find(event_file_key(7, "worker_0")), text.npos);
  EXPECT_NE(text.find(index_file_key(7, "worker_0")), text.npos);
}

}  // namespace
}  // namespace smdebug
