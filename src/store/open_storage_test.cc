#include "smdebug/store/open_storage.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "tests/support/as_nobody_testing.h"
#include "tests/support/temporary_folder_testing.h"

namespace smdebug {
namespace {

using ::testing::HasSubstr;

TEST(OpenStorage, TakesAPathAndCreatesNothing) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/a/b";
  const auto storage = open_storage(path + "//");
  ASSERT_TRUE(storage) << storage.error().message;
  EXPECT_EQ((*storage)->uri(), path);
  EXPECT_FALSE(std::filesystem::exists(folder.path() + "/a"));
  ASSERT_TRUE(put_object(**storage, "c", "text"));
  EXPECT_TRUE(std::filesystem::exists(path + "/c"));
}

TEST(OpenStorage, OpensAPrefixOfABucketWithoutARequest) {
  for (const char* const location : {"s3://bucket/run", "gs://bucket/a/run"}) {
    const auto storage = open_storage(location);
    ASSERT_TRUE(storage) << storage.error().message;
    EXPECT_EQ((*storage)->uri(), location);
  }
  EXPECT_EQ((*open_storage("s3://bucket/run//"))->uri(), "s3://bucket/run");
}

TEST(OpenStorage, SaysWhatToDoAboutARunOfAnotherStore) {
  EXPECT_THAT(open_storage("abfs://container@account/run").error().message,
              HasSubstr("folders, 's3://' and 'gs://', not 'abfs://'; use the "
                        "path of a folder, and copy the run with the tools of "
                        "that storage"));
}

TEST(CheckWritable, TakesAFolderThatIsThereOrCanBeCreated) {
  const TemporaryFolder folder;
  EXPECT_TRUE(check_writable(folder.path()));
  EXPECT_TRUE(check_writable(folder.path("a/b/c/")));
  EXPECT_TRUE(check_writable("memory://anything"));
  EXPECT_FALSE(std::filesystem::exists(folder.path("a")));
}

TEST(CheckWritable, NamesThePartThatIsNoFolder) {
  const TemporaryFolder folder;
  folder.write("file", "");
  for (const char* location : {"file", "file/", "file/run", "file/a/b"}) {
    const Status checked = check_writable(folder.path(location));
    ASSERT_FALSE(checked) << location;
    EXPECT_EQ(checked.error().code, Error::Code::io);
    EXPECT_EQ(checked.error().message,
              "'" + folder.path("file") + "' is a file, not a folder");
  }
  EXPECT_THAT(check_writable("/dev/null/run").error().message,
              HasSubstr("'/dev/null' is a device"));
}

TEST(CheckWritable, NamesTheFolderThatTheUserMayNotWriteTo) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.path("a"));
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0755));
  std::filesystem::permissions(folder.path("a"), std::filesystem::perms(0555));
  const AsNobody nobody;  // permissions do not bind root
  for (const char* location : {"a", "a/b/c"}) {
    const Status checked = check_writable(folder.path(location));
    ASSERT_FALSE(checked) << location;
    EXPECT_EQ(checked.error().message, "no file can be created in '" +
                                           folder.path("a") +
                                           "': Permission denied");
  }
}

TEST(CheckWritable, NamesTheFolderInWhichNobodyCanCreateAFile) {
  EXPECT_THAT(check_writable("/proc/run").error().message,
              HasSubstr("no file can be created in '/proc': "));
}

TEST(CheckWritable, LeavesNothingInTheFolder) {
  const TemporaryFolder folder;
  ASSERT_TRUE(check_writable(folder.path("run")));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(OpenStorage, ExpandsTheHomeFolder) {
  const TemporaryFolder folder;
  const std::string home = getenv("HOME") == nullptr ? "" : getenv("HOME");
  setenv("HOME", folder.path().c_str(), 1);
  const auto storage = open_storage("~/run");
  setenv("HOME", home.c_str(), 1);
  ASSERT_TRUE(storage) << storage.error().message;
  EXPECT_EQ((*storage)->uri(), folder.path() + "/run");
}

TEST(OpenStorage, StaysWhereItWasWhenTheWorkingFolderChanges) {
  const TemporaryFolder folder;
  const auto home = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  const auto storage = open_storage("run");
  std::filesystem::current_path(home);
  ASSERT_TRUE(storage) << storage.error().message;
  EXPECT_EQ((*storage)->uri(), "run");
  ASSERT_TRUE(put_object(**storage, "a", "text"));
  EXPECT_TRUE(std::filesystem::exists(folder.path() + "/run/a"));
}

TEST(OpenStorage, KeepsOneMemoryStorePerName) {
  const auto a = open_storage("memory://open-storage-test-a");
  const auto b = open_storage("memory://open-storage-test-b");
  ASSERT_TRUE(a && b);
  ASSERT_TRUE(put_object(**a, "x", "text"));
  EXPECT_TRUE(*(*open_storage("memory://open-storage-test-a"))->exists("x"));
  EXPECT_FALSE(*(*b)->exists("x"));
}

TEST(OpenStorage, RefusesWhatItCannotOpen) {
  const auto container = open_storage("az://container/run");
  ASSERT_FALSE(container);
  EXPECT_EQ(container.error().code, Error::Code::unsupported);
  EXPECT_THAT(container.error().message, HasSubstr("az://container/run"));
  for (const std::string& location :
       {std::string(), std::string("a\0b", 3), std::string("s3://")}) {
    const auto storage = open_storage(location);
    ASSERT_FALSE(storage);
    EXPECT_EQ(storage.error().code, Error::Code::invalid_argument);
  }
}

}  // namespace
}  // namespace smdebug
