#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "store/backends.h"
#include "store/local_files.h"
#include "tests/fault/file_size_limit.h"
#include "tests/fault/forbidden_call.h"
#include "tests/support/as_nobody_testing.h"
#include "tests/support/deep_folder_testing.h"
#include "tests/support/fake_clock_testing.h"
#include "tests/support/temporary_folder_testing.h"

namespace smdebug {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// The name of an unfinished file means nothing to a user.
TEST(LocalStorage, NamesTheFinishedFileInErrors) {
  const TemporaryFolder folder;
  folder.write("file", "");
  const auto storage = make_local_storage("the run", folder.path("file"));
  const auto error = put_object(*storage, "a.json", "{}").error();
  EXPECT_THAT(error.message, testing::AllOf(HasSubstr("file/a.json'"),
                                            testing::Not(HasSubstr(".tmp"))));
  EXPECT_THAT(system_error("write", "x", ENOSPC).message,
              HasSubstr("No space left on device; free space"));
}

class LocalStorageTest : public testing::Test {
 protected:
  TemporaryFolder folder_;
  std::string root_ = folder_.path() + "/run";
  std::shared_ptr<Storage> storage_ = make_local_storage("the run", root_);

  std::vector<std::string> keys(std::string_view prefix,
                                std::string_view after = {}) {
    const auto entries = storage_->list(prefix, after);
    EXPECT_TRUE(entries) << entries.error().message;
    std::vector<std::string> keys;
    if (!entries) return keys;
    for (const ObjectEntry& entry : *entries) keys.push_back(entry.key);
    return keys;
  }

  std::vector<std::string> no_files() {
    std::vector<std::string> keys;
    const auto entries = storage_->list("");
    for (const ObjectEntry& entry : *entries) {
      if (!entry.is_file) keys.push_back(entry.key);
    }
    return keys;
  }

  bool is_there(const std::string& name) const {
    return fs::exists(root_ + "/" + name);
  }

  void write_file(const std::string& name, std::string_view text) {
    const fs::path path = root_ + "/" + name;
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
  }

