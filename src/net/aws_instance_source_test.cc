#include <gmock/gmock.h>

#include "base/result_matchers_testing.h"
#include "net/aws_testing.h"

namespace smdebug {
namespace {

using testing::ElementsAre;
using testing::Eq;
using testing::HasSubstr;
using testing::SizeIs;

const HttpResponse kToken = {200, "token\n"};
const HttpResponse kRole = {200, "my-role"};

class AwsInstanceSourceTest : public AwsTest {
 protected:
  AwsFinding find(const ScriptedHttp& http) const {
    return find_instance_credentials({http, clock_});
  }
};

TEST_F(AwsInstanceSourceTest, IsAskedForATokenThenTheRoleThenItsCredentials) {
  const ScriptedHttp http({kToken, kRole, key_response("A")});
  const auto found = find(http);
  ASSERT_THAT(found, IsOk());
  ASSERT_TRUE(found->has_value());
  EXPECT_EQ((*found)->credentials.access_key_id, "A");
  EXPECT_EQ((*found)->credentials.session_token, "T");
  EXPECT_EQ((*found)->expires, kAwsNow + kHour);
  std::vector<std::string> lines;
  for (const HttpRequest& request : http.requests()) {
    lines.push_back(request.method + " " + request.url);
    EXPECT_EQ(request.timeout, std::chrono::seconds(1));
    EXPECT_FALSE(request.may_use_proxy);
  }
  const std::string service = "http://169.254.169.254/latest/";
  const std::string roles =
      "GET " + service + "meta-data/iam/security-credentials/";
  EXPECT_THAT(lines, ElementsAre("PUT " + service + "api/token", roles,
                                 roles + "my-role"));
  EXPECT_EQ(
      header_of(http.requests()[0], "x-aws-ec2-metadata-token-ttl-seconds"),
      "21600");
  EXPECT_EQ(header_of(http.requests()[1], "x-aws-ec2-metadata-token"), "token");
  EXPECT_EQ(header_of(http.requests()[2], "x-aws-ec2-metadata-token"), "token");
}

TEST_F(AwsInstanceSourceTest, IsNotThereIfNobodyAnswersTwice) {
  const ScriptedHttp http({kNobody, kNobody, kToken});
  EXPECT_THAT(find(http), IsOkAndHolds(Eq(std::nullopt)));
  EXPECT_THAT(http.requests(), SizeIs(2));
}

// The first version of the service, which has no tokens, is not used.
TEST_F(AwsInstanceSourceTest, IsNotThereWithoutATokenOrARole) {
  for (const int status : {400, 403, 404, 405}) {
    const ScriptedHttp http({HttpResponse{status, ""}});
    EXPECT_THAT(find(http), IsOkAndHolds(Eq(std::nullopt)));
    EXPECT_THAT(http.requests(), SizeIs(1));
  }
  for (const HttpResponse& none : {HttpResponse{404, ""}, {200, "\n"}}) {
    const ScriptedHttp http({kToken, none});
    EXPECT_THAT(find(http), IsOkAndHolds(Eq(std::nullopt)));
    EXPECT_THAT(http.requests(), SizeIs(2));
  }
}

TEST_F(AwsInstanceSourceTest, IsNotAskedIfItIsDisabled) {
  set("AWS_EC2_METADATA_DISABLED", "True");
  const ScriptedHttp http({kToken, kRole, key_response("A")});
  EXPECT_THAT(find(http), IsOkAndHolds(Eq(std::nullopt)));
  EXPECT_TRUE(http.requests().empty());
  set("AWS_EC2_METADATA_DISABLED", "false");
  EXPECT_THAT(find(http), IsOkAndHolds(testing::Ne(std::nullopt)));
}

TEST_F(AwsInstanceSourceTest, IsAtTheAddressOfTheEnvironment) {
  const ScriptedHttp http;
  set("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE", "IPv6");
  EXPECT_THAT(find(http), IsOk());
  set("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://127.0.0.1:1338/");
  EXPECT_THAT(find(http), IsOk());
  EXPECT_EQ(http.requests().at(0).url,
            "http://[fd00:ec2::254]/latest/api/token");
  EXPECT_EQ(http.requests().at(2).url,
            "http://127.0.0.1:1338/latest/api/token");
}

TEST_F(AwsInstanceSourceTest, IsAskedAgainAfterATemporaryFailure) {
  const ScriptedHttp http({HttpResponse{503, ""}, kToken, kNobody, kRole,
                           HttpResponse{500, ""}, key_response("A")});
  EXPECT_THAT(find(http), IsOkAndHolds(testing::Ne(std::nullopt)));
}

TEST_F(AwsInstanceSourceTest, NamesTheRoleWhoseCredentialsItRefuses) {
  const ScriptedHttp http(
      {kToken, kRole, HttpResponse{500, "x"}, HttpResponse{500, "broken"}});
  EXPECT_THAT(find(http),
              FailsWith(Error::Code::io,
                        "the role of this instance: 'my-role': "
                        "http://169.254.169.254/… answered 500: broken"));
  const ScriptedHttp gone({kToken, kRole, HttpResponse{404, ""}});
  EXPECT_THAT(find(gone), FailsWith(Error::Code::not_found,
                                    HasSubstr("'my-role': it has no")));
  const ScriptedHttp failed(
      {kToken, kRole,
       HttpResponse{200, R"({"Code": "AssumeRoleUnauthorizedAccess",
                             "Message": "EC2 cannot assume the role"})"}});
  EXPECT_THAT(
      find(failed),
      FailsWith(Error::Code::unavailable,
                HasSubstr("'my-role': the metadata service reports "
                          "'AssumeRoleUnauthorizedAccess': EC2 cannot")));
  const ScriptedHttp wrong({kToken, kRole, HttpResponse{200, "<secret>"}});
  EXPECT_THAT(find(wrong), FailsWith(Error::Code::corrupt,
                                     testing::Not(HasSubstr("secret"))));
}

// During an outage of AWS.
TEST_F(AwsInstanceSourceTest, MayReturnCredentialsThatHaveExpired) {
  const ScriptedHttp http(
      {kToken, kRole, key_response("A", "2015-08-30T12:00:00Z")});
  const auto found = find(http);
  ASSERT_THAT(found, IsOk());
  ASSERT_TRUE(found->has_value());
  EXPECT_GE(*(*found)->expires, kAwsNow + 15 * 60);
  EXPECT_LE(*(*found)->expires, kAwsNow + 30 * 60);
}

}  // namespace
}  // namespace smdebug
