#include "smdebug/read/disk_space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace smdebug {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(DiskSpace, IsNamedOnlyIfTheDiskIsNearlyFull) {
  EXPECT_THAT(disk_space_text(4096), AllOf(HasSubstr("only 4.1 kB are free"),
                                           HasSubstr("free space")));
  EXPECT_EQ(disk_space_text(50'000'000), "");
}

TEST(DiskSpace, IsUnknownForALocationThatDoesNotExist) {
  EXPECT_EQ(disk_space_text(std::string("/nowhere/at/all")), "");
}

TEST(DiskSpace, OfADiskWithoutSpaceIsNamed) {
  // The file system of processes has no space at all.
  EXPECT_THAT(disk_space_text(std::string("/proc")),
              HasSubstr("; no space is free on its disk: "));
}

}  // namespace
}  // namespace smdebug