  std::string read_file(const std::string& name) {
    std::ifstream file(root_ + "/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::vector<std::string> all_files() {
    std::vector<std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(root_)) {
      if (!entry.is_directory()) files.push_back(entry.path().filename());
    }
    return files;
  }
};

TEST_F(LocalStorageTest, TrustsAFoldersTimeOnlyWhenItsTickIsOver) {
  FakeClock clock;
  const auto storage = make_local_storage("the run", root_, clock);
  EXPECT_EQ(storage->folder_version("index/"), Storage::kNoFolder);
  write_file("index/a", "");
  struct Stamp {
    timespec changed;
    double seconds_of_doubt;
  };
  for (const Stamp& stamp :
       {Stamp{{1'000'000, 500'000'000}, 0.1}, Stamp{{1'000'000, 0}, 3}}) {
    const timespec times[] = {stamp.changed, stamp.changed};
    ASSERT_EQ(utimensat(AT_FDCWD, (root_ + "/index").c_str(), times, 0), 0);
    const double changed = static_cast<double>(stamp.changed.tv_sec) +
                           1e-9 * static_cast<double>(stamp.changed.tv_nsec);
    // Another machine's clock runs ahead.
    clock.set_wall_seconds(changed - 100);
    EXPECT_FALSE(storage->folder_version("index/"));
    clock.set_wall_seconds(changed + 0.9 * stamp.seconds_of_doubt);
    EXPECT_FALSE(storage->folder_version("index/"));
    clock.set_wall_seconds(changed + 1.1 * stamp.seconds_of_doubt);
    const auto version = storage->folder_version("index/");
    ASSERT_TRUE(version);
    EXPECT_NE(*version, Storage::kNoFolder);
    EXPECT_EQ(storage->folder_version("index/"), version);
  }
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

TEST_F(LocalStorageTest, LeavesNoEmptyFolderOfAStepBehind) {
  for (const char* key : {"events/7/a", "events/7/b", "claim"})
    ASSERT_TRUE(put_object(*storage_, key, "x").ok());
  ASSERT_TRUE(storage_->remove("events/7/a").ok());
  EXPECT_THAT(keys(""), ElementsAre("claim", "events/7/b"));
  ASSERT_TRUE(storage_->remove("events/7/b").ok());
  EXPECT_FALSE(is_there("events/7"));
  EXPECT_TRUE(is_there("events"));
  ASSERT_TRUE(storage_->remove("claim").ok());
  ASSERT_TRUE(put_object(*storage_, "events/7/c", "x").ok());
}

TEST_F(LocalStorageTest, MakesItsFolderWithTheFirstObject) {
  EXPECT_THAT(keys(""), IsEmpty());
  EXPECT_FALSE(fs::exists(root_));
  ASSERT_TRUE(put_object(*storage_, "a/b/c", "text"));
  EXPECT_EQ(read_file("a/b/c"), "text");
  EXPECT_EQ(storage_->uri(), "the run");
}

TEST_F(LocalStorageTest, LeavesARemovedFolderRemovedIfAsked) {
  const auto storage =
      *open_storage(root_, FileAccess::by_umask, MissingFolder::keep_removed);
  const Status written = put_object(*storage, "status/a.json", "{}");
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().message, HasSubstr("was removed"));
  EXPECT_FALSE(fs::exists(root_));
  fs::create_directories(root_);
  EXPECT_TRUE(put_object(*storage, "status/a.json", "{}"));
}

TEST_F(LocalStorageTest, WritesBesideTheFinalNameAndRenames) {
  auto writer = storage_->create("events/a");
  ASSERT_TRUE(writer);
  const auto part = bytes_of("text");
  ASSERT_TRUE((*writer)->append({&part, 1}));
  EXPECT_EQ(read_file("events/a.tmp"), "text");
  EXPECT_THAT(all_files(), ElementsAre("a.tmp"));
  ASSERT_TRUE((*writer)->commit());
  EXPECT_THAT(all_files(), ElementsAre("a"));
}

TEST_F(LocalStorageTest, LeavesNoFileOfAnAbortedObject) {
  {
    auto writer = storage_->create("events/a");
    ASSERT_TRUE(writer);
    EXPECT_THAT(all_files(), ElementsAre("a.tmp"));
  }
  EXPECT_THAT(all_files(), IsEmpty());
}

TEST_F(LocalStorageTest, OverwritesAStaleUnfinishedFile) {
  write_file("index/a.tmp", "what a killed run left behind");
  EXPECT_THAT(keys(""), IsEmpty());
  ASSERT_TRUE(put_object(*storage_, "index/a", "new"));
  EXPECT_EQ(read_file("index/a"), "new");
  EXPECT_THAT(all_files(), ElementsAre("a"));
}

TEST_F(LocalStorageTest, ListsSymbolicLinksAsNoFilesAndFollowsNone) {
  write_file("real/a", "text");
  fs::create_directories(folder_.path() + "/outside");
  std::ofstream(folder_.path() + "/outside/secret") << "secret";
  fs::create_directory_symlink(folder_.path() + "/outside", root_ + "/folder");
  fs::create_symlink(folder_.path() + "/outside/secret", root_ + "/file");
  fs::create_directory_symlink(".", root_ + "/real/loop");
  EXPECT_THAT(keys(""), ElementsAre("file", "folder", "real/a", "real/loop"));
  EXPECT_THAT(no_files(), ElementsAre("file", "folder", "real/loop"));
  EXPECT_FALSE(storage_->list("folder/"));
  EXPECT_FALSE(*storage_->exists("file"));
  EXPECT_FALSE(*storage_->exists("folder/secret"));
  for (const char* key : {"file", "folder/secret", "real/loop/a"}) {
    const auto bytes = get_object(*storage_, key);
    ASSERT_FALSE(bytes) << key;
    EXPECT_EQ(bytes.error().code, Error::Code::not_found);
    EXPECT_THAT(bytes.error().message, HasSubstr("link"));
  }
}

TEST_F(LocalStorageTest, ReadsTheSameWhereTheKernelLacksACall) {
  write_file("events/7/a", "text");
  write_file("outside/secret", "secret");
  fs::create_directory_symlink("../outside", root_ + "/events/link");
  fs::create_symlink("7/a", root_ + "/events/file");
  const auto read_all = [&] {
    std::vector<std::string> answers;
    for (const char* key : {"events/7/a", "events/7/b", "events/link/secret",
                            "events/file", "events/7/a/b", "events/7"}) {
      const auto bytes = get_object(*storage_, key);
      answers.emplace_back(bytes ? bytes->text() : bytes.error().message);
    }
    return answers;
  };
  const std::vector<std::string> answers = read_all();
  EXPECT_EQ(answers.front(), "text");
  for (const unsigned error : {ENOSYS, EPERM}) {
    bool is_forbidden = false;
    std::vector<std::string> answers_without;
    std::jthread([&] {
      is_forbidden = forbid_call(SYS_openat2, error);
      answers_without = read_all();
    }).join();
    if (!is_forbidden) GTEST_SKIP() << "the system allows no seccomp filter";
    EXPECT_EQ(answers_without, answers);
  }
}

TEST_F(LocalStorageTest, MayItselfBeReachedThroughALink) {
  write_file("real/a", "text");
  fs::create_directory_symlink(root_, folder_.path() + "/link");
  const auto storage = make_local_storage("link", folder_.path() + "/link");
  EXPECT_EQ(get_object(*storage, "real/a")->text(), "text");
}

TEST_F(LocalStorageTest, DoesNotWaitAtAPipe) {
  write_file("a", "text");
  ASSERT_EQ(mkfifo((root_ + "/pipe").c_str(), 0666), 0);
  EXPECT_THAT(keys(""), ElementsAre("a", "pipe"));
  EXPECT_THAT(no_files(), ElementsAre("pipe"));
  const auto bytes = get_object(*storage_, "pipe");
  ASSERT_FALSE(bytes);
  EXPECT_EQ(bytes.error().code, Error::Code::not_found);
}

// A folder whose path is too long to open shows which folders are opened.
TEST_F(LocalStorageTest, OpensNoFolderThatSortsBeforeAfter) {
  write_file("index/000000001/seen", "");
  write_file("index/000000001/tnew", "");
  write_file("index/000000002/newer", "");
  fs::create_directories(root_ + "/index/000000000");
  const auto chain = [&](int depth) {
    // Relative steps make a path that no absolute open can name.
    const fs::path home = fs::current_path();
    fs::current_path(root_ + "/index/000000000");
    for (int i = 0; i < depth; ++i) {
      const std::string name(200, 'x');
      fs::create_directory(name);
      fs::current_path(name);
    }
    fs::current_path(home);
  };
  chain(25);
  const auto listed = storage_->list("index/");
  ASSERT_TRUE(listed) << listed.error().message;
  ASSERT_EQ(listed->size(), 4u);
  EXPECT_THAT(listed->front().key, StartsWith("index/000000000/xxx"));
  EXPECT_FALSE(listed->front().is_file);
  EXPECT_THAT(keys("index/", "index/000000001/seen"),
              ElementsAre("index/000000001/tnew", "index/000000002/newer"));
  EXPECT_THAT(keys("index/000000001/"),
              ElementsAre("index/000000001/seen", "index/000000001/tnew"));
}

TEST_F(LocalStorageTest, SaysWhichFileCannotBeWrittenAndWhy) {
  write_file("a", "a file where a folder should be");
  const auto status = put_object(*storage_, "a/b", "text");
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Error::Code::io);
  EXPECT_THAT(status.error().message,
              HasSubstr("'" + root_ + "/a' is a file, not a folder"));

