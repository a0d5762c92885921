// The storage over a bucket in memory. It also runs the suite of
// storage_conformance_test.cc, over a real server too where there is one.

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/result_matchers_testing.h"
#include "net/fake_s3_testing.h"
#include "store/backends.h"
#include "tests/support/fake_clock_testing.h"

namespace smdebug {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

struct Bucket {
  FakeS3 server;
  FakeClock clock{1440938160};
  std::shared_ptr<Storage> storage;

  explicit Bucket(const std::string& prefix = "runs/a") {
    storage = make_s3_storage(
        {"s3", "bucket", prefix},
        {.url = "http://127.0.0.1:9009", .region = "eu-west-1"},
        [] {
          return Result(std::optional(AwsCredentials{"AKID", "secret", ""}));
        },
        server, clock);
  }
};

std::vector<std::string> ranges_requested(const FakeS3& server) {
  std::vector<std::string> ranges;
  for (const HttpRequest& request : server.requests()) {
    for (const HttpHeader& header : request.headers) {
      if (header.name == "range") ranges.push_back(header.value);
    }
  }
  std::ranges::sort(ranges);
  return ranges;
}

TEST(S3Storage, IsKnownByItsLocation) {
  EXPECT_EQ(Bucket("runs/a").storage->uri(), "s3://bucket/runs/a");
  EXPECT_EQ(Bucket("").storage->uri(), "s3://bucket");
}

TEST(S3Storage, SeesOnlyWhatIsBelowItsPrefix) {
  Bucket a("runs/a");
  ASSERT_THAT(put_object(*a.storage, "k", "text"), IsOk());
  EXPECT_THAT(a.server.objects(),
              ElementsAre(testing::Pair("runs/a/k", "text")));
  const auto send = [&](const char* key) {
    HttpRequest request{.method = "PUT",
                        .url = std::string("http://127.0.0.1/bucket/") + key};
    (void)a.server.send(request);
  };
  for (const char* key :
       {"runs/ab/k", "runs/a/folder/", "runs/a//x", "runs/b"}) {
    send(key);
  }
  const auto entries = a.storage->list("");
  ASSERT_THAT(entries, IsOk());
  EXPECT_THAT(*entries, ElementsAre(testing::Field(&ObjectEntry::key, "k")));
}

TEST(S3Storage, ReadsRangesThatAreCloseTogetherInOneRequest) {
  Bucket bucket;
  ASSERT_THAT(put_object(*bucket.storage, "k", std::string(400'000, 'x')),
              IsOk());
  const std::vector<ByteRange> ranges = {
      {300'000, 10}, {100, 50}, {0, 10}, {65'000, 100}, {120, 10}};
  ASSERT_THAT(bucket.storage->read("k", ranges), IsOk());
  EXPECT_THAT(ranges_requested(bucket.server),
              ElementsAre("bytes=0-65099", "bytes=300000-300009"));
}

TEST(S3Storage, UploadsALongObjectInPartsAndReadsItBack) {
  std::string text(45 << 20, '\0');
  std::mt19937 random(7);
  for (std::size_t i = 0; i < text.size(); i += 4096) {
    text[i] = static_cast<char>(random());
  }
  Bucket bucket;
  const auto writer = bucket.storage->create("long");
  ASSERT_THAT(writer, IsOk());
  for (std::size_t i = 0; i < text.size(); i += 3 << 20) {
    const auto part =
        std::as_bytes(std::span(text))
            .subspan(i, std::min<std::size_t>(3 << 20, text.size() - i));
    ASSERT_THAT((*writer)->append({&part, 1}), IsOk());
  }
  ASSERT_THAT((*writer)->commit(), IsOk());
  EXPECT_TRUE(bucket.server.objects().at("runs/a/long") == text);
  EXPECT_EQ(bucket.server.open_uploads(), 0u);
}

TEST(S3Storage, LeavesNoPartOfAnUploadThatFailed) {
  for (const bool is_last_request : {false, true}) {
    Bucket bucket;
    bucket.server.instead = [&](const HttpRequest& request,
                                int) -> std::optional<Result<HttpResponse>> {
      const bool is_part =
          request.url.find("partNumber=3") != std::string::npos;
      const bool is_completion =
          request.method == "POST" &&
          request.url.find("uploadId") != std::string::npos;
      if (is_last_request ? is_completion : is_part) return HttpResponse{403};
      return std::nullopt;
    };
    const auto writer = bucket.storage->create("long");
    ASSERT_THAT(writer, IsOk());
    const std::string text(50 << 20, 'x');
    const auto bytes = std::as_bytes(std::span(text));
    const Status appended = (*writer)->append({&bytes, 1});
    if (is_last_request) {
      EXPECT_THAT(appended, IsOk());
      EXPECT_THAT((*writer)->commit(), FailsWith(Error::Code::io));
    } else {
      EXPECT_THAT(appended, FailsWith(Error::Code::io));
    }
    (*writer)->abort();
    EXPECT_EQ(bucket.server.open_uploads(), 0u);
    EXPECT_THAT(bucket.server.objects(), IsEmpty());
  }
}

TEST(S3Storage, CopiesAllObjectsBeforeItRemovesOne) {
  for (const bool is_refused : {false, true}) {
    Bucket bucket;
    std::vector<ObjectMove> moves;
    for (int i = 0; i < 200; ++i) {
      const std::string key = "index/" + std::to_string(i);
      ASSERT_THAT(put_object(*bucket.storage, key, key), IsOk());
      moves.push_back({key, "attempts/1/" + key});
    }
    moves.push_back({"index/none", "attempts/1/index/none"});
    const auto before = bucket.server.requests().size();
    if (is_refused) {
      bucket.server.instead = [](const HttpRequest& request,
                                 int) -> std::optional<Result<HttpResponse>> {
        if (!request.url.ends_with("attempts/1/index/150")) return std::nullopt;
        return HttpResponse{403};
      };
    }
    const Status moved = bucket.storage->move_each(moves);
    EXPECT_EQ(moved.ok(), !is_refused);
    const auto requests = bucket.server.requests();
    std::vector<std::string> methods;
    for (std::size_t i = before; i < requests.size(); ++i) {
      methods.push_back(requests[i].method);
    }
    const auto removals = std::ranges::find(methods, "DELETE");
    EXPECT_EQ(std::ranges::count(methods, "PUT"), 201);
    EXPECT_EQ(std::find(removals, methods.end(), "PUT"), methods.end());
    for (const auto& [from, to] : moves) {
      const auto objects = bucket.server.objects();
      const bool existed = from != "index/none";
      EXPECT_EQ(objects.contains("runs/a/" + from), existed && is_refused);
      if (existed && !is_refused) EXPECT_EQ(objects.at("runs/a/" + to), from);
    }
  }
}

TEST(S3Storage, ListsFromAKeyOn) {
  Bucket bucket;
  for (int i = 10; i < 40; ++i) {
    ASSERT_THAT(put_object(*bucket.storage, "index/" + std::to_string(i), ""),
                IsOk());
  }
  const auto before = bucket.server.requests().size();
  const auto entries = bucket.storage->list("index/", "index/37");
  ASSERT_THAT(entries, IsOk());
  EXPECT_THAT(*entries, SizeIs(2));
  EXPECT_EQ(bucket.server.requests().size(), before + 1);
}

}  // namespace
}  // namespace smdebug
