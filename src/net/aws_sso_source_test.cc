#include <gmock/gmock.h>

#include "smdebug/base/try.h"

#include "base/json.h"
#include "base/result_matchers_testing.h"
#include "base/text_file.h"
#include "net/aws_testing.h"

namespace smdebug {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

// `printf my-sso | sha1sum`, and the same of the start URL below.
constexpr const char* kSessionFile =
    ".aws/sso/cache/0ad374308c5a4e22f723adf10145eafad7c4031c.json";
constexpr const char* kStartUrlFile =
    ".aws/sso/cache/e8be5486177c5b5392bd9aa76563515b29358e6e.json";

constexpr const char* kConfig =
    "[default]\nsso_session = my-sso\nsso_account_id = 123456789012\n"
    "sso_role_name = my role\n"
    "[sso-session my-sso]\nsso_region = eu-west-1\n"
    "sso_start_url = https://example.awsapps.com/start\n";
constexpr const char* kLegacyConfig =
    "[default]\nsso_start_url = https://example.awsapps.com/start\n"
    "sso_region = eu-west-1\nsso_account_id = 123456789012\n"
    "sso_role_name = my role\n";

const HttpResponse kCredentials = {
    200,
    R"({"roleCredentials": {"accessKeyId": "A", "secretAccessKey": "S",
        "sessionToken": "T", "expiration": 1440941760000}})"};

std::string token(const std::string& expires, const std::string& more = "") {
  return R"({"accessToken": "secret-token", "expiresAt": ")" + expires + "\"" +
         more + "}";
}

// A token that can be exchanged.
std::string refreshable(const std::string& expires) {
  return token(expires, R"(, "clientId": "id", "clientSecret": "cs",
                           "refreshToken": "rt", "region": "eu-west-1",
                           "registrationExpiresAt": "2015-09-30T00:00:00Z")");
}

const HttpResponse kNewToken = {
    200, R"({"accessToken": "new-token", "expiresIn": 3600,
             "refreshToken": "next", "tokenType": "Bearer"})"};

class AwsSsoSourceTest : public AwsTest {
 protected:
  Result<AwsFound> find(const ScriptedHttp& http) const {
    SMD_TRY(const AwsSharedFiles files, AwsSharedFiles::read());
    SMD_TRY(const AwsProfile profile, files.selected_profile());
    return single_sign_on({http, clock_}, files, profile);
  }
};

TEST_F(AwsSsoSourceTest, ReturnsTheCredentialsOfTheRole) {
  write_config(kConfig);
  home_.write(kSessionFile, token(kInAnHour));
  const ScriptedHttp http({kCredentials});
  const auto found = find(http);
  ASSERT_THAT(found, IsOk());
  EXPECT_EQ(found->credentials.access_key_id, "A");
  EXPECT_EQ(found->credentials.secret_access_key, "S");
  EXPECT_EQ(found->credentials.session_token, "T");
  EXPECT_EQ(found->expires, kAwsNow + kHour);
  ASSERT_THAT(http.requests(), SizeIs(1));
  const HttpRequest& request = http.requests().at(0);
  EXPECT_EQ(request.method, "GET");
  EXPECT_EQ(request.url,
            "https://portal.sso.eu-west-1.amazonaws.com/federation/credentials"
            "?role_name=my%20role&account_id=123456789012");
  EXPECT_THAT(request.headers, ElementsAre(HttpHeader{"x-amz-sso_bearer_token",
                                                      "secret-token"}));
}

TEST_F(AwsSsoSourceTest, ReadsProfilesOfTheOldForm) {
  write_config(kLegacyConfig);
  home_.write(kStartUrlFile, token("2015-08-30T12:37:00UTC"));
  set("AWS_ENDPOINT_URL_SSO", "http://127.0.0.1:9");
  const ScriptedHttp http({kCredentials});
  EXPECT_THAT(find(http), IsOk());
  EXPECT_THAT(http.requests().at(0).url,
              testing::StartsWith("http://127.0.0.1:9/federation/"));
}

TEST_F(AwsSsoSourceTest, NamesWhatTheProfileLacks) {
  const ScriptedHttp http;
  write_config("[default]\nsso_session = other\nsso_account_id = 1\n");
  EXPECT_THAT(find(http),
              FailsWith(Error::Code::invalid_config,
                        "profile 'default' in '~/.aws/config': names the "
                        "sso-session 'other', which is not in "
                        "'~/.aws/config'"));
  write_config(
      "[default]\nsso_session = s\nsso_role_name = r\n"
      "[sso-session s]\nsso_start_url = u\nsso_region = r\n");
  EXPECT_THAT(find(http), FailsWith(Error::Code::invalid_config,
                                    HasSubstr("sso_account_id is missing")));
  write_config(std::string(kConfig) +
               "[profile x]\nsso_session = my-sso\n"
               "sso_account_id = 1\nsso_role_name = r\nsso_region = other\n");
  set("AWS_PROFILE", "x");
  EXPECT_THAT(find(http),
              FailsWith(Error::Code::invalid_config,
                        HasSubstr("sso_region is 'other', but 'eu-west-1' in "
                                  "the sso-session 'my-sso'")));
}

TEST_F(AwsSsoSourceTest, AsksTheUserToLogInWithoutAToken) {
  write_config(kConfig);
  const ScriptedHttp http;
  EXPECT_THAT(find(http),
              FailsWith(Error::Code::not_found,
                        AllOf(HasSubstr("there is no token in '" +
                                        home_.path(kSessionFile) + "'"),
                              HasSubstr("run 'aws sso login --profile "
                                        "default'"))));
  for (const std::string text :
       {"secret", "{}", R"({"accessToken": "secret"})",
        R"({"accessToken": "secret", "expiresAt": "later"})"}) {
    home_.write(kSessionFile, text);
    EXPECT_THAT(find(http), FailsWith(Error::Code::corrupt,
                                      AllOf(HasSubstr("is not a token: run"),
                                            Not(HasSubstr("secret")))));
  }
  EXPECT_TRUE(http.requests().empty());
}

