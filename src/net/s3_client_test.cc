// Requests to a bucket in memory. python/tests/test_object_stores.py sends them
// to real servers.

#include "net/s3_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/result_matchers_testing.h"
#include "net/fake_s3_testing.h"
#include "tests/support/fake_clock_testing.h"

namespace smdebug {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

using Answer = std::optional<Result<HttpResponse>>;

constexpr double kNow = 1440938160;  // 2015-08-30 12:36:00 UTC

const AwsCredentials kUser = {"AKID", "secret", ""};

HttpResponse failure(int status, const std::string& code,
                     std::vector<HttpHeader> headers = {}) {
  return {status,
          "<Error><Code>" + code + "</Code><Message>as told</Message></Error>",
          std::move(headers)};
}

class S3ClientTest : public testing::Test {
 protected:
  FakeS3 server_;
  FakeClock clock_{kNow};
  std::optional<AwsCredentials> credentials_ = kUser;
  S3Client client_{{"s3", "bucket", "runs/a"},
                   {.url = "http://127.0.0.1:9009", .region = "eu-west-1"},
                   [this] { return Result(credentials_); },
                   server_,
                   clock_};

  S3Client client_of_aws() {
    return {{"s3", "bucket", ""},
            {.url = "https://s3.us-east-1.amazonaws.com",
             .region = "us-east-1",
             .is_of_aws = true,
             .has_bucket_in_host = true},
            [this] { return Result(credentials_); },
            server_,
            clock_};
  }

  // The first `count` requests get this answer.
  void answer_first(int count, Result<HttpResponse> answer) {
    server_.instead = [=](const HttpRequest&, int number) {
      return number <= count ? Answer(answer) : std::nullopt;
    };
  }

