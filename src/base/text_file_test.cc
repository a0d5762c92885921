#include "base/text_file.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/result_matchers_testing.h"
#include "tests/support/temporary_folder_testing.h"

namespace smdebug {
namespace {

using testing::HasSubstr;

TEST(ReadTextFile, ReturnsEveryByte) {
  const std::string path =
      testing::TempDir() + std::to_string(getpid()) + "_smdebug_text_file_test";
  std::string text = "a\r\n";
  text.resize(10'000, '\0');
  std::ofstream(path, std::ios::binary) << text;
  EXPECT_THAT(read_text_file(path), IsOkAndHolds(text));
  std::filesystem::remove(path);
}

TEST(ReadTextFile, TellsAMissingFileFromOneThatCannotBeRead) {
  EXPECT_THAT(
      read_text_file("no/such/file.json"),
      FailsWith(Error::Code::not_found,
                HasSubstr("'no/such/file.json' cannot be read: No such")));
  EXPECT_THAT(read_text_file("/dev/null/x"), FailsWith(Error::Code::not_found));
  EXPECT_THAT(read_text_file(testing::TempDir()),
              FailsWith(Error::Code::io, HasSubstr("Is a directory")));
}

TEST(ReadTextFile, RefusesAFileThatIsTooLarge) {
  const TemporaryFolder folder;
  folder.write("huge", "");
  std::filesystem::resize_file(folder.path("huge"), std::uintmax_t{1} << 40);
  EXPECT_THAT(read_text_file(folder.path("huge")),
              FailsWith(Error::Code::io,
                        HasSubstr("huge' cannot be read: it has more than")));
}

TEST(ReadTextFile, GivesUpAPipeThatNobodyWrites) {
  const TemporaryFolder folder;
  const std::string pipe = folder.path("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(
      read_text_file(pipe, {std::chrono::milliseconds(10), {}}),
      FailsWith(Error::Code::unavailable,
                HasSubstr("pipe' cannot be read: it has not responded")));
  std::ofstream(pipe) << "";  // releases the thread
}

TEST(ReadTextFile, WaitsForThoseWhoWriteAPipe) {
  const TemporaryFolder folder;
  const std::string pipe = folder.path("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const std::jthread writer([&] { std::ofstream(pipe) << "text"; });
  EXPECT_THAT(read_text_file(pipe), IsOkAndHolds("text"));
}

TEST(ReplacePrivateFile, ReplacesAFileThatOnlyThisUserMayRead) {
  const TemporaryFolder folder;
  folder.write("token", "a longer text than the new one");
  ASSERT_THAT(replace_private_file(folder.path("token"), "new"), IsOk());
  EXPECT_THAT(read_text_file(folder.path("token")), IsOkAndHolds("new"));
  struct stat status = {};
  ASSERT_EQ(::stat(folder.path("token").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
}

TEST(ReplacePrivateFile, LeavesNothingBehindIfItFails) {
  const TemporaryFolder folder;
  EXPECT_THAT(replace_private_file(folder.path("no/token"), "new"),
              FailsWith(Error::Code::io,
                        HasSubstr("no/token' cannot be written: No such")));
  std::filesystem::create_directory(folder.path("token"));
  EXPECT_THAT(replace_private_file(folder.path("token"), "new"),
              FailsWith(Error::Code::io));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()),
                          std::filesystem::directory_iterator()),
            1);
}

}  // namespace
}  // namespace smdebug
