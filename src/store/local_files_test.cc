#include "store/local_files.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>

#include "tests/support/temporary_folder_testing.h"

namespace smdebug {
namespace {

class ReadRanges : public testing::Test {
 protected:
  ReadRanges() {
    std::ofstream(path_, std::ios::binary) << std::string(400'000, 'x');
    file_ = *OpenFolder(folder_.path()).open_file("a");
  }

  std::vector<Bytes> read(const std::vector<ByteRange>& ranges) {
    auto parts = read_ranges(file_, path_, ranges);
    EXPECT_TRUE(parts.ok());
    return *std::move(parts);
  }

  TemporaryFolder folder_;
  std::string path_ = folder_.path() + "/a";
  OpenFile file_;
};

TEST_F(ReadRanges, ReadsCloseRangesIntoOneBlock) {
  const auto parts = read({{1000, 50}, {0, 100}, {100, 900}});
  EXPECT_EQ(parts[0].owner(), parts[1].owner());
  EXPECT_EQ(parts[0].owner(), parts[2].owner());
  EXPECT_FALSE(parts[0].is_writable());
}

TEST_F(ReadRanges, ReadsDistantRangesApart) {
  const auto parts = read({{0, 100}, {50'000, 100}});
  EXPECT_NE(parts[0].owner(), parts[1].owner());
  EXPECT_TRUE(parts[0].is_writable());
}

TEST_F(ReadRanges, ReadsALargeRangeByItself) {
  const auto parts = read({{0, 100}, {100, 200'000}, {200'100, 100}});
  EXPECT_NE(parts[0].owner(), parts[1].owner());
  EXPECT_NE(parts[1].owner(), parts[2].owner());
  EXPECT_EQ(parts[1].size(), 200'000u);
  EXPECT_TRUE(parts[1].is_writable());
}

TEST_F(ReadRanges, KeepsTheBytesOfAFileThatIsTruncatedOrOverwritten) {
  const auto parts = read({{0, 100}, {100, 300'000}});
  std::filesystem::resize_file(path_, 10);
  EXPECT_EQ(parts[1].text(), std::string(300'000, 'x'));
  std::ofstream(path_, std::ios::binary) << std::string(400'000, 'y');
  EXPECT_EQ(parts[0].text(), std::string(100, 'x'));
  EXPECT_EQ(parts[1].text(), std::string(300'000, 'x'));
}

TEST_F(ReadRanges, SaysThatAFileBecameShorter) {
  std::filesystem::resize_file(path_, 10);
  const std::vector<ByteRange> ranges = {{100, 200'000}};
  const auto parts = read_ranges(file_, path_, ranges);
  ASSERT_FALSE(parts.ok());
  EXPECT_THAT(parts.error().message, testing::HasSubstr("became shorter"));
}

}  // namespace
}  // namespace smdebug
