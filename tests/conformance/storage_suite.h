#pragma once

// Tests the contract that every `Storage` must keep. A backend instantiates the
// suite with a function that creates an empty storage:
//
//   INSTANTIATE_TEST_SUITE_P(Memory, StorageSuite, testing::Values(maker));

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "smdebug/store/storage.h"

namespace smdebug {

// Returns a store that holds nothing. What lies behind it may live until the
// test program ends.
using MakeStorage = std::function<std::shared_ptr<Storage>()>;

class StorageSuite : public testing::TestWithParam<MakeStorage> {
 protected:
  std::shared_ptr<Storage> storage_ = GetParam()();

  void put(std::string_view key, std::string_view text) {
    const Status status = put_object(*storage_, key, text);
    ASSERT_TRUE(status) << status.error().message;
  }

  std::string get(std::string_view key) {
    const auto bytes = get_object(*storage_, key);
    EXPECT_TRUE(bytes) << bytes.error().message;
    return bytes ? std::string(bytes->text()) : "";
  }

  std::vector<std::string> keys(std::string_view prefix,
                                std::string_view after = {}) {
    const auto entries = storage_->list(prefix, after);
    EXPECT_TRUE(entries) << entries.error().message;
    std::vector<std::string> keys;
    if (!entries) return keys;
    for (const ObjectEntry& entry : *entries) keys.push_back(entry.key);
    return keys;
  }

  static std::span<const std::byte> bytes_of(std::string_view text) {
    return std::as_bytes(std::span(text));
  }