  std::string header_of_last(std::string_view name) {
    const HttpRequest last = server_.requests().back();
    for (const HttpHeader& header : last.headers) {
      if (header.name == name) return header.value;
    }
    return "";
  }
};

TEST_F(S3ClientTest, ReadsWhatItWrote) {
  const std::string text("a\0b", 3);
  ASSERT_THAT(client_.put("k", text), IsOk());
  EXPECT_THAT(client_.get("k", 0, UINT64_MAX, 100), IsOkAndHolds(text));
  EXPECT_THAT(client_.get("k", 1, 1, 100), IsOkAndHolds(std::string("\0", 1)));
  EXPECT_THAT(client_.get("k", 2, 100, 100), IsOkAndHolds("b"));
  EXPECT_THAT(client_.get("k", 3, 1, 100), IsOkAndHolds(""));
  EXPECT_THAT(client_.get("k", 1, UINT64_MAX, 100),
              IsOkAndHolds(text.substr(1)));
  EXPECT_THAT(client_.get("k", 0, UINT64_MAX, 2), FailsWith(Error::Code::io));
  EXPECT_THAT(client_.exists("k"), IsOkAndHolds(true));
  EXPECT_THAT(client_.exists("l"), IsOkAndHolds(false));
}

TEST_F(S3ClientTest, HasTheTagOfAnObjectThatItListsOrReads) {
  // MD5 of "abc", from RFC 1321.
  const std::string expected = "900150983cd24fb0d6963f7d28e17f72";
  ASSERT_THAT(client_.put("k", "abc"), IsOk());
  const auto objects = client_.list("", "");
  ASSERT_THAT(objects, IsOk());
  EXPECT_THAT(*objects, ElementsAre(Field(&S3Object::tag, expected)));
  for (const std::uint64_t start : {0, 1}) {
    std::string tag;
    ASSERT_THAT(client_.get("k", start, UINT64_MAX, 100, &tag), IsOk());
    EXPECT_EQ(tag, expected);
  }
}

TEST_F(S3ClientTest, ListsOnePageIfThatIsWanted) {
  for (int i = 10; i < 40; ++i) {
    ASSERT_THAT(client_.put(std::to_string(i), ""), IsOk());
  }
  const std::size_t before = server_.requests().size();
  const auto objects = client_.list("", "12", S3Pages::first);
  ASSERT_THAT(objects, IsOk());
  EXPECT_THAT(*objects, SizeIs(FakeS3::kKeysPerPage));
  EXPECT_EQ(objects->front().key, "13");
  EXPECT_EQ(server_.requests().size(), before + 1);
}

TEST_F(S3ClientTest, SignsARequestWithItsBody) {
  ASSERT_THAT(client_.put("a b/ü", "body"), IsOk());
  const HttpRequest request = server_.requests().at(0);
  EXPECT_EQ(request.method, "PUT");
  EXPECT_EQ(request.url, "http://127.0.0.1:9009/bucket/a%20b/%C3%BC");
  // $ printf body | sha256sum
  EXPECT_EQ(header_of_last("x-amz-content-sha256"),
            "230d8358dc8e8890b4c58deeb62912ee2f20357ae92a5cc861b98e68fe31acb5");
  // The CRC-32C of "body" is 0x263fc950.
  EXPECT_EQ(header_of_last("x-amz-checksum-crc32c"), "Jj/JUA==");
  EXPECT_THAT(header_of_last("authorization"),
              StartsWith("AWS4-HMAC-SHA256 Credential=AKID/20150830/eu-west-1/"
                         "s3/aws4_request, SignedHeaders="));
}

TEST_F(S3ClientTest, SendsNoSignatureWithoutCredentials) {
  credentials_.reset();
  ASSERT_THAT(client_.put("k", "text"), IsOk());
  EXPECT_EQ(header_of_last("authorization"), "");
}

TEST_F(S3ClientTest, HasTheBucketInTheNameOfTheHostAtAws) {
  ASSERT_THAT(client_of_aws().put("k", "text"), IsOk());
  EXPECT_EQ(server_.requests().at(0).url,
            "https://bucket.s3.us-east-1.amazonaws.com/k");
}

TEST_F(S3ClientTest, ListsEveryPage) {
  std::vector<std::string> keys;
  for (int i = 0; i < 20; ++i) {
    keys.push_back("p/" + std::to_string(100 + i) + " +&%é");
    ASSERT_THAT(client_.put(keys.back(), std::string(i, 'x')), IsOk());
  }
  ASSERT_THAT(client_.put("q", ""), IsOk());
  const auto all = client_.list("p/", "");
  ASSERT_THAT(all, IsOk());
  ASSERT_EQ(all->size(), 20u);
  for (std::size_t i = 0; i < 20; ++i) {
    EXPECT_EQ((*all)[i].key, keys[i]);
    EXPECT_EQ((*all)[i].bytes, i);
  }
  const auto later = client_.list("p/", keys[17]);
  ASSERT_THAT(later, IsOk());
  EXPECT_THAT(*later, ElementsAre(Field(&S3Object::key, keys[18]),
                                  Field(&S3Object::key, keys[19])));
  EXPECT_THAT(client_.list("none/", ""), IsOkAndHolds(IsEmpty()));
}

TEST_F(S3ClientTest, RefusesAPageThatIsNoListing) {
  for (const char* body : {"", "<html>", "<Other></Other>", "{}"}) {
    server_.instead = [=](const HttpRequest&, int) {
      return Answer(HttpResponse{200, body});
    };
    EXPECT_THAT(client_.list("", ""), FailsWith(Error::Code::unavailable,
                                                HasSubstr("not that of an S3")))
        << body;
  }
}

TEST_F(S3ClientTest, EndsAListingWhosePagesAreTheSame) {
  server_.instead = [](const HttpRequest&, int) {
    return Answer(HttpResponse{
        200,
        "<ListBucketResult><Contents><Key>k</Key><Size>1</Size></Contents>"
        "<IsTruncated>true</IsTruncated>"
        "<NextContinuationToken>t</NextContinuationToken>"
        "</ListBucketResult>"});
  };
  EXPECT_THAT(client_.list("", ""),
              FailsWith(Error::Code::io, HasSubstr("repeats a page")));
  EXPECT_THAT(server_.requests(), SizeIs(2));
}

TEST_F(S3ClientTest, ReadsAgainWhatContradictsItsTag) {
  const std::string tag = "\"1cb251ec0d568de6a929b520c4aed8d1\"";  // of "text"
  server_.instead = [=](const HttpRequest&, int number) {
    return Answer(
        HttpResponse{200, number == 1 ? "te" : "text", {{"etag", tag}}});
  };
  EXPECT_THAT(client_.get("k", 0, UINT64_MAX, 100), IsOkAndHolds("text"));
  EXPECT_THAT(server_.requests(), SizeIs(2));
}

TEST_F(S3ClientTest, TakesWhatContradictsItsTagTwice) {
  server_.instead = [](const HttpRequest&, int) {
    return Answer(HttpResponse{
        200, "text", {{"etag", "\"00000000000000000000000000000000\""}}});
  };
  for (const std::size_t requests : {2, 3, 4}) {
    EXPECT_THAT(client_.get("k", 0, UINT64_MAX, 100), IsOkAndHolds("text"));
    EXPECT_THAT(server_.requests(), SizeIs(requests));
  }
}

TEST_F(S3ClientTest, ReadsAgainARangeOfAnotherLength) {
  ASSERT_THAT(client_.put("k", "0123456789"), IsOk());
  server_.instead = [](const HttpRequest&, int number) {
    return number == 2 ? Answer(HttpResponse{
                             206, "123", {{"content-range", "bytes 1-4/10"}}})
                       : std::nullopt;
  };
  EXPECT_THAT(client_.get("k", 1, 4, 100), IsOkAndHolds("1234"));
  EXPECT_THAT(server_.requests(), SizeIs(3));
}

TEST_F(S3ClientTest, CreatesAnObjectOnce) {
  EXPECT_THAT(client_.put_if_free("claim", "a"), IsOkAndHolds(true));
  EXPECT_THAT(client_.put_if_free("claim", "b"), IsOkAndHolds(false));
  EXPECT_EQ(server_.objects().at("claim"), "a");
}

TEST_F(S3ClientTest, KnowsAnObjectThatItCreatedAlthoughTheAnswerWasLost) {
  server_.afterward = [](const HttpRequest&, int number) {
    return number == 1 ? Answer(Error{Error::Code::unavailable, "cut"})
                       : std::nullopt;
  };
  EXPECT_THAT(client_.put_if_free("claim", "a"), IsOkAndHolds(true));
}

TEST_F(S3ClientTest, CreatesAnObjectOnceWithoutConditionalRequests) {
  server_.instead = [](const HttpRequest& request, int) {
    const bool is_conditional =
        std::ranges::find(request.headers, "if-none-match",
                          &HttpHeader::name) != request.headers.end();
    return is_conditional ? Answer(failure(501, "NotImplemented"))
                          : std::nullopt;
  };
  EXPECT_THAT(client_.put_if_free("claim", "a"), IsOkAndHolds(true));
  EXPECT_THAT(client_.put_if_free("claim", "b"), IsOkAndHolds(false));
  EXPECT_EQ(server_.objects().at("claim"), "a");
}

TEST_F(S3ClientTest, MixesNoHeadersOfAwsWithThoseOfGoogle) {
  const S3Client google(
      {"gs", "bucket", ""},
      {.url = "https://storage.example",
       .region = "auto",
       .is_of_google = true},
      [] { return Result(std::optional(kUser)); }, server_, clock_);
  EXPECT_THAT(google.put_if_free("claim", "a"), IsOkAndHolds(true));
  EXPECT_EQ(header_of_last("x-goog-if-generation-match"), "0");
  EXPECT_EQ(header_of_last("x-goog-hash"), "crc32c=wdBDMA==");
  EXPECT_THAT(google.copy("claim", "other"), IsOk());
  EXPECT_EQ(header_of_last("x-goog-copy-source"), "/bucket/claim");
  EXPECT_THAT(google.get("claim", 0, UINT64_MAX, 9), IsOkAndHolds("a"));
  for (const HttpRequest& request : server_.requests()) {
    for (const HttpHeader& header : request.headers) {
      EXPECT_FALSE(header.name.starts_with("x-amz-")) << header.name;
    }
  }
}

TEST_F(S3ClientTest, CopiesAndRemoves) {
  ASSERT_THAT(client_.put("a +b", "text"), IsOk());
  ASSERT_THAT(client_.copy("a +b", "c"), IsOk());
  EXPECT_EQ(server_.objects().at("c"), "text");
  EXPECT_THAT(client_.copy("none", "d"), FailsWith(Error::Code::not_found));
  EXPECT_THAT(client_.remove("c"), IsOk());
  EXPECT_THAT(client_.remove("c"), IsOk());
  EXPECT_FALSE(server_.objects().contains("c"));
}

TEST_F(S3ClientTest, SeesTheFailureOfACopyAfterTheHeadOfItsAnswer) {
  ASSERT_THAT(client_.put("a", "text"), IsOk());
  for (const std::size_t length : {SIZE_MAX, std::size_t{12}}) {
    HttpResponse late = failure(200, "InternalError");
    late.body = late.body.substr(0, length);
    const auto before = server_.requests().size();
    server_.instead = [&](const HttpRequest&, int number) {
      return static_cast<std::size_t>(number) == before + 1 ? Answer(late)
                                                            : std::nullopt;
    };
    ASSERT_THAT(client_.copy("a", "b"), IsOk());
    EXPECT_THAT(server_.requests(), SizeIs(before + 2));
    EXPECT_EQ(server_.objects().at("b"), "text");
    ASSERT_THAT(client_.remove("b"), IsOk());
  }
}

TEST_F(S3ClientTest, BeginsAnUploadAgainWhoseIdentifierIsCutOff) {
  answer_first(1, HttpResponse{200, "<InitiateMultipartUploadResult><Upl"});
  EXPECT_THAT(client_.begin_upload("k"), IsOk());
  answer_first(100, HttpResponse{200, ""});
  EXPECT_THAT(client_.begin_upload("k"),
              FailsWith(Error::Code::unavailable,
                        AllOf(HasSubstr("cannot write 's3://bucket/k'"),
                              HasSubstr("without an identifier"))));
}

TEST_F(S3ClientTest, CompletesAnUploadWhoseAnswerIsLost) {
  const auto upload = client_.begin_upload("k");
  ASSERT_THAT(upload, IsOk());
  const auto tag = client_.put_part("k", *upload, 1, "text");
  ASSERT_THAT(tag, IsOk());
  server_.afterward = [](const HttpRequest&, int number) {
    return number == 3 ? Answer(Error{Error::Code::unavailable, "reset"})
                       : std::nullopt;
  };
  EXPECT_THAT(client_.complete_upload("k", *upload, {*tag}, 4), IsOk());
  EXPECT_EQ(server_.objects().at("k"), "text");
  // The object is there, and the upload was aborted by someone else.
  EXPECT_THAT(client_.complete_upload("k", *upload, {*tag}, 4),
              FailsWith(Error::Code::not_found, HasSubstr("NoSuchUpload")));
}

TEST_F(S3ClientTest, DoesNotTakeAnOlderObjectForTheUpload) {
  ASSERT_THAT(client_.put("k", "older"), IsOk());
  answer_first(2, Error{Error::Code::unavailable, "reset"});
  EXPECT_THAT(client_.complete_upload("k", "forgotten", {"\"tag 1\""}, 4),
              FailsWith(Error::Code::not_found, HasSubstr("NoSuchUpload")));
}

TEST_F(S3ClientTest, UploadsInParts) {
  const auto upload = client_.begin_upload("k");
  ASSERT_THAT(upload, IsOk());
  std::vector<std::string> tags(3);
  for (const int number : {3, 1, 2}) {
    const auto tag =
        client_.put_part("k", *upload, number, std::to_string(number));
    ASSERT_THAT(tag, IsOk());
    tags[static_cast<std::size_t>(number - 1)] = *tag;
  }
  EXPECT_FALSE(server_.objects().contains("k"));
  ASSERT_THAT(client_.complete_upload("k", *upload, tags, 3), IsOk());
  EXPECT_EQ(server_.objects().at("k"), "123");
  EXPECT_EQ(server_.open_uploads(), 0u);
  const auto other = client_.begin_upload("l");
  ASSERT_THAT(other, IsOk());
  EXPECT_THAT(client_.abort_upload("l", *other), IsOk());
  EXPECT_THAT(client_.abort_upload("l", *other), IsOk());
  EXPECT_EQ(server_.open_uploads(), 0u);
}

// --- failures ---

TEST_F(S3ClientTest, TriesAgainAfterAFailureThatPasses) {
  const Result<HttpResponse> failures[] = {
      HttpResponse{500},
      HttpResponse{502, "<html>bad gateway</html>"},
      HttpResponse{429},
      failure(503, "SlowDown"),
      failure(400, "RequestTimeout"),
      failure(409, "OperationAborted"),
      Error{Error::Code::unavailable, "the connection was reset"}};
  for (const auto& each : failures) {
    const auto before = server_.requests().size();
    server_.instead = [&, before](const HttpRequest&, int number) {
      return static_cast<std::size_t>(number) <= before + 2 ? Answer(each)
                                                            : std::nullopt;
    };
    EXPECT_THAT(client_.put("k", "text"), IsOk());
    EXPECT_EQ(server_.requests().size(), before + 3);
  }
}

TEST_F(S3ClientTest, WaitsLongerBeforeEachAttemptAndGivesUp) {
  answer_first(100, failure(503, "SlowDown"));
  const auto start = clock_.monotonic();
  EXPECT_THAT(client_.put("runs/a/k", "text"),
              FailsWith(Error::Code::unavailable,
                        AllOf(HasSubstr("cannot write 's3://bucket/runs/a/k'"),
                              HasSubstr("after 6 attempts"),
                              HasSubstr("SlowDown: as told (HTTP 503)"))));
  EXPECT_THAT(server_.requests(), SizeIs(6));
  const std::chrono::duration<double> waited = clock_.monotonic() - start;
  // 0.1 + 0.2 + 0.4 + 0.8 + 1.6 s, of each at least half.
  EXPECT_GE(waited.count(), 1.5);
  EXPECT_LE(waited.count(), 3.2);
}

TEST_F(S3ClientTest, WaitsAsLongAsTheServerAsks) {
  answer_first(1, failure(503, "SlowDown", {{"retry-after", "7"}}));
  EXPECT_THAT(client_.put("k", "text"), IsOk());
  EXPECT_GE(clock_.monotonic(), std::chrono::seconds(7));
}

TEST_F(S3ClientTest, BeginsNoAttemptAfterTheDeadline) {
  server_.instead = [&](const HttpRequest&, int) {
    clock_.advance(std::chrono::seconds(39));
    return Answer(Error{Error::Code::unavailable, "timed out"});
  };
  EXPECT_THAT(client_.get("k", 0, 1, 1), FailsWith(Error::Code::unavailable));
  EXPECT_THAT(server_.requests(), SizeIs(2));
}

TEST_F(S3ClientTest, LimitsTheTimeOfAnAttempt) {
  EXPECT_THAT(client_.put("k", "text"), IsOk());
  EXPECT_EQ(server_.requests()[0].longest_silence, std::chrono::seconds(15));
  EXPECT_EQ(server_.requests()[0].timeout, std::chrono::minutes(2));
}

TEST(RetryPolicy, LeavesTimeForAnotherAttemptWithinTheLimitOfAStorage) {
  using std::chrono::seconds;
  for (const seconds limit : {seconds(60), seconds(3600)}) {
    const auto usual = RetryPolicy::within(limit);
    EXPECT_EQ(usual.deadline, seconds(40));
    EXPECT_EQ(usual.longest_silence, seconds(15));
    EXPECT_EQ(usual.longest_attempt, seconds(120));
  }
  const auto shorter = RetryPolicy::within(seconds(12));
  EXPECT_EQ(shorter.deadline, seconds(8));
  EXPECT_EQ(shorter.longest_silence, seconds(3));
  EXPECT_EQ(shorter.longest_attempt, seconds(24));
  EXPECT_EQ(RetryPolicy::within(seconds(1)).longest_silence, seconds(1));
}

TEST_F(S3ClientTest, DoesNotTryAgainWhatTheServerRefuses) {
  const struct {
    int status;
    const char *code, *remedy;
  } refusals[] = {{403, "AccessDenied", "allow s3:GetObject"},
                  {404, "NoSuchBucket", "smdebug creates no bucket"},
                  {400, "ExpiredToken", "renew the credentials"},
                  {403, "SignatureDoesNotMatch", "check AWS_ACCESS_KEY_ID"},
                  {400, "InvalidRequest", "InvalidRequest: as told"}};
  int sent = 0;
  for (const auto& [status, code, remedy] : refusals) {
    answer_first(100, failure(status, code));
    EXPECT_THAT(client_.get("k", 0, 1, 1),
                FailsWith(Error::Code::io,
                          AllOf(HasSubstr("cannot read 's3://bucket/k'"),
                                HasSubstr(remedy))));
    EXPECT_THAT(server_.requests(), SizeIs(++sent));
  }
  answer_first(100, failure(404, "NoSuchKey"));
  EXPECT_THAT(client_.get("k", 0, 1, 1), FailsWith(Error::Code::not_found));
}

TEST_F(S3ClientTest, ReadsAgainWhatDoesNotHaveItsChecksum) {
  ASSERT_THAT(client_.put("k", "text"), IsOk());
  server_.instead = [](const HttpRequest&, int number) {
    return number == 2
               ? Answer(HttpResponse{
                     200, "tixt", {{"x-amz-checksum-crc32c", "AAAAAA=="}}})
               : std::nullopt;
  };
  EXPECT_THAT(client_.get("k", 0, UINT64_MAX, 100), IsOkAndHolds("text"));
  EXPECT_THAT(server_.requests(), SizeIs(3));
}

TEST_F(S3ClientTest, GoesToTheRegionOfTheBucket) {
  answer_first(1, failure(301, "PermanentRedirect",
                          {{"x-amz-bucket-region", "eu-central-1"}}));
  const S3Client client = client_of_aws();
  EXPECT_THAT(client.put("k", "text"), IsOk());
  EXPECT_EQ(server_.requests().back().url,
            "https://bucket.s3.eu-central-1.amazonaws.com/k");
  EXPECT_THAT(header_of_last("authorization"), HasSubstr("/eu-central-1/s3/"));
  // It remembers that.
  EXPECT_THAT(client.put("l", "text"), IsOk());
  EXPECT_THAT(server_.requests(), SizeIs(3));
}

TEST_F(S3ClientTest, TakesTheRegionFromARefusedSignature) {
  answer_first(1, {HttpResponse{400,
                                "<Error><Code>AuthorizationHeaderMalformed"
                                "</Code><Region>local</Region></Error>"}});
  EXPECT_THAT(client_.put("k", "text"), IsOk());
  EXPECT_THAT(header_of_last("authorization"), HasSubstr("/local/s3/"));
  EXPECT_THAT(server_.requests().back().url, StartsWith("http://127.0.0.1"));
}

TEST_F(S3ClientTest, DoesNotFollowRegionsInACircle) {
  server_.instead = [](const HttpRequest&, int number) {
    return Answer(
        failure(301, "PermanentRedirect",
                {{"x-amz-bucket-region", number % 2 == 0 ? "east" : "west"}}));
  };
  EXPECT_THAT(client_.put("k", "text"), FailsWith(Error::Code::io));
  EXPECT_THAT(server_.requests(), SizeIs(2));
}

TEST_F(S3ClientTest, SignsWithTheTimeOfTheServer) {
  answer_first(1, failure(403, "RequestTimeTooSkewed",
                          {{"date", "Mon, 31 Aug 2015 01:00:00 GMT"}}));
  EXPECT_THAT(client_.put("k", "text"), IsOk());
  EXPECT_THAT(header_of_last("x-amz-date"), StartsWith("20150831T0100"));
}

}  // namespace
}  // namespace smdebug
