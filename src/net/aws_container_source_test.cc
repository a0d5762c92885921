#include <gmock/gmock.h>

#include "base/result_matchers_testing.h"
#include "net/aws_testing.h"

namespace smdebug {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

class AwsContainerSourceTest : public AwsTest {
 protected:
  AwsFinding find(const ScriptedHttp& http) const {
    return find_container_credentials({http, clock_});
  }
};

TEST_F(AwsContainerSourceTest, IsTheServerOfTheRelativeAddress) {
  set("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/credentials/1");
  set("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://localhost/other");
  EXPECT_TRUE(has_container_credentials());
  const ScriptedHttp http({key_response("A")});
  const auto found = find(http);
  ASSERT_THAT(found, IsOk());
  ASSERT_TRUE(found->has_value());
  EXPECT_EQ((*found)->credentials.access_key_id, "A");
  EXPECT_EQ((*found)->credentials.secret_access_key, "S");
  EXPECT_EQ((*found)->credentials.session_token, "T");
  EXPECT_EQ((*found)->expires, kAwsNow + kHour);
  const HttpRequest& request = http.requests().at(0);
  EXPECT_EQ(request.url, "http://169.254.170.2/v2/credentials/1");
  EXPECT_EQ(request.method, "GET");
  EXPECT_FALSE(request.may_use_proxy);
  EXPECT_EQ(header_of(request, "Accept"), "application/json");
  EXPECT_EQ(header_of(request, "Authorization"), "");
}

TEST_F(AwsContainerSourceTest, IsNotThereWithoutItsVariables) {
  const ScriptedHttp http;
  EXPECT_FALSE(has_container_credentials());
  EXPECT_THAT(find(http), IsOkAndHolds(testing::Eq(std::nullopt)));
  EXPECT_TRUE(http.requests().empty());
}

TEST_F(AwsContainerSourceTest, IsOnThisMachineOrUsesHttps) {
  for (const char* const url :
       {"http://127.0.0.1:9/x", "http://127.1.2.3/x", "http://localhost:80/x",
        "http://169.254.170.23/v1/credentials", "http://[fd00:ec2::23]:80/x",
        "http://[::1]/x", "https://example.com/x"}) {
    set("AWS_CONTAINER_CREDENTIALS_FULL_URI", url);
    const ScriptedHttp http({key_response("A")});
    EXPECT_THAT(find(http), IsOk()) << url;
    EXPECT_EQ(http.requests().at(0).url, url);
  }
  for (const char* const url :
       {"http://example.com/x", "http://10.0.0.1/x", "http://127.0.0.1.a.de/x",
        "http://127.0.0.1@a.de/x", "ftp://localhost/x", "nothing"}) {
    set("AWS_CONTAINER_CREDENTIALS_FULL_URI", url);
    const ScriptedHttp http;
    EXPECT_THAT(find(http),
                FailsWith(Error::Code::invalid_config,
                          HasSubstr("AWS_CONTAINER_CREDENTIALS_FULL_URI")))
        << url;
    EXPECT_TRUE(http.requests().empty());
  }
}

TEST_F(AwsContainerSourceTest, CannotLeadElsewhereByItsPath) {
  set("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "@example.com/x");
  const ScriptedHttp http;
  EXPECT_THAT(find(http),
              FailsWith(Error::Code::invalid_config,
                        HasSubstr("RELATIVE_URI names http://example.com/")));
  EXPECT_TRUE(http.requests().empty());
}

TEST_F(AwsContainerSourceTest, IsGivenTheTokenOfTheFileOrTheVariable) {
  set("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://169.254.170.23/x");
  set("AWS_CONTAINER_AUTHORIZATION_TOKEN", "of-variable");
  const ScriptedHttp http({key_response("A"), key_response("A")});
  EXPECT_THAT(find(http), IsOk());
  home_.write("token", "of-file\n");
  set("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", home_.path("token").c_str());
  EXPECT_THAT(find(http), IsOk());
  EXPECT_EQ(header_of(http.requests().at(0), "Authorization"), "of-variable");
  EXPECT_EQ(header_of(http.requests().at(1), "Authorization"), "of-file");
}

TEST_F(AwsContainerSourceTest, NamesATokenThatCannotBeSent) {
  set("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://169.254.170.23/x");
  const ScriptedHttp http;
  home_.write("token", "secret\r\nX-Other: 1");
  set("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", home_.path("token").c_str());
  EXPECT_THAT(find(http), FailsWith(Error::Code::invalid_config,
                                    AllOf(HasSubstr("should be one line"),
                                          Not(HasSubstr("secret")))));
  set("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", home_.path("none").c_str());
  EXPECT_THAT(find(http), FailsWith(Error::Code::not_found, HasSubstr("none")));
  EXPECT_TRUE(http.requests().empty());
}

TEST_F(AwsContainerSourceTest, IsAskedThreeTimes) {
  set("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/x");
  const Error none = {Error::Code::unavailable, "nobody answers"};
  const ScriptedHttp http({HttpResponse{500, ""}, none, key_response("A")});
  EXPECT_THAT(find(http), IsOk());
  EXPECT_EQ(clock_.monotonic(), std::chrono::seconds(2));
  const ScriptedHttp broken({none, none, HttpResponse{500, "no role"}});
  EXPECT_THAT(find(broken),
              FailsWith(Error::Code::io,
                        "the container's credentials: http://169.254.170.2/… "
                        "answered 500: no role"));
  EXPECT_THAT(broken.requests(), SizeIs(3));
}

TEST_F(AwsContainerSourceTest, DoesNotQuoteAnAnswerThatIsWrong) {
  set("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/x");
  for (const char* const answer :
       {"secret", R"({"AccessKeyId": "A", "SecretAccessKey": "secret)",
        R"({"AccessKeyId": "secret"})", R"(["secret"])",
        R"({"AccessKeyId": "A", "SecretAccessKey": "secret",
            "Expiration": "later"})"}) {
    const ScriptedHttp http({HttpResponse{200, answer}});
    EXPECT_THAT(find(http),
                FailsWith(Error::Code::corrupt,
                          AllOf(HasSubstr("the container's credentials: "),
                                Not(HasSubstr("secret")))))
        << answer;
  }
}

}  // namespace
}  // namespace smdebug