  static Status append(ObjectWriter& writer,
                       const std::vector<std::string>& texts) {
    std::vector<std::span<const std::byte>> parts;
    for (const std::string& text : texts) parts.push_back(bytes_of(text));
    return writer.append(parts);
  }
};

TEST_P(StorageSuite, NamesWhatIsDirectlyInAFolder) {
  for (const char* const key : {"a/b/c", "a/b/d", "a/e", "a.f", "g"}) {
    put(key, "text");
  }
  const auto names = [&](std::string_view folder) {
    const auto found = storage_->names_in(folder);
    EXPECT_TRUE(found) << found.error().message;
    return found ? *found : std::vector<std::string>();
  };
  EXPECT_THAT(names(""), testing::ElementsAre("a.f", "a/", "g"));
  EXPECT_THAT(names("a/"), testing::ElementsAre("b/", "e"));
  EXPECT_THAT(names("nothing/"), testing::IsEmpty());
}

TEST_P(StorageSuite, HoldsNothingAtFirst) {
  EXPECT_THAT(keys(""), testing::IsEmpty());
  EXPECT_THAT(keys("index/"), testing::IsEmpty());
  const auto exists = storage_->exists("a");
  ASSERT_TRUE(exists);
  EXPECT_FALSE(*exists);
  const auto bytes = get_object(*storage_, "a/b");
  ASSERT_FALSE(bytes);
  EXPECT_EQ(bytes.error().code, Error::Code::not_found);
  EXPECT_THAT(bytes.error().message, testing::HasSubstr("a/b"));
  EXPECT_TRUE(storage_->remove("a"));
}

TEST_P(StorageSuite, GivesBackWhatWasPut) {
  const std::string nul_inside("a\0b", 3);
  put("x", nul_inside);
  put("deep/er/y", "");
  EXPECT_EQ(get("x"), nul_inside);
  EXPECT_EQ(get("deep/er/y"), "");
  EXPECT_TRUE(*storage_->exists("x"));
  EXPECT_TRUE(*storage_->exists("deep/er/y"));
  EXPECT_FALSE(*storage_->exists("deep/er"));
  EXPECT_FALSE(*storage_->exists("x/y"));
  const auto entries = storage_->list("");
  ASSERT_TRUE(entries);
  ASSERT_EQ(entries->size(), 2u);
  EXPECT_EQ((*entries)[0].bytes, 0u);
  EXPECT_EQ((*entries)[1].bytes, 3u);
}

TEST_P(StorageSuite, ShowsAnObjectOnlyWhenItIsWhole) {
  auto writer = storage_->create("events/a");
  ASSERT_TRUE(writer) << writer.error().message;
  ASSERT_TRUE(append(**writer, {"one ", "", "two "}));
  ASSERT_TRUE(append(**writer, {}));
  ASSERT_TRUE(append(**writer, {"three"}));
  EXPECT_THAT(keys(""), testing::IsEmpty());
  EXPECT_FALSE(*storage_->exists("events/a"));
  EXPECT_FALSE(get_object(*storage_, "events/a"));
  ASSERT_TRUE((*writer)->commit());
  EXPECT_EQ(get("events/a"), "one two three");
}

TEST_P(StorageSuite, TakesManyPartsAtOnce) {
  auto writer = storage_->create("many");
  ASSERT_TRUE(writer);
  std::vector<std::string> parts;
  std::string whole;
  for (int i = 0; i < 5000; ++i) {
    parts.push_back(std::to_string(i));
    whole += parts.back();
  }
  ASSERT_TRUE(append(**writer, parts));
  ASSERT_TRUE((*writer)->commit());
  EXPECT_EQ(get("many"), whole);
}

TEST_P(StorageSuite, ForgetsAnAbortedObject) {
  put("old", "before");
  {
    auto writer = storage_->create("old");
    ASSERT_TRUE(writer);
    ASSERT_TRUE(append(**writer, {"after"}));
    (*writer)->abort();
    (*writer)->abort();
    EXPECT_FALSE((*writer)->commit());
    EXPECT_FALSE(append(**writer, {"after"}));
  }
  {
    auto writer = storage_->create("new");
    ASSERT_TRUE(writer);
    ASSERT_TRUE(append(**writer, {"never committed"}));
  }
  EXPECT_EQ(get("old"), "before");
  EXPECT_THAT(keys(""), testing::ElementsAre("old"));
}

TEST_P(StorageSuite, StartsAnObjectAnewBesideAnUnfinishedOne) {
  auto unfinished = storage_->create("a");
  ASSERT_TRUE(unfinished);
  ASSERT_TRUE(append(**unfinished, {"a long object that nobody finishes"}));
  put("a", "short");
  EXPECT_EQ(get("a"), "short");
  (*unfinished)->abort();
  EXPECT_EQ(get("a"), "short");
}

TEST_P(StorageSuite, ReplacesAnObjectUnderTheFeetOfNoReader) {
  const std::string before(100'000, 'b');
  put("a", before);
  const auto bytes = get_object(*storage_, "a");
  ASSERT_TRUE(bytes);
  put("a", "after");
  EXPECT_EQ(bytes->text(), before);
  EXPECT_EQ(get("a"), "after");
  ASSERT_TRUE(storage_->remove("a"));
  EXPECT_EQ(bytes->text(), before);
  EXPECT_FALSE(*storage_->exists("a"));
}

TEST_P(StorageSuite, MovesAnObjectToAnotherKey) {
  put("index/a", "text");
  put("index/b", "other");
  const auto bytes = get_object(*storage_, "index/a");
  ASSERT_TRUE(bytes);
  ASSERT_TRUE(storage_->move("index/a", "attempts/1/index/a"));
  EXPECT_THAT(keys(""), testing::ElementsAre("attempts/1/index/a", "index/b"));
  EXPECT_EQ(get("attempts/1/index/a"), "text");
  EXPECT_EQ(bytes->text(), "text");
  ASSERT_TRUE(storage_->move("index/b", "attempts/1/index/a"));
  EXPECT_EQ(get("attempts/1/index/a"), "other");
  EXPECT_THAT(keys(""), testing::ElementsAre("attempts/1/index/a"));
  EXPECT_TRUE(storage_->move("index/b", "c"));
  EXPECT_TRUE(storage_->move("attempts/1/index/a", "attempts/1/index/a"));
  EXPECT_EQ(get("attempts/1/index/a"), "other");
  EXPECT_FALSE(storage_->move("attempts/1/index/a", "../a"));
  EXPECT_FALSE(storage_->move("../a", "a"));
}

TEST_P(StorageSuite, MovesManyObjects) {
  std::vector<ObjectMove> moves;
  for (int i = 0; i < 70; ++i) {
    const std::string key = "index/" + std::to_string(i);
    put(key, std::to_string(i));
    moves.push_back({key, "aside/" + key});
  }
  moves.push_back({"none", "aside/none"});
  moves.push_back({"index/5", "index/5"});
  put("index/other", "");
  ASSERT_TRUE(storage_->move_each(moves));
  EXPECT_THAT(keys("index/"), testing::ElementsAre("index/other"));
  EXPECT_THAT(keys("aside/"), testing::SizeIs(70));
  EXPECT_EQ(get("aside/index/69"), "69");
  moves = {{"../a", "a"}};
  EXPECT_FALSE(storage_->move_each(moves));
}

TEST_P(StorageSuite, CutsRangesShortAtTheEnd) {
  put("a", "0123456789");
  const std::vector<ByteRange> ranges = {
      {2, 3}, {0, 0},         {8, 100}, {10, 1}, {500, UINT64_MAX},
      {},     {9, UINT64_MAX}};
  const auto parts = storage_->read("a", ranges);
  ASSERT_TRUE(parts) << parts.error().message;
  std::vector<std::string> texts;
  for (const Bytes& part : *parts) texts.emplace_back(part.text());
  EXPECT_THAT(texts,
              testing::ElementsAre("234", "", "89", "", "", "0123456789", "9"));
  EXPECT_TRUE(storage_->read("a", {})->empty());
}

TEST_P(StorageSuite, ReadsRangesOfEverySizeAndAlignment) {
  std::string text(300'000, '\0');
  std::mt19937 random(1);
  for (char& c : text) c = static_cast<char>(random());
  put("big", text);
  std::vector<ByteRange> ranges;
  for (const std::uint64_t start : {0, 1, 4095, 4096, 70'000, 234'464}) {
    for (const std::uint64_t length : {1, 65'535, 65'536, 65'537, 200'000}) {
      ranges.push_back({start, length});
    }
  }
  const auto parts = storage_->read("big", ranges);
  ASSERT_TRUE(parts) << parts.error().message;
  ASSERT_EQ(parts->size(), ranges.size());
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    EXPECT_TRUE((*parts)[i].text() ==
                text.substr(ranges[i].start, ranges[i].length))
        << ranges[i].start << "+" << ranges[i].length;
  }
}

TEST_P(StorageSuite, ReadsRangesThatLieCloseTogetherOrOverTheOther) {
  const auto seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  std::string text(3'000'000, '\0');
  for (char& c : text) c = static_cast<char>(random());
  put("big", text);
  std::vector<ByteRange> ranges;
  for (int i = 0; i < 2000; ++i) {
    const std::uint64_t longest = i % 20 == 0 ? 200'000 : 3000;
    ranges.push_back({random() % (text.size() + 1000), random() % longest});
  }
  const auto parts = storage_->read("big", ranges);
  ASSERT_TRUE(parts) << parts.error().message;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const std::size_t start = std::min(ranges[i].start, text.size());
    ASSERT_TRUE((*parts)[i].text() == text.substr(start, ranges[i].length))
        << ranges[i].start << "+" << ranges[i].length;
  }
}

TEST_P(StorageSuite, ReadsAPartOfEachOfManyObjects) {
  put("a/1", "0123456789");
  put("b", std::string(200'000, 'b'));
  const std::vector<ObjectRange> ranges = {{"b", {199'998, 100}}, {"a/2", {}},
                                           {"a/1", {2, 3}},       {"../b", {}},
                                           {"b", {0, 150'000}},   {"a/1", {}}};
  const std::vector<Result<Bytes>> parts = storage_->read_each(ranges);
  ASSERT_EQ(parts.size(), ranges.size());
  EXPECT_EQ(parts[0]->text(), "bb");
  EXPECT_EQ(parts[1].error().code, Error::Code::not_found);
  EXPECT_EQ(parts[2]->text(), "234");
  EXPECT_EQ(parts[3].error().code, Error::Code::invalid_argument);
  EXPECT_EQ(parts[4]->text(), std::string(150'000, 'b'));
  EXPECT_EQ(parts[5]->text(), "0123456789");
  EXPECT_TRUE(storage_->read_each({}).empty());
}

TEST_P(StorageSuite, LetsNobodyChangeAnObjectThroughWhatWasRead) {
  const std::string text(200'000, 'a');
  put("a", text);
  for (const std::uint64_t length : {1000, 200'000}) {
    const ByteRange range{0, length};
    const auto parts = storage_->read("a", {&range, 1});
    ASSERT_TRUE(parts);
    const Bytes& bytes = parts->front();
    if (!bytes.is_writable()) continue;
    std::fill_n(const_cast<std::byte*>(bytes.data()), bytes.size(),
                std::byte{'b'});
    EXPECT_EQ(bytes.text(), std::string(length, 'b'));
    const Bytes again = bytes;
    EXPECT_FALSE(bytes.is_writable()) << "two hold it";
  }
  EXPECT_EQ(get("a"), text);
}

TEST_P(StorageSuite, ReadsAgainFromAnObjectThatIsOpen) {
  put("a", "0123456789");
  const auto reader = storage_->open("a");
  ASSERT_TRUE(reader) << reader.error().message;
  for (const std::uint64_t start : {2, 8, 20}) {
    const ByteRange range{start, 4};
    const auto parts = (*reader)->read({&range, 1});
    ASSERT_TRUE(parts) << parts.error().message;
    EXPECT_EQ(parts->front().text(), start == 2   ? "2345"
                                     : start == 8 ? "89"
                                                  : "");
  }
  const auto missing = storage_->open("b");
  const ByteRange whole;
  const auto code = missing ? (*missing)->read({&whole, 1}).error().code
                            : missing.error().code;
  EXPECT_EQ(code, Error::Code::not_found);
}

TEST_P(StorageSuite, HasAnotherFolderVersionAfterEachChange) {
  const auto version = [&] { return storage_->folder_version("a/"); };
  std::optional<std::uint64_t> last = version();
  const auto expect_another = [&](std::string_view after) {
    const auto now = version();
    if (now) {
      EXPECT_NE(now, last) << after;
    }
    last = now;
  };
  put("a/1", "one");
  expect_another("the first object");
  put("a/2", "two");
  expect_another("one more");
  put("a/1", "other");
  expect_another("a replaced one");
  ASSERT_TRUE(storage_->remove("a/2"));
  expect_another("a removed one");
  put("a/b/1", "");
  expect_another("a folder");
}

TEST_P(StorageSuite, ListsInTheOrderOfBytes) {
  // '-' and '.' sort before '/', digits and letters after it.
  for (const char* key : {"a/b", "a.b", "a-b/c", "a0", "a/a/z", "B", "a"}) {
    if (std::string_view(key) == "a") continue;  // a folder may not be a file
    put(key, "");
  }
  EXPECT_THAT(keys(""),
              testing::ElementsAre("B", "a-b/c", "a.b", "a/a/z", "a/b", "a0"));
  EXPECT_THAT(keys("a"),
              testing::ElementsAre("a-b/c", "a.b", "a/a/z", "a/b", "a0"));
  EXPECT_THAT(keys("a/"), testing::ElementsAre("a/a/z", "a/b"));
  EXPECT_THAT(keys("a/b"), testing::ElementsAre("a/b"));
  EXPECT_THAT(keys("", "a/a/z"), testing::ElementsAre("a/b", "a0"));
  EXPECT_THAT(keys("", "a/"), testing::ElementsAre("a/a/z", "a/b", "a0"));
  EXPECT_THAT(keys("a/", "a"), testing::ElementsAre("a/a/z", "a/b"));
  EXPECT_THAT(keys("a/", "z"), testing::IsEmpty());
  EXPECT_THAT(keys("none/", ""), testing::IsEmpty());
}

TEST_P(StorageSuite, ListsAsASortedMapDoes) {
  const auto seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  // Folders end with 'x', files with 'y', so that no key is both.
  const auto random_key = [&] {
    std::string key;
    for (auto depth = random() % 3; depth > 0; --depth) {
      key += std::string(1, "-.0aA"[random() % 5]) + "x/";
    }
    return key + std::string(1, "-.0aA"[random() % 5]) + "y";
  };
  std::map<std::string, std::string> model;
  for (int i = 0; i < 60; ++i) {
    const std::string key = random_key();
    if (random() % 4 == 0) {
      ASSERT_TRUE(storage_->remove(key));
      model.erase(key);
    } else {
      put(key, key);
      model[key] = key;
    }
  }
  for (int i = 0; i < 200; ++i) {
    const std::string prefix = random_key().substr(0, random() % 5);
    const std::string after = random() % 4 == 0 ? "" : random_key();
    if (prefix.starts_with('/')) continue;
    std::vector<std::string> expected;
    for (const auto& [key, text] : model) {
      if (key.starts_with(prefix) && key > after) expected.push_back(key);
    }
    EXPECT_EQ(keys(prefix, after), expected) << prefix << " after " << after;
  }
  for (const auto& [key, text] : model) EXPECT_EQ(get(key), text);
}

TEST_P(StorageSuite, LetsOneOfManyCreateExclusively) {
  constexpr int kThreads = 8;
  for (int round = 0; round < 20; ++round) {
    const std::string key = "claims/" + std::to_string(round);
    std::atomic<int> winners = 0, failures = 0;
    std::atomic<bool> go = false;
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        const std::string text(1000, static_cast<char>('a' + i));
        while (!go) std::this_thread::yield();
        const auto created = storage_->create_exclusive(key, bytes_of(text));
        if (!created) {
          ++failures;
        } else if (*created) {
          ++winners;
        }
      });
    }
    go = true;
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(winners, 1);
    EXPECT_EQ(failures, 0);
    const std::string text = get(key);
    ASSERT_EQ(text.size(), 1000u);
    EXPECT_EQ(text, std::string(1000, text.front()));
  }
  EXPECT_EQ(keys("").size(), 20u);
}

TEST_P(StorageSuite, CreatesExclusivelyAgainAfterRemoval) {
  EXPECT_TRUE(*storage_->create_exclusive("claim", bytes_of("a")));
  EXPECT_FALSE(*storage_->create_exclusive("claim", bytes_of("b")));
  EXPECT_FALSE(*storage_->create_exclusive("claim", bytes_of("a")));
  EXPECT_EQ(get("claim"), "a");
  ASSERT_TRUE(storage_->remove("claim"));
  EXPECT_TRUE(*storage_->create_exclusive("claim", bytes_of("c")));
  EXPECT_EQ(get("claim"), "c");
}

TEST_P(StorageSuite, WritesObjectsFromSeveralThreads) {
  std::vector<std::thread> threads;
  std::atomic<int> failures = 0;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int n = 0; n < 25; ++n) {
        const std::string text = std::to_string(i * 100 + n);
        const auto status = put_object(*storage_, "t/" + text + "/x", text);
        if (!status) ++failures;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(keys("t/").size(), 100u);
  EXPECT_EQ(get("t/324/x"), "324");
}

TEST_P(StorageSuite, RefusesKeysThatAreNoNamesInTheRun) {
  const std::vector<std::string> bad = {
      "",     "/a",  "..",  "../a", "a/../b", "a/..",
      ".",    "./a", "a/.", "a//b", "a/",     std::string("a\0b", 3),
      "a.tmp"};
  const auto refused = [](const auto& result) {
    return !result.ok() && result.error().code == Error::Code::invalid_argument;
  };
  const ByteRange whole;
  for (const std::string& key : bad) {
    EXPECT_TRUE(refused(storage_->create(key))) << key;
    EXPECT_TRUE(refused(storage_->create_exclusive(key, {}))) << key;
    EXPECT_TRUE(refused(storage_->read(key, {&whole, 1}))) << key;
    EXPECT_TRUE(refused(storage_->exists(key))) << key;
    EXPECT_TRUE(refused(storage_->remove(key))) << key;
  }
  put("..a", "fine");
  put("a..b/c...", "fine");
  EXPECT_THAT(keys(""), testing::ElementsAre("..a", "a..b/c..."));
}

}  // namespace smdebug
