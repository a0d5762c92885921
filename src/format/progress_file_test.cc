#include "format/progress_file.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "format/file_sizes.h"
#include "tests/support/replaced_testing.h"

namespace smdebug {
namespace {

RunProgress sample_progress() {
  RunProgress progress;
  progress.framework = "pytorch";
  progress.attempt = 2;
  progress.workers = 4;
  progress.host = "node";
  progress.process_id = 4711;
  progress.start_ticks = 90210;
  progress.started_seconds = 1.25;
  progress.written_seconds = 31.5;
  progress.steps = 12;
  progress.last_step = 110;
  progress.modes = {{Mode::train, 10, 90}, {Mode::eval, 2, 19}};
  progress.losses = {{"CrossEntropyLoss_output_0", Mode::train, 100, 0.25}};
  progress.bytes = 123456;
  return progress;
}

// The text of sample_progress(), with `from` replaced.
std::string changed_progress(std::string_view from, std::string_view to) {
  return replaced(write_progress_file(sample_progress()), from, to);
}

TEST(ProgressFile, ComesBack) {
  const auto progress =
      parse_progress_file(write_progress_file(sample_progress()));
  ASSERT_TRUE(progress) << progress.error().message;
  EXPECT_FALSE(progress->has_ended);
  EXPECT_EQ(progress->framework, "pytorch");
  EXPECT_EQ(progress->attempt, 2u);
  EXPECT_EQ(progress->workers, 4);
  EXPECT_EQ(progress->host, "node");
  EXPECT_EQ(progress->process_id, 4711);
  EXPECT_EQ(progress->start_ticks, 90210u);
  EXPECT_EQ(progress->started_seconds, 1.25);
  EXPECT_EQ(progress->written_seconds, 31.5);
  EXPECT_EQ(progress->steps, 12u);
  EXPECT_EQ(progress->last_step, 110);
  ASSERT_EQ(progress->modes.size(), 2u);
  EXPECT_EQ(progress->modes[1].mode, Mode::eval);
  EXPECT_EQ(progress->modes[1].last, 19);
  ASSERT_EQ(progress->losses.size(), 1u);
  EXPECT_EQ(progress->losses[0].value, 0.25);
  EXPECT_EQ(progress->bytes, 123456u);
}

TEST(ProgressFile, NamesTheExceptionThatEndedTheTraining) {
  RunProgress progress = sample_progress();
  progress.has_ended = true;
  progress.raised = "ValueError";
  const std::string text = write_progress_file(progress);
  const auto read = parse_progress_file(text);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->raised, "ValueError");
  const auto older =
      parse_progress_file(replaced(text, R"("raised": "ValueError", )", ""));
  ASSERT_TRUE(older) << older.error().message;
  EXPECT_EQ(older->raised, "");
}

TEST(ProgressFile, KeepsALossThatIsNotFinite) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  RunProgress progress = sample_progress();
  for (const double value : {kInfinity, -kInfinity}) {
    progress.losses[0].value = value;
    const auto read = parse_progress_file(write_progress_file(progress));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->losses[0].value, value);
  }
  progress.losses[0].value = std::nan("");
  const auto read = parse_progress_file(write_progress_file(progress));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_TRUE(std::isnan(read->losses[0].value));
}

TEST(ProgressFile, StaysSmallWhateverTheTrainingSaves) {
  RunProgress progress = sample_progress();
  progress.error = std::string(1 << 20, 'x');
  for (int i = 0; i < 1000; ++i)
    progress.losses.push_back({std::string(400, 'a'), Mode::train, i, 1.0});
  progress.losses.insert(progress.losses.begin(),
                         {std::string(1 << 20, 'b'), Mode::train, 1, 1.0});
  const std::string text = write_progress_file(progress);
  EXPECT_LT(text.size(), kMaxProgressFileBytes / 4);
  const auto read = parse_progress_file(text);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->losses.size(), kMaxProgressLosses);
  EXPECT_EQ(read->error, std::string(kMaxProgressErrorBytes, 'x'));
}

TEST(ProgressFile, CutsAnErrorBetweenTwoCharacters) {
  RunProgress progress = sample_progress();
  progress.error = std::string(kMaxProgressErrorBytes - 1, 'x') + "äöü";
  const auto read = parse_progress_file(write_progress_file(progress));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->error, std::string(kMaxProgressErrorBytes - 1, 'x'));
}

TEST(ProgressFile, IsCorruptIfAMemberIsMissingOrOutOfRange) {
  for (const auto& [from, to] :
       {std::pair(R"("steps": 12)", R"("steps": -1)"),
        std::pair(R"("steps": 12)", R"("steps": "many")"),
        std::pair(R"("last_step": 110)", R"("last_step": -2)"),
        std::pair(R"("started": 1.25)", R"("started": 1e300)"),
        std::pair(R"("started": 1.25)", R"("started": -5)"),
        std::pair(R"("workers": 4)", R"("workers": 3000000000)"),
        std::pair(R"("state": "running")", R"("state": "asleep")"),
        std::pair(R"("mode": "EVAL")", R"("mode": "NIGHT")"),
        std::pair(R"("value": 0.25)", R"("value": null)"),
        std::pair(R"("host": "node")", R"("host": 7)"),
        std::pair(R"("bytes": 123456)", R"("other": 1)")}) {
    const auto progress = parse_progress_file(changed_progress(from, to));
    ASSERT_FALSE(progress) << to;
    EXPECT_EQ(progress.error().code, Error::Code::corrupt) << to;
  }
  for (const char* text : {"", "{}", "[]", "7", "\xff"})
    EXPECT_FALSE(parse_progress_file(text)) << text;
}

TEST(ProgressFile, OfALaterVersionIsNotDamage) {
  const auto progress = parse_progress_file(
      changed_progress(R"("version": 1)", R"("version": 2)"));
  ASSERT_FALSE(progress);
  EXPECT_EQ(progress.error().code, Error::Code::unsupported);
}

TEST(ProgressFile, MayHaveFurtherMembers) {
  EXPECT_TRUE(parse_progress_file(
      changed_progress(R"("steps": 12)", R"("steps": 12, "mood": "good")")));
}

}  // namespace
}  // namespace smdebug
