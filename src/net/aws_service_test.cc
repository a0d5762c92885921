#include "net/aws_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/result_matchers_testing.h"
#include "net/aws_testing.h"

namespace smdebug {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

class AwsServiceTest : public AwsTest {
 protected:
  void set_keys() {
    set("AWS_ACCESS_KEY_ID", "AKID");
    set("AWS_SECRET_ACCESS_KEY", "secret");
  }

  Result<std::string> post(const ScriptedHttp& http, const char* service,
                           const char* host) const {
    AwsCredentialChain credentials(http, clock_);
    return AwsService(service, host, http, clock_, credentials)
        .post({{"content-type", "text/plain"}}, "body");
  }
};

TEST_F(AwsServiceTest, PostsASignedRequestToThePublicEndpoint) {
  set_keys();
  set("AWS_REGION", "eu-west-1");
  const ScriptedHttp http({HttpResponse{200, "<ok/>"}});
  EXPECT_THAT(post(http, "sns", "sns"), IsOkAndHolds("<ok/>"));
  const HttpRequest& request = http.requests().at(0);
  EXPECT_EQ(request.url, "https://sns.eu-west-1.amazonaws.com/");
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.body, "body");
  EXPECT_EQ(header_of(request, "content-type"), "text/plain");
  EXPECT_THAT(header_of(request, "authorization"),
              StartsWith("AWS4-HMAC-SHA256 Credential=AKID/20150830/eu-west-1/"
                         "sns/aws4_request"));
}

TEST_F(AwsServiceTest, TakesAnEndpointFromTheEnvironment) {
  set_keys();
  const ScriptedHttp http;
  set("AWS_ENDPOINT_URL", "http://127.0.0.1:4566/");
  (void)post(http, "sns", "sns");
  set("AWS_ENDPOINT_URL_SNS", "http://127.0.0.1:1");
  (void)post(http, "sns", "sns");
  (void)post(http, "sagemaker", "api.sagemaker");
  EXPECT_EQ(http.requests().at(0).url, "http://127.0.0.1:4566/");
  EXPECT_EQ(http.requests().at(1).url, "http://127.0.0.1:1/");
  EXPECT_EQ(http.requests().at(2).url, "http://127.0.0.1:4566/");
}

TEST_F(AwsServiceTest, SaysWhatTheServiceRefused) {
  set_keys();
  const ScriptedHttp http({HttpResponse{403, "<Code>Access\x1b[1mDenied"}});
  const auto answer = post(http, "sns", "sns");
  ASSERT_THAT(answer, FailsWith(Error::Code::io));
  EXPECT_THAT(
      answer.error().message,
      AllOf(HasSubstr("403"), HasSubstr("Denied"), Not(HasSubstr("\x1b"))));
}

TEST_F(AwsServiceTest, SaysThatThereAreNoCredentials) {
  set("AWS_EC2_METADATA_DISABLED", "true");
  const ScriptedHttp http;
  EXPECT_THAT(post(http, "sns", "sns"),
              FailsWith(Error::Code::invalid_config,
                        AllOf(HasSubstr("no AWS credentials: set "
                                        "AWS_ACCESS_KEY_ID"),
                              HasSubstr("AWS_PROFILE"))));
  EXPECT_TRUE(http.requests().empty());
}

TEST_F(AwsServiceTest, SaysWhichSourceOfCredentialsFailed) {
  set("AWS_PROFILE", "none");
  const ScriptedHttp http;
  EXPECT_THAT(post(http, "sns", "sns"),
              FailsWith(Error::Code::invalid_config, HasSubstr("'none'")));
  EXPECT_TRUE(http.requests().empty());
}

TEST_F(AwsServiceTest, UsesTheProfileForCredentialsAndRegion) {
  write_config(
      "[profile p]\nregion = eu-north-1\naws_access_key_id = FILE\n"
      "aws_secret_access_key = s\n");
  set("AWS_PROFILE", "p");
  const ScriptedHttp http({HttpResponse{200, ""}});
  EXPECT_THAT(post(http, "sns", "sns"), IsOk());
  EXPECT_EQ(http.requests().at(0).url, "https://sns.eu-north-1.amazonaws.com/");
  EXPECT_THAT(header_of(http.requests().at(0), "authorization"),
              HasSubstr("Credential=FILE/20150830/eu-north-1/sns/"));
}

TEST_F(AwsServiceTest, KeepsCredentialsForLaterRequests) {
  set("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/x");
  const ScriptedHttp http(
      {key_response("ECS"), HttpResponse{200, "1"}, HttpResponse{200, "2"}});
  AwsCredentialChain credentials(http, clock_);
  const AwsService sns("sns", "sns", http, clock_, credentials);
  EXPECT_THAT(sns.post({}, ""), IsOkAndHolds("1"));
  EXPECT_THAT(sns.post({}, ""), IsOkAndHolds("2"));
  EXPECT_THAT(http.requests(), SizeIs(3));
  EXPECT_EQ(header_of(http.requests()[2], "x-amz-security-token"), "T");
}

}  // namespace

}  // namespace smdebug
