#include "smdebug/base/logger.h"

#include <cstdlib>
#include <filesystem>
#include <initializer_list>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/text_file.h"

namespace smdebug {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::MatchesRegex;

// What a logger of `settings` writes to standard output and standard error.
struct Written {
  std::string out;
  std::string error;
};

Written lines_of(const LogSettings& settings) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const auto logger = make_logger(settings);
  logger->debug("one");
  logger->info("two");
  logger->error("100 % {} three");
  return {testing::internal::GetCapturedStdout(),
          testing::internal::GetCapturedStderr()};
}

// Sets variables for the life of a test.
class Environment {
 public:
  Environment(
      std::initializer_list<std::pair<const char*, const char*>> variables)
      : variables_(variables) {
    for (const auto& [name, value] : variables_) setenv(name, value, 1);
  }
  ~Environment() {
    for (const auto& [name, value] : variables_) unsetenv(name);
  }

 private:
  std::vector<std::pair<const char*, const char*>> variables_;
};

TEST(DefaultLogger, WritesLinesOfItsLevelAndAboveToStandardError) {
  // A process of its own: the logger reads its level only once.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const Environment environment({{"SMDEBUG_LOG_LEVEL", "Warning"}});
  EXPECT_EXIT(
      {
        default_logger().info("unseen");
        default_logger().warning("100 % {} seen");
        default_logger().error("seen");
        std::_Exit(0);
      },
      testing::ExitedWithCode(0),
      testing::StartsWith(
          "smdebug: warning: 100 % {} seen\nsmdebug: error: seen\n"));
}

TEST(LogSettings, AreTheDefaultsInAnEmptyEnvironment) {
  const LogSettings settings = LogSettings::from_environment();
  EXPECT_EQ(settings.level, LogLevel::info);
  EXPECT_FALSE(settings.context || settings.all_to_stdout || settings.path);
  EXPECT_THAT(settings.mistakes, ElementsAre());
}

TEST(LogSettings, ComeFromTheEnvironment) {
  const Environment environment = {{"SMDEBUG_LOG_LEVEL", "CRITICAL"},
                                   {"SMDEBUG_LOG_CONTEXT", "rank 3"},
                                   {"SMDEBUG_LOG_ALL_TO_STDOUT", "False"},
                                   {"SMDEBUG_LOG_PATH", "a/b.log"}};
  const LogSettings settings = LogSettings::from_environment();
  EXPECT_EQ(settings.level, LogLevel::off);
  EXPECT_EQ(settings.context, "rank 3");
  EXPECT_EQ(settings.all_to_stdout, false);
  EXPECT_EQ(settings.path, "a/b.log");
}

TEST(LogSettings, TellWhatTheyDoNotUnderstand) {
  const Environment environment = {{"SMDEBUG_LOG_LEVEL", "loud"},
                                   {"SMDEBUG_LOG_ALL_TO_STDOUT", "maybe"}};
  const LogSettings settings = LogSettings::from_environment();
  EXPECT_EQ(settings.level, LogLevel::info);
  EXPECT_THAT(settings.mistakes,
              ElementsAre(HasSubstr("SMDEBUG_LOG_LEVEL is 'loud'"),
                          HasSubstr("SMDEBUG_LOG_ALL_TO_STDOUT is 'maybe'")));
  EXPECT_THAT(lines_of(settings).error,
              HasSubstr("warning: SMDEBUG_LOG_LEVEL"));
}

TEST(LogSettings, LeaveMistakesToTheProcessThatStartedTheTraining) {
  const Environment environment = {{"SMDEBUG_LOG_LEVEL", "loud"},
                                   {"SMDEBUG_RUN", "{}"}};
  EXPECT_THAT(LogSettings::from_environment().mistakes, ElementsAre());
}

TEST(Logger, WritesEverythingToStandardOutputWhereAsked) {
  LogSettings settings;
  settings.all_to_stdout = true;
  settings.level = LogLevel::debug;
  const Written written = lines_of(settings);
  EXPECT_EQ(written.out,
            "smdebug: debug: one\nsmdebug: info: two\n"
            "smdebug: error: 100 % {} three\n");
  EXPECT_EQ(written.error, "");
}

TEST(Logger, WritesOnlyErrorsToStandardErrorWhereAsked) {
  LogSettings settings;
  settings.all_to_stdout = false;
  const Written written = lines_of(settings);
  EXPECT_EQ(written.out, "smdebug: info: two\n");
  EXPECT_EQ(written.error, "smdebug: error: 100 % {} three\n");
}

TEST(Logger, WritesNothingWhenOff) {
  LogSettings settings;
  settings.level = LogLevel::off;
  EXPECT_EQ(lines_of(settings).error, "");
}

TEST(Logger, PutsTheContextIntoEachLine) {
  LogSettings settings;
  settings.context = "50%v";
  settings.level = LogLevel::error;
  EXPECT_EQ(lines_of(settings).error,
            "smdebug: [50%v] error: 100 % {} three\n");
}

TEST(Logger, AddsEachLineToAFileAsWell) {
  const std::string path = testing::TempDir() + std::to_string(getpid()) +
                           "_smdebug_logger_test.log";
  std::filesystem::remove(path);
  LogSettings settings;
  settings.path = path;
  settings.all_to_stdout = false;
  settings.context = "rank 3";
  EXPECT_EQ(lines_of(settings).out, "smdebug: [rank 3] info: two\n");
  settings.context.reset();
  lines_of(settings);
  const auto text = read_text_file(path);
  ASSERT_TRUE(text);
  EXPECT_THAT(*text,
              MatchesRegex("\\[[-0-9]+ [:.0-9]+ rank 3 info\\] two\n"
                           "\\[[-0-9]+ [:.0-9]+ rank 3 error\\] 100 % [^\n]+\n"
                           "\\[[-0-9]+ [:.0-9]+ [^ ]+:[0-9]+ info\\] two\n"
                           "\\[[^\n]+ error\\] 100 % [^\n]+\n"));
  std::filesystem::remove(path);
}

TEST(Logger, SaysWhenTheFileCannotBeWritten) {
  LogSettings settings;
  settings.path = "/dev/null/x.log";
  const Written written = lines_of(settings);
  EXPECT_THAT(written.error,
              HasSubstr("warning: SMDEBUG_LOG_PATH '/dev/null/x.log' cannot"));
  EXPECT_THAT(written.error, HasSubstr("info: two"));
}

}  // namespace
}  // namespace smdebug
