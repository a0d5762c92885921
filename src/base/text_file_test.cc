#include "base/text_file.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/result_matchers_testing.h"

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

}  // namespace
}  // namespace smdebug