TEST_F(AwsSsoSourceTest, AsksTheUserToLogInAfterTheTokenHasExpired) {
  const ScriptedHttp http;
  write_config(kLegacyConfig);
  home_.write(kStartUrlFile, refreshable("2015-08-30T12:35:59Z"));
  EXPECT_THAT(
      find(http),
      FailsWith(Error::Code::unavailable,
                AllOf(HasSubstr("expired at 2015-08-30T12:35:59Z: run 'aws "
                                "sso login --profile default'"),
                      Not(HasSubstr("secret")))));
  write_config(kConfig);
  home_.write(kSessionFile, token("2015-08-30T12:35:59Z"));
  EXPECT_THAT(find(http), FailsWith(Error::Code::unavailable,
                                    HasSubstr("cannot be refreshed ('clientId' "
                                              "is missing")));
  EXPECT_TRUE(http.requests().empty());
}

TEST_F(AwsSsoSourceTest, ExchangesATokenThatIsAboutToExpire) {
  write_config(kConfig);
  home_.write(kSessionFile, refreshable("2015-08-30T12:50:59Z"));
  const ScriptedHttp http({kNewToken, kCredentials});
  EXPECT_THAT(find(http), IsOk());
  ASSERT_THAT(http.requests(), SizeIs(2));
  const HttpRequest& exchange = http.requests()[0];
  EXPECT_EQ(exchange.method, "POST");
  EXPECT_EQ(exchange.url, "https://oidc.eu-west-1.amazonaws.com/token");
  EXPECT_EQ(header_of(exchange, "content-type"), "application/json");
  EXPECT_EQ(exchange.body, R"({"grantType":"refresh_token","clientId":"id",)"
                           R"("clientSecret":"cs","refreshToken":"rt"})");
  EXPECT_EQ(header_of(http.requests()[1], "x-amz-sso_bearer_token"),
            "new-token");
  const auto text = read_text_file(home_.path(kSessionFile));
  ASSERT_THAT(text, IsOk());
  const auto kept = Json::parse(*text);
  ASSERT_THAT(kept, IsOk());
  EXPECT_THAT(kept->string_at("accessToken"), IsOkAndHolds("new-token"));
  EXPECT_THAT(kept->string_at("expiresAt"), IsOkAndHolds(kInAnHour));
  EXPECT_THAT(kept->string_at("refreshToken"), IsOkAndHolds("next"));
  EXPECT_THAT(kept->string_at("clientSecret"), IsOkAndHolds("cs"));
  EXPECT_THAT(kept->string_at("region"), IsOkAndHolds("eu-west-1"));
}

TEST_F(AwsSsoSourceTest, UsesATokenThatCannotBeExchangedUntilItExpires) {
  write_config(kConfig);
  home_.write(kSessionFile, refreshable("2015-08-30T12:36:01Z"));
  const ScriptedHttp refuses(
      {HttpResponse{400, "invalid_grant"}, kCredentials});
  EXPECT_THAT(find(refuses), IsOk());
  EXPECT_EQ(header_of(refuses.requests().at(1), "x-amz-sso_bearer_token"),
            "secret-token");
  clock_.advance(std::chrono::seconds(1));
  const ScriptedHttp again({HttpResponse{400, "invalid_grant"}});
  EXPECT_THAT(find(again),
              FailsWith(Error::Code::unavailable,
                        AllOf(HasSubstr("cannot be refreshed (https://oidc."
                                        "eu-west-1.amazonaws.com/… answered "
                                        "400: invalid_grant): run"),
                              Not(HasSubstr("secret")))));
}

TEST_F(AwsSsoSourceTest, DoesNotExchangeATokenWhoseRegistrationHasExpired) {
  write_config(kConfig);
  home_.write(kSessionFile, refreshable("2015-10-30T00:00:00Z"));
  clock_.set_wall_seconds(1446163200);  // 2015-10-30
  const ScriptedHttp http;
  EXPECT_THAT(find(http), FailsWith(Error::Code::unavailable,
                                    HasSubstr("its registration has expired")));
  EXPECT_TRUE(http.requests().empty());
}

TEST_F(AwsSsoSourceTest, SaysWhatTheServiceRefused) {
  write_config(kConfig);
  home_.write(kSessionFile, token(kInAnHour));
  const ScriptedHttp http({HttpResponse{401, "Session token not found"},
                           HttpResponse{403, "No access"}});
  EXPECT_THAT(
      find(http),
      FailsWith(Error::Code::io,
                "profile 'default' in '~/.aws/config': "
                "https://portal.sso.eu-west-1.amazonaws.com/… answered 401: "
                "Session token not found; run 'aws sso login --profile "
                "default'"));
  EXPECT_THAT(find(http),
              FailsWith(Error::Code::io, testing::EndsWith("403: No access")));
}

TEST_F(AwsSsoSourceTest, DoesNotQuoteAnAnswerThatIsWrong) {
  write_config(kConfig);
  home_.write(kSessionFile, token(kInAnHour));
  for (const char* const answer :
       {"hidden", R"({"roleCredentials": "hidden"})", "{}",
        R"({"roleCredentials": {"accessKeyId": "hidden"}})"}) {
    const ScriptedHttp http({HttpResponse{200, answer}});
    EXPECT_THAT(find(http),
                FailsWith(Error::Code::corrupt, Not(HasSubstr("hidden"))));
  }
}

}  // namespace
}  // namespace smdebug
