#include <gmock/gmock.h>

#include "base/result_matchers_testing.h"
#include "net/aws_testing.h"

namespace smdebug {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kPlace =
    "profile 'default' in '~/.aws/config': credential_process: ";

class AwsProgramSourceTest : public AwsTest {
 protected:
  static AwsProfile profile(const std::string& command) {
    AwsProfile profile = {"default", {"~/.aws/credentials", {}}, {}};
    profile.config = {"~/.aws/config", {{"credential_process", command}}};
    return profile;
  }

  static Result<AwsFound> run(const std::string& command) {
    const ScriptedHttp http;
    return run_credential_program({http, system_clock()}, profile(command));
  }

  // Runs a program that prints `text`.
  Result<AwsFound> print(const std::string& text) const {
    home_.write("text", text);
    return run("cat '" + home_.path("text") + "'");
  }
};

TEST_F(AwsProgramSourceTest, ReturnsWhatTheProgramPrints) {
  const auto found =
      print(R"({"Version": 1, "AccessKeyId": "A", "SecretAccessKey": "S",
                "SessionToken": "T", "Expiration": "2015-08-30T13:36:00Z"})");
  ASSERT_THAT(found, IsOk());
  EXPECT_EQ(found->credentials.access_key_id, "A");
  EXPECT_EQ(found->credentials.secret_access_key, "S");
  EXPECT_EQ(found->credentials.session_token, "T");
  EXPECT_EQ(found->expires, kAwsNow + kHour);
}

TEST_F(AwsProgramSourceTest, MayReturnKeysWithoutTokenAndExpiry) {
  for (const char* const more :
       {"", R"(, "SessionToken": null, "Expiration": null)"}) {
    const auto found =
        print(R"({"Version": 1, "AccessKeyId": "A", "SecretAccessKey": "S")" +
              std::string(more) + "}");
    ASSERT_THAT(found, IsOk());
    EXPECT_EQ(found->credentials.session_token, "");
    EXPECT_EQ(found->expires, std::nullopt);
  }
}

TEST_F(AwsProgramSourceTest, RunsItWithoutAShell) {
  home_.write("a b", R"({"Version": 1, "AccessKeyId": "A",
                         "SecretAccessKey": "S"})");
  EXPECT_THAT(run("cat \"" + home_.path("a b") + "\""), IsOk());
  EXPECT_THAT(run("cat '" + home_.path("a b") + "' | cat"),
              FailsWith(Error::Code::io, HasSubstr("cat: '|': No such file")));
}

TEST_F(AwsProgramSourceTest, SaysHowTheProgramFailed) {
  EXPECT_THAT(
      run("sh -c 'echo secret; echo log in first >&2; exit 3'"),
      FailsWith(Error::Code::io, kPlace + std::string("the program ended with "
                                                      "exit code 3: log in "
                                                      "first")));
  EXPECT_THAT(run("sh -c 'kill -KILL $$'"),
              FailsWith(Error::Code::io, EndsWith("was killed by signal 9")));
  EXPECT_THAT(run("/no/such/program"),
              FailsWith(Error::Code::io,
                        HasSubstr("the program cannot be started: No such")));
}

TEST_F(AwsProgramSourceTest, ShowsTheEndOfALongError) {
  const auto failed =
      run("sh -c 'head -c 100000 /dev/zero | tr \"\\\\0\" x >&2; "
          "echo the end >&2; exit 1'");
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().message, EndsWith("xthe end"));
  EXPECT_LT(failed.error().message.size(), 500U);
}

TEST_F(AwsProgramSourceTest, EndsAProgramThatHangs) {
  const ScriptedHttp http;
  EXPECT_THAT(run_credential_program({http, clock_}, profile("sleep 600")),
              FailsWith(Error::Code::unavailable,
                        HasSubstr("the program was terminated after 60 s")));
}

TEST_F(AwsProgramSourceTest, DoesNotQuoteWhatTheProgramPrints) {
  const std::string keys =
      R"("AccessKeyId": "secret", "SecretAccessKey": "secret")";
  const std::pair<std::string, Error::Code> kOutputs[] = {
      {"", Error::Code::corrupt},
      {"secret", Error::Code::corrupt},
      {"[\"secret\"]", Error::Code::corrupt},
      {"{" + keys + "}", Error::Code::unsupported},
      {R"({"Version": 2, )" + keys + "}", Error::Code::unsupported},
      {R"({"Version": "1", )" + keys + "}", Error::Code::unsupported},
      {R"({"Version": 1, "AccessKeyId": "secret"})", Error::Code::corrupt},
      {R"({"Version": 1, "Expiration": "later", )" + keys + "}",
       Error::Code::corrupt},
      {R"({"Version": 1, "SessionToken": 7, )" + keys + "}",
       Error::Code::corrupt},
      {R"({"Version": 1, )" + keys + std::string(2 << 20, ' ') + "}",
       Error::Code::corrupt}};
  for (const auto& [output, code] : kOutputs) {
    EXPECT_THAT(print(output),
                FailsWith(code, AllOf(HasSubstr(kPlace), Not(HasSubstr("sec")),
                                      HasSubstr("the output of the program"))))
        << output.substr(0, 200);
  }
}

TEST_F(AwsProgramSourceTest, NamesACommandThatHasNoEnd) {
  EXPECT_THAT(run("cat 'secret"),
              FailsWith(Error::Code::invalid_config,
                        AllOf(HasSubstr("a quote that is not closed"),
                              Not(HasSubstr("secret")))));
}

}  // namespace
}  // namespace smdebug