  const std::string long_name(300, 'x');
  const auto too_long = put_object(*storage_, long_name, "text");
  ASSERT_FALSE(too_long);
  EXPECT_THAT(too_long.error().message, HasSubstr("File name too long"));
}

TEST_F(LocalStorageTest, CannotReplaceAFolderByAnObject) {
  write_file("a/b", "text");
  const auto status = put_object(*storage_, "a", "text");
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Error::Code::io);
  EXPECT_EQ(read_file("a/b"), "text");
  EXPECT_THAT(all_files(), ElementsAre("b"));
}

TEST_F(LocalStorageTest, ToldThatTheDiskIsFullLeavesNothingBehind) {
  ASSERT_TRUE(put_object(*storage_, "a", "old"));
  const std::string large(10'000, 'x');
  {
    const FileSizeLimit limit(4'000);
    const auto status = put_object(*storage_, "a", large);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, Error::Code::io);
    EXPECT_THAT(status.error().message, HasSubstr("cannot write"));
    EXPECT_THAT(status.error().message,
                HasSubstr("File too large; raise the limit on the size of a "
                          "file (ulimit -f)"));
    const auto created = storage_->create_exclusive("b", bytes_of(large));
    ASSERT_FALSE(created);
    EXPECT_EQ(created.error().code, Error::Code::io);
  }
  EXPECT_THAT(all_files(), ElementsAre("a"));
  EXPECT_EQ(read_file("a"), "old");
  ASSERT_TRUE(put_object(*storage_, "a", large));
  EXPECT_EQ(read_file("a"), large);
}

TEST_F(LocalStorageTest, WritesIntoNoFileThatHasTheTemporaryName) {
  const std::string victim = folder_.path() + "/victim";
  std::ofstream(victim) << "precious";
  fs::create_directories(root_ + "/index");
  const std::string unfinished = root_ + "/index/a.tmp";
  const std::function<void()> traps[] = {
      [&] { fs::create_hard_link(victim, unfinished); },
      [&] { fs::create_symlink(victim, unfinished); },
      [&] { fs::create_symlink(folder_.path() + "/new", unfinished); },
      [&] { ASSERT_EQ(mkfifo(unfinished.c_str(), 0666), 0); }};
  for (const auto& set_trap : traps) {
    set_trap();
    const auto status = put_object(*storage_, "index/a", "text");
    ASSERT_TRUE(status) << status.error().message;
    EXPECT_EQ(read_file("index/a"), "text");
    EXPECT_THAT(all_files(), ElementsAre("a"));
    EXPECT_FALSE(fs::exists(folder_.path() + "/new"));
    std::ifstream file(victim);
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}),
              "precious");
  }
}

