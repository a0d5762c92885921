#include "net/aws_signature.h"

// The requests, credentials and signatures of AWS' published test suite for
// Signature Version 4 (aws-sig-v4-test-suite), and of the worked examples in
// its documentation.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/result_matchers_testing.h"

namespace smdebug {
namespace {

TEST(Uri, EncodesAllButUnreservedCharacters) {
  EXPECT_EQ(uri_encoded("AZaz09-._~"), "AZaz09-._~");
  EXPECT_EQ(uri_encoded("a b/c+é"), "a%20b%2Fc%2B%C3%A9");
  EXPECT_EQ(uri_encoded("/a b/c", true), "/a%20b/c");
}

TEST(Uri, JoinsTheFieldsOfAForm) {
  EXPECT_EQ(form_encoded({{"Action", "Publish"}, {"Message", "a&b=c"}}),
            "Action=Publish&Message=a%26b%3Dc");
  EXPECT_EQ(form_encoded({}), "");
}

}  // namespace

namespace {

using testing::EndsWith;
using testing::HasSubstr;

constexpr double kTime = 1440938160;  // 2015-08-30 12:36:00 UTC

const AwsCredentials kCredentials = {
    "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", ""};
const AwsScope kScope = {"us-east-1", "service"};

std::string authorization_of(HttpRequest request,
                             const AwsCredentials& credentials = kCredentials,
                             const AwsScope& scope = kScope,
                             double time = kTime) {
  EXPECT_THAT(sign_request(request, credentials, scope, time), IsOk());
  for (const HttpHeader& header : request.headers) {
    if (header.name == "authorization") return header.value;
  }
  return "";
}

HttpRequest request_to(const std::string& path,
                       std::vector<HttpHeader> headers = {}) {
  HttpRequest request;
  request.url = "https://example.amazonaws.com" + path;
  request.headers = std::move(headers);
  return request;
}

TEST(AwsSignature, SignsGetVanilla) {
  EXPECT_EQ(authorization_of(request_to("/")),
            "AWS4-HMAC-SHA256 "
            "Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
            "SignedHeaders=host;x-amz-date, "
            "Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d"
            "763fbf31");
}

TEST(AwsSignature, SortsTheQuery) {  // get-vanilla-query-order-key-case
  EXPECT_THAT(
      authorization_of(request_to("/?Param2=value2&Param1=value1")),
      EndsWith(
          "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"));
}

// get-utf8, whose path stands unencoded in the request.
TEST(AwsSignature, EncodesThePathOnceMore) {
  EXPECT_THAT(
      authorization_of(request_to("/\u1234")),
      EndsWith(
          "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85"));
}

TEST(AwsSignature, TrimsHeaders) {  // get-header-value-trim
  const std::string authorization = authorization_of(request_to(
      "/", {{"My-Header1", " value1"}, {"My-Header2", " \"a   b   c\""}}));
  EXPECT_THAT(authorization,
              HasSubstr("SignedHeaders=host;my-header1;my-header2;x-amz-date"));
  EXPECT_THAT(
      authorization,
      EndsWith(
          "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736"));
}

TEST(AwsSignature, SignsABody) {  // post-x-www-form-urlencoded
  HttpRequest request =
      request_to("/", {{"Content-Type", "application/x-www-form-urlencoded"}});
  request.method = "POST";
  request.body = "Param1=value1";
  EXPECT_THAT(
      authorization_of(request),
      EndsWith(
          "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"));
}

// "Examples of how to derive a signing key" and its ListUsers request.
TEST(AwsSignature, SignsForANamedService) {
  HttpRequest request;
  request.url =
      "https://iam.amazonaws.com/?Action=ListUsers&Version=2010-05-08";
  request.headers = {
      {"content-type", "application/x-www-form-urlencoded; charset=utf-8"}};
  EXPECT_THAT(
      authorization_of(request, kCredentials, {"us-east-1", "iam"}),
      EndsWith(
          "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7"));
}

// "Examples: Signature Calculations in AWS Signature Version 4", GET Object.
TEST(AwsSignature, SignsForS3) {
  HttpRequest request;
  request.url = "https://examplebucket.s3.amazonaws.com/test.txt";
  request.headers = {
      {"Range", "bytes=0-9"},
      {"x-amz-content-sha256",
       "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}};
  const AwsCredentials credentials = {
      "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", ""};
  EXPECT_THAT(
      authorization_of(request, credentials, {"us-east-1", "s3"},
                       1369353600),  // 2013-05-24
      EndsWith(
          "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"));
}

TEST(AwsSignature, SendsASessionTokenAndSignsIt) {
  AwsCredentials credentials = kCredentials;
  credentials.session_token = "a token";
  HttpRequest request = request_to("/");
  ASSERT_THAT(sign_request(request, credentials, kScope, kTime), IsOk());
  EXPECT_THAT(request.headers,
              testing::Contains(HttpHeader{"x-amz-security-token", "a token"}));
  EXPECT_THAT(request.headers.back().value,
              HasSubstr("SignedHeaders=host;x-amz-date;x-amz-security-token"));
}

TEST(AwsSignature, RefusesWhatIsNoUrl) {
  HttpRequest request;
  request.url = "no url";
  EXPECT_THAT(sign_request(request, kCredentials, kScope, kTime),
              FailsWith(Error::Code::invalid_argument));
}

// Computed with Python's hmac from Google's documentation of its signatures.
TEST(GoogleSignature, HasItsOwnWordsAndHeaders) {
  HttpRequest request;
  request.url = "https://storage.googleapis.com/runs/a%20b";
  request.headers = {{"x-goog-content-sha256",
                      "e3b0c44298fc1c149afbf4c8996fb924"
                      "27ae41e4649b934ca495991b7852b855"}};
  EXPECT_EQ(authorization_of(request, kCredentials,
                             {"auto", "storage", kGoogleDialect}),
            "GOOG4-HMAC-SHA256 "
            "Credential=AKIDEXAMPLE/20150830/auto/storage/goog4_request, "
            "SignedHeaders=host;x-goog-content-sha256;x-goog-date, "
            "Signature="
            "cb2c12423f3a0743b1950ddb640f7d003459e682594e25d6263ec6a2c07b30c0");
}

}  // namespace

}  // namespace smdebug
