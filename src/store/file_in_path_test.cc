#include "smdebug/store/file_in_path.h"

#include <gtest/gtest.h>

#include "tests/support/temporary_folder_testing.h"

namespace smdebug {
namespace {

TEST(FileInPath, IsThePartThatCannotBeAFolder) {
  const TemporaryFolder folder;
  folder.write("file", "");
  EXPECT_EQ(find_file_in(folder.path("file/run")), folder.path("file"));
  EXPECT_EQ(find_file_in(folder.path("file")), folder.path("file"));
  EXPECT_EQ(find_file_in(folder.path("run/new")), std::nullopt);
}

}  // namespace
}  // namespace smdebug
