#include "store/local_files.h"

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

TEST_F(ReadRanges, MapsALargeRangeByItself) {
  const auto parts = read({{0, 100}, {100, 200'000}, {200'100, 100}});
  EXPECT_NE(parts[0].owner(), parts[1].owner());
  EXPECT_NE(parts[1].owner(), parts[2].owner());
  EXPECT_EQ(parts[1].size(), 200'000u);
  // A mapping begins where a page of the file does.
  const auto address = reinterpret_cast<std::uintptr_t>(parts[1].data());
  EXPECT_EQ(address % 4096, 100u);
}

}  // namespace
}  // namespace smdebug
