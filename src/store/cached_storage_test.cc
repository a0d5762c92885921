#include "store/cached_storage.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/result_matchers_testing.h"
#include "net/fake_s3_testing.h"
#include "store/backends.h"
#include "tests/support/fake_clock_testing.h"
#include "tests/support/recording_logger_testing.h"
#include "tests/support/temporary_folder_testing.h"

namespace smdebug {
namespace {

// A bucket, and readers of it whose cache is one folder.
struct CachedBucket {
  FakeS3 server;
  FakeClock clock{1440938160};
  TemporaryFolder folder;
  RecordingLogger logger;
  std::shared_ptr<Storage> writer = connect();

  std::shared_ptr<TaggedStorage> connect() {
    return make_s3_storage(
        {"s3", "bucket", "runs/a"},
        {.url = "http://127.0.0.1:9009", .region = "eu-west-1"},
        [] {
          return Result(std::optional(AwsCredentials{"AKID", "secret", ""}));
        },
        server, clock);
  }

  // As of a process of its own.
  std::shared_ptr<Storage> reader() {
    return make_cached_storage(
        connect(),
        std::make_shared<ObjectCache>(folder.path(), 100 << 20, logger),
        "http://127.0.0.1:9009\ns3://bucket/runs/a");
  }

  void put(std::string_view key, std::string_view text) {
    ASSERT_THAT(put_object(*writer, key, text), IsOk());
  }

  // Requests of objects since the last call, and of listings.
  struct Requests {
    int reads = 0;
    int listings = 0;
    friend bool operator==(const Requests&, const Requests&) = default;
  };
  Requests requests() {
    Requests made;
    const auto all = server.requests();
    for (; seen_ < all.size(); ++seen_) {
      const bool is_listing =
          all[seen_].url.find("list-type=2") != std::string::npos;
      ++(is_listing ? made.listings : made.reads);
    }
    return made;
  }

