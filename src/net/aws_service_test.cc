#include "net/aws_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/result_matchers_testing.h"
#include "net/scripted_http_testing.h"
#include "tests/support/fake_clock_testing.h"

namespace smdebug {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Field;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// Nothing of the machine's own settings is seen.
class AwsServiceTest : public testing::Test {
 protected:
  ScopedVariable key_{"AWS_ACCESS_KEY_ID", nullptr};
  ScopedVariable secret_{"AWS_SECRET_ACCESS_KEY", nullptr};
  ScopedVariable token_{"AWS_SESSION_TOKEN", nullptr};
  ScopedVariable relative_{"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", nullptr};
  ScopedVariable full_{"AWS_CONTAINER_CREDENTIALS_FULL_URI", nullptr};
  ScopedVariable container_token_{"AWS_CONTAINER_AUTHORIZATION_TOKEN", nullptr};
  ScopedVariable region_{"AWS_REGION", nullptr};
  ScopedVariable default_region_{"AWS_DEFAULT_REGION", nullptr};
  ScopedVariable endpoint_{"AWS_ENDPOINT_URL", nullptr};
  ScopedVariable sns_endpoint_{"AWS_ENDPOINT_URL_SNS", nullptr};
  FakeClock clock_{1440938160};
};

TEST_F(AwsServiceTest, PostsASignedRequestToThePublicEndpoint) {
  const ScopedVariable key("AWS_ACCESS_KEY_ID", "AKID");
  const ScopedVariable secret("AWS_SECRET_ACCESS_KEY", "secret");
  const ScopedVariable region("AWS_REGION", "eu-west-1");
  const ScriptedHttp http({HttpResponse{200, "<ok/>"}});
  const AwsService sns("sns", "sns", http, clock_);
  EXPECT_THAT(sns.post({{"content-type", "text/plain"}}, "body"),
              IsOkAndHolds("<ok/>"));
  const HttpRequest& request = http.requests().at(0);
  EXPECT_EQ(request.url, "https://sns.eu-west-1.amazonaws.com/");
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.body, "body");
  EXPECT_THAT(
      request.headers,
      Contains(Field(&HttpHeader::value,
                     StartsWith("AWS4-HMAC-SHA256 Credential=AKID/20150830/"
                                "eu-west-1/sns/aws4_request"))));
}

TEST_F(AwsServiceTest, TakesAnEndpointFromTheEnvironment) {
  const ScopedVariable key("AWS_ACCESS_KEY_ID", "AKID");
  const ScopedVariable secret("AWS_SECRET_ACCESS_KEY", "secret");
  const ScriptedHttp http;
  const ScopedVariable all("AWS_ENDPOINT_URL", "http://127.0.0.1:4566/");
  (void)AwsService("sns", "sns", http, clock_).post({}, "");
  const ScopedVariable own("AWS_ENDPOINT_URL_SNS", "http://127.0.0.1:1");
  (void)AwsService("sns", "sns", http, clock_).post({}, "");
  (void)AwsService("sagemaker", "api.sagemaker", http, clock_).post({}, "");
  EXPECT_EQ(http.requests().at(0).url, "http://127.0.0.1:4566/");
  EXPECT_EQ(http.requests().at(1).url, "http://127.0.0.1:1/");
  EXPECT_EQ(http.requests().at(2).url, "http://127.0.0.1:4566/");
}

TEST_F(AwsServiceTest, SaysWhatTheServiceRefused) {
  const ScopedVariable key("AWS_ACCESS_KEY_ID", "AKID");
  const ScopedVariable secret("AWS_SECRET_ACCESS_KEY", "secret");
  const ScriptedHttp http({HttpResponse{403, "<Code>Access\x1b[1mDenied"}});
  const auto answer = AwsService("sns", "sns", http, clock_).post({}, "");
  ASSERT_THAT(answer, FailsWith(Error::Code::io));
  EXPECT_THAT(
      answer.error().message,
      AllOf(HasSubstr("403"), HasSubstr("Denied"), Not(HasSubstr("\x1b"))));
}

TEST_F(AwsServiceTest, SaysThatThereAreNoCredentials) {
  const ScriptedHttp http;
  EXPECT_FALSE(has_aws_credentials());
  EXPECT_THAT(
      AwsService("sns", "sns", http, clock_).post({}, ""),
      FailsWith(Error::Code::invalid_config, HasSubstr("AWS_ACCESS_KEY_ID")));
  EXPECT_TRUE(http.requests().empty());
}

TEST_F(AwsServiceTest, AsksTheContainerForCredentials) {
  const ScopedVariable relative("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
                                "/v2/credentials/1");
  EXPECT_TRUE(has_aws_credentials());
  const ScriptedHttp http(
      {HttpResponse{200, R"({"AccessKeyId": "A", "SecretAccessKey": "S",
                             "Token": "T", "Expiration": "later"})"},
       HttpResponse{500, ""}});
  const auto found = find_aws_credentials(http);
  ASSERT_THAT(found, IsOk());
  ASSERT_TRUE(found->has_value());
  EXPECT_EQ((*found)->access_key_id, "A");
  EXPECT_EQ((*found)->secret_access_key, "S");
  EXPECT_EQ((*found)->session_token, "T");
  EXPECT_EQ(http.requests().at(0).url, "http://169.254.170.2/v2/credentials/1");
  EXPECT_THAT(find_aws_credentials(http), FailsWith(Error::Code::io));
}

}  // namespace

}  // namespace smdebug
