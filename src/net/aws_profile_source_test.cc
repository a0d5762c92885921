#include <gmock/gmock.h>

#include "smdebug/base/try.h"

#include "base/result_matchers_testing.h"
#include "net/aws_testing.h"

namespace smdebug {
namespace {

using testing::AllOf;
using testing::Eq;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

constexpr const char* kBase =
    "[base]\naws_access_key_id = BASE\naws_secret_access_key = secret\n";

class AwsProfileSourceTest : public AwsTest {
 protected:
  AwsFinding find(const ScriptedHttp& http) const {
    SMD_TRY(const AwsSharedFiles files, AwsSharedFiles::read());
    SMD_TRY(const AwsProfile profile, files.selected_profile());
    return find_profile_credentials({http, clock_}, files, profile);
  }

  // The key of the credentials; "" for none.
  Result<std::string> key(const ScriptedHttp& http = ScriptedHttp()) const {
    SMD_TRY(const auto found, find(http));
    return found ? found->credentials.access_key_id : "";
  }

  bool has_source() const {
    const auto files = AwsSharedFiles::read();
    if (!files) return false;
    const auto profile = files->selected_profile();
    return profile && has_profile_credentials(*profile);
  }
};

TEST_F(AwsProfileSourceTest, HasKeysInEitherFile) {
  EXPECT_FALSE(has_source());
  write_config("[default]\naws_access_key_id = A\naws_secret_access_key = s\n");
  EXPECT_TRUE(has_source());
  EXPECT_THAT(key(), IsOkAndHolds("A"));
  write_credentials(
      "[default]\naws_access_key_id = B\naws_secret_access_key = t\n"
      "aws_session_token = u\n");
  const auto found = find(ScriptedHttp());
  ASSERT_THAT(found, IsOk());
  ASSERT_TRUE(found->has_value());
  EXPECT_EQ((*found)->credentials.access_key_id, "B");
  EXPECT_EQ((*found)->credentials.secret_access_key, "t");
  EXPECT_EQ((*found)->credentials.session_token, "u");
  EXPECT_EQ((*found)->expires, std::nullopt);
}

TEST_F(AwsProfileSourceTest, MayHaveATokenUnderItsOldName) {
  write_credentials(
      "[default]\naws_access_key_id = A\naws_secret_access_key = s\n"
      "aws_security_token = old\n");
  const auto found = find(ScriptedHttp());
  ASSERT_THAT(found, IsOk());
  EXPECT_EQ((*found)->credentials.session_token, "old");
}

TEST_F(AwsProfileSourceTest, MayHaveNothing) {
  write_config("[default]\nregion = eu-west-1\n");
  EXPECT_THAT(key(), IsOkAndHolds(""));
  EXPECT_FALSE(has_source());
}

TEST_F(AwsProfileSourceTest, NamesTheFileOfAKeyWithoutASecret) {
  write_credentials("[default]\naws_access_key_id = A\n");
  write_config("[default]\naws_secret_access_key = s\n");
  EXPECT_THAT(key(), FailsWith(Error::Code::invalid_config,
                               "profile 'default' in '~/.aws/credentials' has "
                               "aws_access_key_id, but no "
                               "aws_secret_access_key"));
}

// Each source precedes those below it. What a source fails with names it.
TEST_F(AwsProfileSourceTest, HasTheOrderOfBotocore) {
  const std::pair<std::string, std::string> kSources[] = {
      {"role_arn = r\n", "has role_arn, but neither source_profile nor"},
      {"web_identity_token_file = /no/token\n", "no role_arn"},
      {"sso_account_id = 1\n", "sso_start_url is missing"},
      {"aws_access_key_id = A\n", "'~/.aws/credentials' has aws_access_key_id"},
      {"login_session = l\n", "uses 'aws login'"},
      {"credential_process = 'x\n", "credential_process: "},
      {"aws_access_key_id = A\n", "'~/.aws/config' has aws_access_key_id"}};
  for (std::size_t first = 0; first < std::size(kSources); ++first) {
    std::string config = "[default]\n", credentials = "[default]\n";
    for (std::size_t i = first; i < std::size(kSources); ++i) {
      // `role_arn` belongs to the web identity if there is one.
      if (first == 0 && i == 1) continue;
      (i == 3 ? credentials : config) += kSources[i].first;
    }
    write_config(config);
    write_credentials(credentials);
    EXPECT_TRUE(has_source()) << config;
    const auto failed = key();
    ASSERT_FALSE(failed) << config;
    EXPECT_THAT(failed.error().message, HasSubstr(kSources[first].second));
  }
}

TEST_F(AwsProfileSourceTest, AssumesARoleWithTheKeysOfAnotherProfile) {
  write_credentials(kBase);
  write_config(
      "[profile role]\nrole_arn = arn:aws:iam::1:role/r\n"
      "source_profile = base\nregion = eu-west-1\n");
  set("AWS_PROFILE", "role");
  EXPECT_TRUE(has_source());
  const ScriptedHttp http({role_response("ROLE")});
  const auto found = find(http);
  ASSERT_THAT(found, IsOk());
  ASSERT_TRUE(found->has_value());
  EXPECT_EQ((*found)->credentials.access_key_id, "ROLE");
  EXPECT_EQ((*found)->credentials.secret_access_key, "secret-of-role");
  EXPECT_EQ((*found)->credentials.session_token, "token-of-role");
  EXPECT_EQ((*found)->expires, kAwsNow + kHour);
  const HttpRequest& request = http.requests().at(0);
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.url, "https://sts.eu-west-1.amazonaws.com/");
  EXPECT_EQ(request.body,
            "Action=AssumeRole&Version=2011-06-15&"
            "RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fr&"
            "RoleSessionName=smdebug-1440938160");
  EXPECT_THAT(header_of(request, "authorization"),
              StartsWith("AWS4-HMAC-SHA256 Credential=BASE/20150830/eu-west-1/"
                         "sts/aws4_request"));
}

TEST_F(AwsProfileSourceTest, AssumesARoleWithItsParameters) {
  write_credentials(kBase);
  const std::string config =
      "[default]\nrole_arn = r\nsource_profile = base\n"
      "role_session_name = me\nexternal_id = a b\n";
  const ScriptedHttp http({role_response("A"), role_response("A")});
  write_config(config + "duration_seconds = 900\n");
  EXPECT_THAT(find(http), IsOk());
  write_config(config + "duration_seconds = long\n");
  EXPECT_THAT(find(http), IsOk());
  const std::string body =
      "Action=AssumeRole&Version=2011-06-15&RoleArn=r&RoleSessionName=me&"
      "ExternalId=a%20b";
  EXPECT_EQ(http.requests().at(0).body, body + "&DurationSeconds=900");
  EXPECT_EQ(http.requests().at(1).body, body);
}

TEST_F(AwsProfileSourceTest, AssumesARoleWithAnotherRole) {
  write_credentials(kBase);
  write_config(
      "[default]\nrole_arn = one\nsource_profile = two\n"
      "[profile two]\nrole_arn = two\nsource_profile = base\n");
  const ScriptedHttp http({role_response("TWO"), role_response("ONE")});
  EXPECT_THAT(key(http), IsOkAndHolds("ONE"));
  EXPECT_THAT(http.requests().at(0).body, HasSubstr("RoleArn=two&"));
  EXPECT_THAT(header_of(http.requests().at(0), "authorization"),
              HasSubstr("Credential=BASE/"));
  EXPECT_THAT(http.requests().at(1).body, HasSubstr("RoleArn=one&"));
  EXPECT_THAT(header_of(http.requests().at(1), "authorization"),
              HasSubstr("Credential=TWO/"));
  EXPECT_EQ(header_of(http.requests().at(1), "x-amz-security-token"),
            "token-of-role");
}

// The role of the source profile is for other programs.
TEST_F(AwsProfileSourceTest, PrefersTheKeysOfASourceProfileToItsRole) {
  write_config("[default]\nrole_arn = one\nsource_profile = base\n" +
               std::string(kBase).insert(1, "profile ") +
               "role_arn = two\nsource_profile = none\n");
  const ScriptedHttp http({role_response("ONE")});
  EXPECT_THAT(key(http), IsOkAndHolds("ONE"));
  EXPECT_THAT(http.requests(), SizeIs(1));
}

TEST_F(AwsProfileSourceTest, MayBeTheSourceOfItsOwnRole) {
  write_credentials(
      "[default]\naws_access_key_id = A\naws_secret_access_key = s\n");
  write_config("[default]\nrole_arn = one\nsource_profile = default\n");
  const ScriptedHttp http({role_response("ONE")});
  EXPECT_THAT(key(http), IsOkAndHolds("ONE"));
  EXPECT_THAT(header_of(http.requests().at(0), "authorization"),
              HasSubstr("Credential=A/"));
}

TEST_F(AwsProfileSourceTest, MayBeTheSourceOfItsOwnRoleOnlyWithKeys) {
  write_config("[default]\nrole_arn = one\nsource_profile = default\n");
  EXPECT_THAT(key(), FailsWith(Error::Code::invalid_config,
                               HasSubstr("names the source profile 'default', "
                                         "which needs the credentials")));
}

TEST_F(AwsProfileSourceTest, NamesTheProfilesThatNeedEachOther) {
  write_config(
      "[default]\nrole_arn = r\nsource_profile = b\n"
      "[profile b]\nrole_arn = r\nsource_profile = c\n"
      "[profile c]\nrole_arn = r\nsource_profile = b\n");
  const ScriptedHttp http;
  EXPECT_THAT(
      key(http),
      FailsWith(Error::Code::invalid_config,
                "profile 'c' in '~/.aws/config' names the source profile 'b', "
                "which needs the credentials of this profile: one of them "
                "should have credentials of its own"));
  EXPECT_TRUE(http.requests().empty());
}

TEST_F(AwsProfileSourceTest, NamesASourceProfileThatIsMissing) {
  write_config("[profile x]\nrole_arn = r\nsource_profile = y\n");
  set("AWS_PROFILE", "x");
  EXPECT_THAT(key(),
              FailsWith(Error::Code::invalid_config,
                        "profile 'x' in '~/.aws/config' names the source "
                        "profile 'y', which is in neither '~/.aws/credentials' "
                        "nor '~/.aws/config'"));
}

TEST_F(AwsProfileSourceTest, NamesASourceProfileWithoutCredentials) {
  write_config(
      "[default]\nrole_arn = r\nsource_profile = y\n"
      "[profile y]\nregion = eu-west-1\n");
  // The variables are not meant for the source.
  set("AWS_WEB_IDENTITY_TOKEN_FILE", "/no/token");
  EXPECT_THAT(key(), FailsWith(Error::Code::invalid_config,
                               HasSubstr("'y', which has no credentials")));
}

TEST_F(AwsProfileSourceTest, NamesARoleWithoutASourceOrWithTwo) {
  write_config("[default]\nrole_arn = r\n");
  EXPECT_THAT(key(), FailsWith(Error::Code::invalid_config,
                               "profile 'default' in '~/.aws/config' has "
                               "role_arn, but neither source_profile nor "
                               "credential_source"));
  write_config(
      "[default]\nrole_arn = r\nsource_profile = a\n"
      "credential_source = Environment\n");
  EXPECT_THAT(key(), FailsWith(Error::Code::invalid_config,
                               HasSubstr("has both source_profile and "
                                         "credential_source")));
}

TEST_F(AwsProfileSourceTest, AssumesARoleWithTheKeysOfTheEnvironment) {
  write_config("[default]\nrole_arn = r\ncredential_source = Environment\n");
  EXPECT_THAT(key(), FailsWith(Error::Code::invalid_config,
                               HasSubstr("names the credential_source "
                                         "Environment, which has no")));
  set("AWS_ACCESS_KEY_ID", "ENV");
  EXPECT_THAT(key(), FailsWith(Error::Code::invalid_config,
                               HasSubstr("AWS_SECRET_ACCESS_KEY is not")));
  set("AWS_SECRET_ACCESS_KEY", "secret");
  const ScriptedHttp http({role_response("ROLE")});
  EXPECT_THAT(key(http), IsOkAndHolds("ROLE"));
  EXPECT_THAT(header_of(http.requests().at(0), "authorization"),
              HasSubstr("Credential=ENV/"));
}

TEST_F(AwsProfileSourceTest, AssumesARoleWithTheCredentialsOfTheMachine) {
  write_config("[default]\nrole_arn = r\ncredential_source = EcsContainer\n");
  set("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/x");
  const ScriptedHttp container({key_response("ECS"), role_response("ROLE")});
  EXPECT_THAT(key(container), IsOkAndHolds("ROLE"));
  EXPECT_THAT(header_of(container.requests().at(1), "authorization"),
              HasSubstr("Credential=ECS/"));
  write_config(
      "[default]\nrole_arn = r\ncredential_source = Ec2InstanceMetadata\n");
  const ScriptedHttp instance({HttpResponse{200, "token"},
                               HttpResponse{200, "role"}, key_response("EC2"),
                               role_response("ROLE")});
  EXPECT_THAT(key(instance), IsOkAndHolds("ROLE"));
  EXPECT_THAT(header_of(instance.requests().at(3), "authorization"),
              HasSubstr("Credential=EC2/"));
}

TEST_F(AwsProfileSourceTest, NamesACredentialSourceThatDoesNotExist) {
  write_config("[default]\nrole_arn = r\ncredential_source = environment\n");
  EXPECT_THAT(key(), FailsWith(Error::Code::invalid_config,
                               HasSubstr("'environment': it should be "
                                         "Environment, EcsContainer or")));
}

TEST_F(AwsProfileSourceTest, SaysWhichRoleWasRefused) {
  write_credentials(kBase);
  write_config("[default]\nrole_arn = arn:r\nsource_profile = base\n");
  const ScriptedHttp http({HttpResponse{403, "<Code>AccessDenied</Code>"}});
  EXPECT_THAT(key(http),
              FailsWith(Error::Code::io,
                        "profile 'default' in '~/.aws/config': role 'arn:r': "
                        "https://sts.us-east-1.amazonaws.com answered 403: "
                        "<Code>AccessDenied</Code>"));
  EXPECT_THAT(key(ScriptedHttp()),
              FailsWith(Error::Code::unavailable, HasSubstr("nobody answers")));
}

TEST_F(AwsProfileSourceTest, DoesNotQuoteAnAnswerThatIsWrong) {
  write_credentials(kBase);
  write_config("[default]\nrole_arn = r\nsource_profile = base\n");
  for (const HttpResponse& answer :
       {HttpResponse{200, "secret"}, role_response("A", "secret"),
        HttpResponse{200, "<a><AccessKeyId>secret</AccessKeyId></a>"}}) {
    const ScriptedHttp http({answer});
    EXPECT_THAT(key(http), FailsWith(Error::Code::corrupt,
                                     AllOf(HasSubstr("role 'r': the response"),
                                           Not(HasSubstr("secret")))));
  }
}

TEST_F(AwsProfileSourceTest, SaysWhatItDoesNotSupport) {
  write_credentials(kBase);
  write_config(
      "[default]\nrole_arn = r\nsource_profile = base\nmfa_serial = arn:m\n");
  EXPECT_THAT(key(), FailsWith(Error::Code::unsupported,
                               HasSubstr("profile 'default' in "
                                         "'~/.aws/config' needs a code")));
  write_config("[default]\nlogin_session = l\n");
  EXPECT_THAT(key(), FailsWith(Error::Code::unsupported,
                               HasSubstr("export-credentials --profile "
                                         "default'")));
}

TEST_F(AwsProfileSourceTest, AssumesARoleForTheTokenInAFile) {
  home_.write("token", "web token\n");
  write_config("[default]\nrole_arn = arn:r\nregion = cn-north-1\n" +
               ("web_identity_token_file = " + home_.path("token")) +
               "\nrole_session_name = me\nsource_profile = ignored\n");
  const ScriptedHttp http({role_response("WEB")});
  EXPECT_THAT(key(http), IsOkAndHolds("WEB"));
  const HttpRequest& request = http.requests().at(0);
  EXPECT_EQ(request.url, "https://sts.cn-north-1.amazonaws.com.cn/");
  EXPECT_EQ(request.body,
            "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&"
            "RoleArn=arn%3Ar&RoleSessionName=me&WebIdentityToken=web%20token");
  EXPECT_EQ(header_of(request, "authorization"), "");
}

TEST_F(AwsProfileSourceTest, AssumesTheRoleOfTheVariablesForATokenInAFile) {
  home_.write("token", "t");
  set("AWS_WEB_IDENTITY_TOKEN_FILE", home_.path("token").c_str());
  EXPECT_TRUE(has_source());
  EXPECT_THAT(key(), FailsWith(Error::Code::invalid_config,
                               "AWS_WEB_IDENTITY_TOKEN_FILE is set, but "
                               "AWS_ROLE_ARN is not"));
  set("AWS_ROLE_ARN", "arn:r");
  set("AWS_ROLE_SESSION_NAME", "pod");
  set("AWS_ENDPOINT_URL_STS", "http://127.0.0.1:9/");
  const ScriptedHttp http({role_response("WEB")});
  EXPECT_THAT(key(http), IsOkAndHolds("WEB"));
  EXPECT_EQ(http.requests().at(0).url, "http://127.0.0.1:9/");
  EXPECT_THAT(http.requests().at(0).body,
              HasSubstr("RoleArn=arn%3Ar&RoleSessionName=pod&"));
}

TEST_F(AwsProfileSourceTest, PrefersItsRoleToTheTokenOfTheVariables) {
  set("AWS_WEB_IDENTITY_TOKEN_FILE", "/no/token");
  write_credentials(kBase);
  write_config("[default]\nrole_arn = r\nsource_profile = base\n");
  EXPECT_THAT(key(ScriptedHttp({role_response("A")})), IsOkAndHolds("A"));
}

TEST_F(AwsProfileSourceTest, NamesTheTokenFileThatIsMissing) {
  write_config(
      "[default]\nrole_arn = r\nweb_identity_token_file = /no/token\n");
  EXPECT_THAT(key(), FailsWith(Error::Code::not_found,
                               HasSubstr("profile 'default' in "
                                         "'~/.aws/config': '/no/token' "
                                         "cannot be read")));
  set("AWS_WEB_IDENTITY_TOKEN_FILE", "/other/token");
  EXPECT_THAT(key(), FailsWith(Error::Code::not_found,
                               HasSubstr("AWS_WEB_IDENTITY_TOKEN_FILE: "
                                         "'/other/token' cannot be read")));
}

TEST_F(AwsProfileSourceTest, IgnoresWhatIsNestedUnderAnotherKey) {
  write_config(
      "[default]\ns3 =\n  role_arn = r\n  aws_access_key_id = A\n\n"
      "# credential_process = x\n");
  EXPECT_FALSE(has_source());
  EXPECT_THAT(find(ScriptedHttp()), IsOkAndHolds(Eq(std::nullopt)));
}

}  // namespace
}  // namespace smdebug