 private:
  std::size_t seen_ = 0;
};

using Requests = CachedBucket::Requests;

std::string text_at(const Storage& storage, std::string_view key) {
  const auto bytes = get_object(storage, key);
  return bytes ? std::string(bytes->text()) : bytes.error().message;
}

TEST(CachedStorage, RequestsOnlyListingsOfWhatAnotherProcessHasRead) {
  CachedBucket bucket;
  std::vector<ObjectRange> ranges;
  for (int i = 10; i < 30; ++i) {
    ranges.push_back({"events/" + std::to_string(i), {2, 5}});
    bucket.put(ranges.back().key, "0123456789" + std::to_string(i));
  }
  bucket.requests();
  for (const Requests& expected : {Requests{20, 3}, Requests{0, 3}}) {
    const auto parts = bucket.reader()->read_each(ranges);
    ASSERT_EQ(parts.size(), ranges.size());
    for (const auto& part : parts) {
      ASSERT_THAT(part, IsOk());
      EXPECT_EQ(part->text(), "23456");
    }
    EXPECT_EQ(bucket.requests(), expected);  // 7 keys are a page
  }
}

TEST(CachedStorage, ServesEachKindOfReadFromItsFolder) {
  CachedBucket bucket;
  bucket.put("index/0/1.json", "0123456789");
  const std::vector<ByteRange> ranges = {{0, 3}, {8, UINT64_MAX}, {0, 3}};
  bucket.requests();
  for (const Requests& expected : {Requests{3, 1}, Requests{0, 1}}) {
    const auto reader = bucket.reader();
    ASSERT_THAT(reader->list("index/"), IsOk());
    const auto parts = reader->read("index/0/1.json", ranges);
    ASSERT_THAT(parts, IsOk());
    EXPECT_EQ((*parts)[0].text(), "012");
    EXPECT_EQ((*parts)[1].text(), "89");
    EXPECT_EQ((*parts)[2].text(), "012");
    EXPECT_EQ(text_at(*reader, "index/0/1.json"), "0123456789");
    EXPECT_EQ(bucket.requests(), expected);
  }
  EXPECT_THAT(bucket.reader()->read_whole("index/0/1.json", 9),
              FailsWith(Error::Code::io));
}

TEST(CachedStorage, ServesAReplacedObjectAfterAListing) {
  CachedBucket bucket;
  const auto reader = bucket.reader();
  for (const std::string text : {"older", "newer"}) {
    bucket.put("events/1", text);
    bucket.put("index/1", text);
    ASSERT_THAT(reader->list("index/"), IsOk());
    EXPECT_EQ(text_at(*reader, "index/1"), text);
    EXPECT_EQ(text_at(*reader, "events/1"), text);
    EXPECT_EQ(text_at(*bucket.reader(), "events/1"), text);
  }
  ASSERT_THAT(bucket.writer->remove("index/1"), IsOk());
  ASSERT_THAT(reader->list("index/"), IsOk());
  EXPECT_THAT(reader->read_whole("index/1", 99),
              FailsWith(Error::Code::not_found));
}

TEST(CachedStorage, ForgetsATagWhenTheCallerLooksForChangesElsewhere) {
  CachedBucket bucket;
  bucket.put("index/1", "older");
  const auto reader = bucket.reader();
  ASSERT_THAT(reader->list("index/"), IsOk());
  EXPECT_EQ(text_at(*reader, "index/1"), "older");
  bucket.put("index/1", "newer");
  ASSERT_THAT(reader->list("index/", "index/1"), IsOk());
  EXPECT_EQ(text_at(*reader, "index/1"), "newer");
  bucket.put("index/1", "newest");
  ASSERT_THAT(reader->list("facts/"), IsOk());
  EXPECT_EQ(text_at(*reader, "index/1"), "newest");
}

TEST(CachedStorage, KeepsNothingOfAnObjectThatWasReplacedAfterItWasListed) {
  CachedBucket bucket;
  bucket.put("index/1", "older");
  const auto first = bucket.reader();
  ASSERT_THAT(first->list("index/"), IsOk());
  bucket.put("index/1", "newer");
  const ByteRange part{0, 3};
  ASSERT_THAT(first->read("index/1", {&part, 1}), IsOk());
  EXPECT_EQ(text_at(*first, "index/1"), "newer");
  bucket.put("index/1", "older");
  const auto second = bucket.reader();
  ASSERT_THAT(second->list("index/"), IsOk());
  EXPECT_EQ(text_at(*second, "index/1"), "older");
  const auto parts = second->read("index/1", {&part, 1});
  ASSERT_THAT(parts, IsOk());
  EXPECT_EQ(parts->front().text(), "old");
}

TEST(CachedStorage, MixesNoPartsOfAnObjectAndItsSuccessor) {
  CachedBucket bucket;
  bucket.put("index/1", "older");
  const auto reader = bucket.reader();
  ASSERT_THAT(reader->list("index/"), IsOk());
  const std::vector<ByteRange> ranges = {{0, 3}, {3, 2}};
  ASSERT_THAT(reader->read("index/1", {ranges.data(), 1}), IsOk());
  bucket.put("index/1", "NEWER");
  const auto parts = reader->read("index/1", ranges);
  ASSERT_THAT(parts, IsOk());
  EXPECT_EQ((*parts)[0].text(), "NEW");
  EXPECT_EQ((*parts)[1].text(), "ER");
}

TEST(CachedStorage, ReadsWhatMayChangeFromTheServer) {
  CachedBucket bucket;
  for (const char* key : {"run.json", "claim.smd", "rules/a.json",
                          "collections/0/w.json", "attempts/1/run.json"}) {
    bucket.put(key, "older");
    const auto reader = bucket.reader();
    ASSERT_THAT(reader->list(""), IsOk());
    EXPECT_EQ(text_at(*reader, key), "older");
    bucket.put(key, "newer");
    EXPECT_EQ(text_at(*reader, key), "newer") << key;
  }
  EXPECT_FALSE(std::filesystem::exists(bucket.folder.path("smdebug-objects")));
}

TEST(CachedStorage, ReadsEverythingFromTheServerOnceItHasWritten) {
  CachedBucket bucket;
  bucket.put("events/1", "older");
  const auto reader = bucket.reader();
  EXPECT_EQ(text_at(*reader, "events/1"), "older");
  ASSERT_THAT(put_object(*reader, "events/1", "newer"), IsOk());
  EXPECT_EQ(text_at(*reader, "events/1"), "newer");
}

TEST(CachedStorage, ReadsADamagedEntryFromTheServerAgain) {
  CachedBucket bucket;
  bucket.put("events/1", "text");
  EXPECT_EQ(text_at(*bucket.reader(), "events/1"), "text");
  for (const auto& each :
       std::filesystem::recursive_directory_iterator(bucket.folder.path())) {
    if (each.is_regular_file()) std::ofstream(each.path()) << "torn";
  }
  bucket.requests();
  EXPECT_EQ(text_at(*bucket.reader(), "events/1"), "text");
  EXPECT_EQ(bucket.requests(), (Requests{1, 1}));
  EXPECT_EQ(text_at(*bucket.reader(), "events/1"), "text");
  EXPECT_EQ(bucket.requests(), (Requests{0, 1}));
}

TEST(CachedStorage, ServesNoCopyToAClientThatMayNotList) {
  CachedBucket bucket;
  bucket.put("events/1", "text");
  bucket.put("events/2", "text");
  EXPECT_EQ(text_at(*bucket.reader(), "events/1"), "text");
  bucket.server.instead = [](const HttpRequest& request,
                             int) -> std::optional<Result<HttpResponse>> {
    if (request.url.find("list-type") == std::string::npos) return std::nullopt;
    return HttpResponse{403};
  };
  const auto reader = bucket.reader();
  bucket.requests();
  EXPECT_EQ(text_at(*reader, "events/1"), "text");
  EXPECT_EQ(text_at(*reader, "events/2"), "text");
  EXPECT_EQ(bucket.requests(), (Requests{2, 1}));
}

TEST(CachedStorage, ReadsOnWithoutAFolderThatItCanUse) {
  CachedBucket bucket;
  bucket.put("events/1", "text");
  bucket.folder.write("smdebug-objects", "a file in its place");
  const auto reader = bucket.reader();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(text_at(*reader, "events/1"), "text");
  EXPECT_THAT(bucket.logger.lines(), testing::SizeIs(1));
}

}  // namespace
}  // namespace smdebug