TEST_F(LocalStorageTest, ReplacesALinkWithTheFinalNameAndNotItsTarget) {
  const std::string victim = folder_.path() + "/victim";
  std::ofstream(victim) << "precious";
  fs::create_directories(root_);
  fs::create_symlink(victim, root_ + "/soft");
  fs::create_hard_link(victim, root_ + "/hard");
  for (const char* key : {"soft", "hard"}) {
    ASSERT_TRUE(put_object(*storage_, key, "text"));
    EXPECT_EQ(get_object(*storage_, key)->text(), "text");
  }
  std::ifstream file(victim);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "precious");
}

TEST_F(LocalStorageTest, WritesThroughNoLinkedFolderOfTheRun) {
  const std::string outside = folder_.path() + "/outside";
  fs::create_directories(outside + "/000000000");
  std::ofstream(outside + "/000000000/old") << "old";
  fs::create_directories(root_ + "/events");
  fs::create_directory_symlink(outside, root_ + "/index");
  fs::create_directory_symlink(outside, root_ + "/events/000000000007");
  write_file("own", "own");
  const auto try_all = [&] {
    for (const char* key : {"index/000000000/a", "index/b", "index/deep/er/c",
                            "events/000000000007/d"}) {
      const auto status = put_object(*storage_, key, "text");
      ASSERT_FALSE(status) << key;
      EXPECT_EQ(status.error().code, Error::Code::io);
      EXPECT_THAT(status.error().message, HasSubstr(key));
      EXPECT_FALSE(storage_->create_exclusive(key, bytes_of("text")));
      EXPECT_FALSE(storage_->move("own", key)) << key;
      EXPECT_EQ(read_file("own"), "own");
    }
    EXPECT_FALSE(*storage_->exists("index/000000000/old"));
    EXPECT_TRUE(storage_->move("index/000000000/old", "moved"));
    EXPECT_FALSE(*storage_->exists("moved"));
    EXPECT_TRUE(storage_->remove("index/000000000/old"));
    EXPECT_TRUE(fs::exists(outside + "/000000000/old"));
    const auto others = std::distance(fs::directory_iterator(outside), {});
    EXPECT_EQ(others, 1);
  };
  try_all();
  bool is_forbidden = false;
  std::jthread([&] {
    is_forbidden = forbid_call(SYS_openat2, ENOSYS);
    if (is_forbidden) try_all();
  }).join();
  if (!is_forbidden) GTEST_SKIP() << "the system allows no seccomp filter";
}

