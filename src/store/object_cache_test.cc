#include "store/object_cache.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/support/recording_logger_testing.h"
#include "tests/support/temporary_folder_testing.h"

namespace smdebug {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::uint64_t kLimit = 1 << 20;

std::vector<fs::path> files_below(const std::string& folder) {
  std::vector<fs::path> files;
  for (const auto& each : fs::recursive_directory_iterator(folder)) {
    if (each.is_regular_file()) files.push_back(each.path());
  }
  return files;
}

struct CacheFolder {
  TemporaryFolder folder;
  RecordingLogger logger;
  ObjectCache cache{folder.path(), kLimit, logger};

  void put(std::string_view name, std::string_view text) {
    cache.put(name, std::as_bytes(std::span(text)));
  }
  std::string find(std::string_view name, std::uint64_t bytes) {
    const auto found = cache.find(name, bytes);
    return found ? std::string(found->text()) : "nothing";
  }
};

TEST(ObjectCache, FindsWhatAnotherProcessHasPut) {
  CacheFolder first;
  EXPECT_EQ(first.find("a", 4), "nothing");
  first.put("a", "text");
  first.put("b", "more");
  ObjectCache other(first.folder.path(), kLimit, first.logger);
  const auto found = other.find("a", 4);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->text(), "text");
  EXPECT_FALSE(other.find("c", 4));
  EXPECT_THAT(first.logger.lines(), IsEmpty());
}

TEST(ObjectCache, RemovesAnEntryWithAnotherByteOrLength) {
  const auto flip = [](std::string& bytes) { bytes[1] ^= 1; };
  const auto cut = [](std::string& bytes) { bytes.pop_back(); };
  const auto extend = [](std::string& bytes) { bytes += 'x'; };
  const auto lengthen = [](std::string& bytes) {
    bytes[bytes.size() - 8] ^= 1;
  };
  for (const std::function<void(std::string&)>& damage :
       {std::function<void(std::string&)>(flip), {cut}, {extend}, {lengthen}}) {
    CacheFolder a;
    a.put("name", "content");
    const auto files = files_below(a.folder.path());
    ASSERT_THAT(files, SizeIs(1));
    std::ifstream in(files[0], std::ios::binary);
    std::string bytes(std::istreambuf_iterator<char>(in), {});
    damage(bytes);
    std::ofstream(files[0], std::ios::binary) << bytes;
    EXPECT_EQ(a.find("name", 7), "nothing");
    EXPECT_THAT(files_below(a.folder.path()), IsEmpty());
    a.put("name", "content");
    EXPECT_EQ(a.find("name", 7), "content");
  }
}

TEST(ObjectCache, DoesNotTakeOneEntryForAnother) {
  CacheFolder a;
  a.put("one", "text");
  const fs::path one = files_below(a.folder.path()).at(0);
  a.put("two", "TEXT");
  for (const fs::path& file : files_below(a.folder.path())) {
    if (file != one) {
      fs::copy_file(one, file, fs::copy_options::overwrite_existing);
    }
  }
  EXPECT_EQ(a.find("two", 4), "nothing");
  EXPECT_EQ(a.find("one", 4), "text");
}

TEST(ObjectCache, RemovesTheEntriesThatWereNotUsedForLongest) {
  CacheFolder a;
  a.folder.write("of the user", std::string(kLimit, 'x'));
  const std::string text(60 << 10, 'x');  // 64 KiB with the end, in blocks
  const auto now = fs::file_time_type::clock::now();
  std::set<fs::path> seen;
  for (int i = 0; i < 16; ++i) {
    a.put(std::to_string(i), text);
    for (const fs::path& file : files_below(a.folder.path())) {
      if (seen.insert(file).second && file.filename() != "of the user") {
        fs::last_write_time(file, now - std::chrono::hours(100 - i));
      }
    }
  }
  EXPECT_EQ(a.find("0", text.size()), text);  // is used now
  a.put("16", text);
  // An eighth of the limit becomes free: 14 of the 17 remain.
  for (int i = 0; i < 17; ++i) {
    const bool is_kept = i == 0 || i > 3;
    EXPECT_EQ(a.find(std::to_string(i), text.size()) == text, is_kept) << i;
  }
  EXPECT_TRUE(fs::exists(a.folder.path("of the user")));
}

