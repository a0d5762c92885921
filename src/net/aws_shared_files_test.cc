#include "net/aws_shared_files.h"

#include <gmock/gmock.h>

#include "base/result_matchers_testing.h"
#include "net/aws_testing.h"
#include "tests/support/as_nobody_testing.h"

namespace smdebug {
namespace {

using testing::AllOf;
using testing::Field;
using testing::HasSubstr;
using testing::Not;

using AwsSharedFilesTest = AwsTest;

TEST_F(AwsSharedFilesTest, PreferTheCredentialsFile) {
  write_credentials("[a]\naws_access_key_id = K\nregion = r1\nempty =\n");
  write_config("[profile a]\nregion = r2\noutput = json\nempty = no\n");
  const auto files = AwsSharedFiles::read();
  ASSERT_THAT(files, IsOk());
  const AwsProfile* const a = files->find_profile("a");
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(a->value("aws_access_key_id"), "K");
  EXPECT_EQ(a->value("region"), "r1");
  EXPECT_EQ(a->value("output"), "json");
  EXPECT_EQ(a->value("empty"), "no");
  EXPECT_FALSE(a->has("other"));
  EXPECT_EQ(a->place("region"), "profile 'a' in '~/.aws/credentials'");
  EXPECT_EQ(a->place("output"), "profile 'a' in '~/.aws/config'");
}

TEST_F(AwsSharedFilesTest, HaveProfilesAndSessionsUnderTheirNames) {
  write_credentials("[profile x]\nk = 1\n");
  write_config(
      "[default]\nk = 2\n[profile 'a b']\nk = 3\n[profile]\nk = 4\n"
      "[y]\nk = 5\n[sso-session s]\nk = 6\n[profile a b]\nk = 7\n"
      "[services z]\nk = 8\n[profile \"]\nk = 9\n");
  const auto files = AwsSharedFiles::read();
  ASSERT_THAT(files, IsOk());
  for (const auto& [name, value] :
       {std::pair("profile x", "1"), {"default", "2"}, {"a b", "3"}}) {
    const AwsProfile* const found = files->find_profile(name);
    ASSERT_NE(found, nullptr) << name;
    EXPECT_EQ(found->value("k"), value);
  }
  for (const char* const name : {"x", "y", "z", "s", "a", "", "\""}) {
    EXPECT_EQ(files->find_profile(name), nullptr) << name;
  }
  ASSERT_NE(files->find_sso_session("s"), nullptr);
  EXPECT_EQ(files->find_sso_session("s")->value("k"), "6");
  EXPECT_EQ(files->find_sso_session("default"), nullptr);
}

TEST_F(AwsSharedFilesTest, AreThoseOfTheVariables) {
  write_credentials("[a]\nk = 1\n");
  home_.write("keys", "[b]\nk = 2\n");
  home_.write("settings", "[profile c]\nk = 3\n");
  set("AWS_SHARED_CREDENTIALS_FILE", "~/keys");
  set("AWS_CONFIG_FILE", home_.path("settings").c_str());
  const auto files = AwsSharedFiles::read();
  ASSERT_THAT(files, IsOk());
  EXPECT_EQ(files->find_profile("a"), nullptr);
  ASSERT_NE(files->find_profile("b"), nullptr);
  ASSERT_NE(files->find_profile("c"), nullptr);
  EXPECT_EQ(files->find_profile("b")->place("k"), "profile 'b' in '~/keys'");
}

TEST_F(AwsSharedFilesTest, MayBeMissing) {
  EXPECT_THAT(AwsSharedFiles::read(), IsOk());
  set("AWS_SHARED_CREDENTIALS_FILE", "/dev/null");
  set("AWS_CONFIG_FILE", home_.path().c_str());
  EXPECT_THAT(AwsSharedFiles::read(), IsOk());
}

TEST_F(AwsSharedFilesTest, MayBeThoseOfAnotherUser) {
  write_credentials("[a]\nk = 1\n");
  std::filesystem::permissions(home_.path(".aws"), std::filesystem::perms(0));
  {
    const AsNobody nobody;
    const auto files = AwsSharedFiles::read();
    ASSERT_THAT(files, IsOk());
    EXPECT_EQ(files->find_profile("a"), nullptr);
  }
  std::filesystem::permissions(home_.path(".aws"),
                               std::filesystem::perms(0700));
}

TEST_F(AwsSharedFilesTest, NameAFileThatThisUserMayNotRead) {
  write_credentials("[a]\nk = 1\n");
  const std::string path = home_.path(".aws/credentials");
  for (const std::string& folder : {home_.path(), home_.path(".aws")}) {
    std::filesystem::permissions(folder, std::filesystem::perms(0755));
  }
  std::filesystem::permissions(path, std::filesystem::perms(0));
  const AsNobody nobody;
  EXPECT_THAT(AwsSharedFiles::read(),
              FailsWith(Error::Code::io,
                        "'" + path +
                            "' cannot be read: Permission denied; "
                            "AWS_SHARED_CREDENTIALS_FILE names another file"));
}

TEST_F(AwsSharedFilesTest, NameTheLineThatIsWrong) {
  write_config("[default]\nsecret\n");
  EXPECT_THAT(AwsSharedFiles::read(),
              FailsWith(Error::Code::corrupt,
                        AllOf(HasSubstr("'~/.aws/config': line 2: "),
                              Not(HasSubstr("secret")))));
}

TEST_F(AwsSharedFilesTest, HaveTheProfileThatAVariableSelects) {
  write_config("[default]\n[profile a]\n[profile b]\n");
  const auto files = AwsSharedFiles::read();
  ASSERT_THAT(files, IsOk());
  const auto named = [](const char* name) {
    return IsOkAndHolds(Field(&AwsProfile::name, name));
  };
  EXPECT_THAT(files->selected_profile(), named("default"));
  set("AWS_PROFILE", "a");
  EXPECT_THAT(files->selected_profile(), named("a"));
  set("AWS_DEFAULT_PROFILE", "b");
  EXPECT_THAT(files->selected_profile(), named("b"));
  set("AWS_DEFAULT_PROFILE", "");
  EXPECT_THAT(files->selected_profile(), named("a"));
}

TEST_F(AwsSharedFilesTest, NeedNoDefaultProfileUnlessAVariableNamesIt) {
  const auto files = AwsSharedFiles::read();
  ASSERT_THAT(files, IsOk());
  EXPECT_THAT(files->selected_profile(), IsOk());
  set("AWS_PROFILE", "default");
  EXPECT_THAT(
      files->selected_profile(),
      FailsWith(Error::Code::invalid_config,
                "AWS_PROFILE names the profile 'default', which is in neither "
                "'~/.aws/credentials' nor '~/.aws/config'"));
}

}  // namespace
}  // namespace smdebug