TEST_F(LocalStorageTest, WritesIntoARunThatIsALink) {
  const std::string scratch = folder_.path() + "/scratch";
  fs::create_directories(scratch);
  fs::create_directory_symlink(scratch, root_);
  ASSERT_TRUE(put_object(*storage_, "events/7/a", "text"));
  EXPECT_TRUE(fs::exists(scratch + "/events/7/a"));
}

TEST_F(LocalStorageTest, NamesAFolderThatCannotBeListed) {
  fs::create_directories(folder_.path() + "/outside");
  write_file("file", "text");
  write_file("real/a", "text");
  fs::create_directory_symlink("real", root_ + "/link");
  fs::create_directory_symlink("loop", root_ + "/loop");
  fs::create_directory_symlink(".", root_ + "/real/inside");
  EXPECT_TRUE(storage_->check_folder("real/"));
  EXPECT_TRUE(storage_->check_folder("missing/"));
  const std::map<std::string, std::string> reasons = {
      {"file/", "not a folder"},  {"link/", "a link"},
      {"loop/", "a link"},        {"real/inside/", "a link"},
      {"link/inside/", "a link"},
  };
  for (const auto& [key, reason] : reasons) {
    const auto status = storage_->check_folder(key);
    ASSERT_FALSE(status) << key;
    EXPECT_THAT(status.error().message, StartsWith(reason)) << key;
    const auto listed = storage_->list(key);
    ASSERT_FALSE(listed) << key;
    EXPECT_EQ(listed.error().code, Error::Code::io);
  }
  EXPECT_THAT(keys("missing/"), IsEmpty());
}

TEST_F(LocalStorageTest, ListsWhatIsBesideAFolderWithoutPermission) {
  write_file("index/0/a", "");
  write_file("index/1/b", "");
  fs::permissions(root_ + "/index/0", fs::perms::none);
  fs::permissions(folder_.path(), fs::perms::all);
  const AsNobody nobody;  // permissions do not bind root
  EXPECT_THAT(keys("index/"), ElementsAre("index/0", "index/1/b"));
  EXPECT_THAT(no_files(), ElementsAre("index/0"));
  const auto status = storage_->check_folder("index/0/");
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("Permission denied"));
}

TEST_F(LocalStorageTest, ReadsNoFileThatIsLargerThanItsLimit) {
  write_file("a", "0123456789");
  EXPECT_EQ(get_object(*storage_, "a", 10)->text(), "0123456789");
  const auto bytes = get_object(*storage_, "a", 9);
  ASSERT_FALSE(bytes);
  EXPECT_EQ(bytes.error().code, Error::Code::io);
  EXPECT_THAT(bytes.error().message, HasSubstr("more than 9 bytes"));
  write_file("sparse", "");
  fs::resize_file(root_ + "/sparse", std::uintmax_t{1} << 40);
  EXPECT_FALSE(get_object(*storage_, "sparse"));
}

TEST_F(LocalStorageTest, ListsATreeOfAnyDepthUpToALimit) {
  write_file("index/a", "");
  const DeepFolder deep(root_ + "/index", 5000);
  const auto listed = storage_->list("");
  ASSERT_TRUE(listed) << listed.error().message;
  ASSERT_EQ(listed->size(), 2u);
  EXPECT_EQ(listed->front().key, "index/a");
  EXPECT_FALSE(listed->back().is_file);
}

TEST_F(LocalStorageTest, ListsADeepTree) {
  std::string key;
  for (int depth = 0; depth < 300; ++depth) key += "d/";
  key += "file";
  ASSERT_TRUE(put_object(*storage_, key, "text"));
  EXPECT_THAT(keys(""), ElementsAre(key));
}