TEST(ObjectCache, RemovesAnUnfinishedFileThatAKilledProcessLeft) {
  CacheFolder a;
  a.put("name", "text");
  const auto now = fs::file_time_type::clock::now();
  const auto leave = [&](const std::string& name, std::chrono::minutes age) {
    const std::string file = "smdebug-objects/" + name + ".tmp";
    a.folder.write(file, std::string(kLimit, 'x'));
    fs::last_write_time(a.folder.path(file), now - age);
    return a.folder.path(file);
  };
  const std::string recent = leave("recent", std::chrono::minutes(50));
  const std::string older = leave("older", std::chrono::minutes(70));
  a.put("counts", std::string(kLimit / 8, 'x'));
  EXPECT_TRUE(fs::exists(recent));
  EXPECT_FALSE(fs::exists(older));
}

TEST(ObjectCache, KeepsNoObjectThatWouldReplaceMostOthers) {
  CacheFolder a;
  a.put("large", std::string(kLimit / 8 + 1, 'x'));
  EXPECT_THAT(files_below(a.folder.path()), IsEmpty());
  EXPECT_TRUE(a.cache.is_usable());
}

TEST(ObjectCache, LetsOnlyItsUserReadTheEntries) {
  CacheFolder a;
  a.put("name", "secret");
  for (const auto& each : fs::recursive_directory_iterator(a.folder.path())) {
    struct stat status;
    ASSERT_EQ(stat(each.path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 077, 0u) << each.path();
  }
}

TEST(ObjectCache, WarnsOnceOfAFolderThatCannotBeMade) {
  TemporaryFolder folder;
  folder.write("file", "text");
  RecordingLogger logger;
  ObjectCache cache(folder.path("file"), kLimit, logger);
  for (int i = 0; i < 3; ++i) {
    cache.put("name", std::as_bytes(std::span("text")));
    EXPECT_FALSE(cache.find("name", 4));
  }
  EXPECT_FALSE(cache.is_usable());
  ASSERT_THAT(logger.lines(), SizeIs(1));
  EXPECT_THAT(logger.lines()[0], HasSubstr("SMDEBUG_CACHE_DIR: "));
  EXPECT_THAT(logger.lines()[0], HasSubstr(folder.path("file")));
}

TEST(ObjectCache, UsesNoFolderThatOthersCanEnter) {
  CacheFolder a;
  a.put("name", "text");
  fs::permissions(a.folder.path("smdebug-objects"), fs::perms(0755));
  RecordingLogger logger;
  ObjectCache cache(a.folder.path(), kLimit, logger);
  EXPECT_FALSE(cache.find("name", 4));
  EXPECT_FALSE(cache.is_usable());
  ASSERT_THAT(logger.lines(), SizeIs(1));
  EXPECT_THAT(logger.lines()[0], HasSubstr("only this user can enter"));
}

TEST(ObjectCache, ContinuesAfterAnotherProcessHasRemovedTheEntries) {
  CacheFolder a;
  a.put("name", "text");
  for (const auto& each :
       fs::directory_iterator(a.folder.path("smdebug-objects"))) {
    fs::remove_all(each.path());
  }
  EXPECT_EQ(a.find("name", 4), "nothing");
  a.put("name", "text");
  EXPECT_EQ(a.find("name", 4), "text");
  EXPECT_THAT(a.logger.lines(), IsEmpty());
}

TEST(ObjectCache, HasWholeEntriesWhileTwoWritersReplaceAndRemoveThem) {
  CacheFolder a;
  const auto text_of = [](int i) {
    return std::string(50'000 + i, static_cast<char>('a' + i % 26));
  };
  const auto work = [&] {
    ObjectCache cache(a.folder.path(), kLimit, a.logger);
    for (int round = 0; round < 5; ++round) {
      for (int i = 0; i < 40; ++i) {
        const std::string text = text_of(i);
        cache.put(std::to_string(i), std::as_bytes(std::span(text)));
        const auto found = cache.find(std::to_string(i), text.size());
        if (found) EXPECT_EQ(found->text(), text);
      }
    }
  };
  std::thread other(work);
  work();
  other.join();
  EXPECT_THAT(a.logger.lines(), IsEmpty());
}

}  // namespace
}  // namespace smdebug