// The permissions of everything at and below `folder`, by path.
std::map<std::string, fs::perms> permissions_below(const std::string& folder) {
  std::map<std::string, fs::perms> found = {
      {"", fs::status(folder).permissions()}};
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    found[entry.path().string().substr(folder.size())] =
        entry.status().permissions();
  return found;
}

void expect_private(const std::string& folder) {
  for (const auto& [path, permissions] : permissions_below(folder)) {
    EXPECT_EQ(permissions & fs::perms(0777), fs::is_directory(folder + path)
                                                 ? fs::perms(0700)
                                                 : fs::perms(0600))
        << path;
  }
}

TEST(LocalPrivate, CreatesFilesAndFoldersForTheirOwnerAlone) {
  const TemporaryFolder folder;
  const std::string run = folder.path() + "/above/run";
  const auto storage = *open_storage(run, FileAccess::owner_only);
  ASSERT_TRUE(put_object(*storage, "index/0/a.json", "text"));
  ASSERT_TRUE(storage->create_exclusive("claim.smd", {}));
  ASSERT_TRUE(storage->move("index/0/a.json", "attempts/1/a.json"));
  expect_private(folder.path() + "/above");
}

TEST(LocalPrivate, IsKeptByEveryWriterIntoAPrivateFolder) {
  const TemporaryFolder folder;
  const std::string run = folder.path() + "/run";
  ASSERT_TRUE(put_object(**open_storage(run, FileAccess::owner_only), "a", ""));
  ASSERT_TRUE(put_object(**open_storage(run), "rules/b.json", ""));
  expect_private(run);
}

std::shared_ptr<Storage> synced_storage(const std::string& run) {
  return *open_storage(run, FileAccess::by_umask, MissingFolder::create,
                       FileSync::each_call);
}

TEST(LocalSynced, WritesBelowAFolderThatOnlyItsOwnerMayList) {
  const TemporaryFolder folder;
  const std::string above = folder.path("home"), run = above + "/run";
  fs::create_directories(run);
  fs::permissions(run, fs::perms(0777));
  fs::permissions(above, fs::perms(0711));
  fs::permissions(folder.path(), fs::perms(0755));
  const AsNobody nobody;  // permissions do not bind root
  const Status put = put_object(*synced_storage(run), "index/0/a.json", "text");
  EXPECT_TRUE(put) << put.error().message;
}

TEST(LocalSynced, FailsInAFolderThatItMayNotList) {
  const TemporaryFolder folder;
  const std::string run = folder.path("run");
  fs::create_directories(run);
  fs::permissions(run, fs::perms(0333));
  fs::permissions(folder.path(), fs::perms(0755));
  {
    const AsNobody nobody;
    const Status put = put_object(*synced_storage(run), "a.json", "text");
    ASSERT_FALSE(put);
    EXPECT_THAT(
        put.error().message,
        testing::AllOf(HasSubstr("cannot sync"), HasSubstr("run/a.json"),
                       HasSubstr("Permission denied")));
  }
  EXPECT_TRUE(fs::is_empty(run)) << "neither the file nor its unfinished one";
}

TEST(LocalSynced, KeepsTheNewerObjectIfTheNameThatItReplacesIsNotSynced) {
  const TemporaryFolder folder;
  const std::string run = folder.path("run");
  fs::create_directories(run);
  fs::permissions(run, fs::perms(0777));
  fs::permissions(folder.path(), fs::perms(0755));
  const AsNobody nobody;
  const auto storage = synced_storage(run);
  ASSERT_TRUE(put_object(*storage, "index/a.json", "older"));
  fs::permissions(run + "/index", fs::perms(0333));
  EXPECT_FALSE(put_object(*storage, "index/a.json", "newer"));
  EXPECT_FALSE(put_object(*storage, "index/b.json", "new"));
  EXPECT_EQ(get_object(*storage, "index/a.json")->text(), "newer");
  EXPECT_FALSE(*storage->exists("index/b.json"));
  fs::permissions(run + "/index", fs::perms(0777));
}

}  // namespace
}  // namespace smdebug
