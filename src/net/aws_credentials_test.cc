#include "net/aws_credentials.h"

#include <condition_variable>
#include <thread>

#include <gmock/gmock.h>

#include "base/result_matchers_testing.h"
#include "net/aws_testing.h"

namespace smdebug {
namespace {

using testing::Eq;
using testing::Field;
using testing::HasSubstr;
using testing::Optional;
using testing::SizeIs;

constexpr std::chrono::minutes kMinute(1);

auto has_key(const char* key) {
  return IsOkAndHolds(Optional(Field(&AwsCredentials::access_key_id, key)));
}

class AwsCredentialsTest : public AwsTest {
 protected:
  // Configures every source.
  void configure_all() {
    set("AWS_ACCESS_KEY_ID", "ENV");
    set("AWS_SECRET_ACCESS_KEY", "secret");
    write_credentials(
        "[default]\naws_access_key_id = FILE\naws_secret_access_key = s\n");
    configure_container();
  }
  void configure_container() {
    set("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/x");
  }
};

TEST_F(AwsCredentialsTest, AreThoseOfTheFirstSource) {
  configure_all();
  const ScriptedHttp http({key_response("ECS"), HttpResponse{200, "token"},
                           HttpResponse{200, "role"}, key_response("EC2")});
  EXPECT_THAT(AwsCredentialChain(http, clock_).current(), has_key("ENV"));
  set("AWS_ACCESS_KEY_ID", nullptr);
  EXPECT_THAT(AwsCredentialChain(http, clock_).current(), has_key("FILE"));
  EXPECT_TRUE(http.requests().empty());
  write_credentials("");
  EXPECT_THAT(AwsCredentialChain(http, clock_).current(), has_key("ECS"));
  set("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", nullptr);
  EXPECT_THAT(AwsCredentialChain(http, clock_).current(), has_key("EC2"));
}

TEST_F(AwsCredentialsTest, MayBeConfiguredNowhere) {
  const ScriptedHttp http;
  AwsCredentialChain chain(http, clock_);
  EXPECT_THAT(chain.current(), IsOkAndHolds(Eq(std::nullopt)));
  // Once they are, they are found.
  write_credentials(
      "[default]\naws_access_key_id = FILE\naws_secret_access_key = s\n");
  EXPECT_THAT(chain.current(), has_key("FILE"));
}

TEST_F(AwsCredentialsTest, AreNotThoseOfTheNextSourceIfOneFails) {
  configure_all();
  const ScriptedHttp http;
  AwsCredentialChain chain(http, clock_);
  set("AWS_SECRET_ACCESS_KEY", nullptr);
  EXPECT_THAT(chain.current(),
              FailsWith(Error::Code::invalid_config,
                        "AWS_ACCESS_KEY_ID is set, but AWS_SECRET_ACCESS_KEY "
                        "is not: set both or none"));
  set("AWS_ACCESS_KEY_ID", nullptr);
  write_credentials("[default]\naws_access_key_id = FILE\n");
  EXPECT_THAT(chain.current(),
              FailsWith(Error::Code::invalid_config, HasSubstr("'default'")));
  set("AWS_PROFILE", "none");
  EXPECT_THAT(chain.current(),
              FailsWith(Error::Code::invalid_config,
                        HasSubstr("AWS_PROFILE names the profile 'none'")));
  set("AWS_PROFILE", nullptr);
  write_credentials("secret");
  EXPECT_THAT(chain.current(), FailsWith(Error::Code::corrupt));
  write_credentials("");
  EXPECT_THAT(chain.current(), FailsWith(Error::Code::unavailable,
                                         HasSubstr("the container's")));
  EXPECT_THAT(http.requests(), SizeIs(3));  // of the container only
}

TEST_F(AwsCredentialsTest, HaveATokenUnderEitherName) {
  configure_all();
  const ScriptedHttp http;
  AwsCredentialChain chain(http, clock_);
  const auto has_token = [](const char* token) {
    return IsOkAndHolds(Optional(Field(&AwsCredentials::session_token, token)));
  };
  EXPECT_THAT(chain.current(), has_token(""));
  set("AWS_SESSION_TOKEN", "new");
  EXPECT_THAT(chain.current(), has_token("new"));
  set("AWS_SECURITY_TOKEN", "old");
  EXPECT_THAT(chain.current(), has_token("old"));
}

TEST_F(AwsCredentialsTest, AreKeptUntilAQuarterOfAnHourBeforeTheyExpire) {
  configure_container();
  const ScriptedHttp http(
      {key_response("A"), key_response("B", "2015-08-30T14:36:00Z")});
  AwsCredentialChain chain(http, clock_);
  EXPECT_THAT(chain.current(), has_key("A"));
  clock_.advance(45 * kMinute);
  EXPECT_THAT(chain.current(), has_key("A"));
  EXPECT_THAT(http.requests(), SizeIs(1));
  clock_.advance(std::chrono::seconds(1));
  EXPECT_THAT(chain.current(), has_key("B"));
  EXPECT_THAT(chain.current(), has_key("B"));
  EXPECT_THAT(http.requests(), SizeIs(2));
}

TEST_F(AwsCredentialsTest, AreKeptForeverIfTheyDoNotExpire) {
  write_credentials(
      "[default]\naws_access_key_id = FILE\naws_secret_access_key = s\n");
  const ScriptedHttp http;
  AwsCredentialChain chain(http, clock_);
  EXPECT_THAT(chain.current(), has_key("FILE"));
  write_credentials("");
  clock_.advance(std::chrono::hours(1000));
  EXPECT_THAT(chain.current(), has_key("FILE"));
}

// A notebook may set them at any time.
TEST_F(AwsCredentialsTest, AreReadFromVariablesEachTime) {
  configure_container();
  const ScriptedHttp http({key_response("A")});
  AwsCredentialChain chain(http, clock_);
  EXPECT_THAT(chain.current(), has_key("A"));
  configure_all();
  EXPECT_THAT(chain.current(), has_key("ENV"));
  set("AWS_ACCESS_KEY_ID", "ENV2");
  EXPECT_THAT(chain.current(), has_key("ENV2"));
  set("AWS_ACCESS_KEY_ID", nullptr);
  EXPECT_THAT(chain.current(), has_key("A"));
}

TEST_F(AwsCredentialsTest, AreUsedUntilTheyExpireIfTheirSourceFails) {
  configure_container();
  const ScriptedHttp http({key_response("A"), kNobody, kNobody, kNobody,
                           HttpResponse{500, ""}, kNobody, kNobody, kNobody,
                           kNobody, kNobody,
                           key_response("B", "2015-08-30T15:36:00Z")});
  AwsCredentialChain chain(http, clock_);
  EXPECT_THAT(chain.current(), has_key("A"));
  clock_.advance(46 * kMinute);
  EXPECT_THAT(chain.current(), has_key("A"));
  EXPECT_THAT(http.requests(), SizeIs(4));
  // Not again within a minute.
  clock_.advance(kMinute / 2);
  EXPECT_THAT(chain.current(), has_key("A"));
  EXPECT_THAT(http.requests(), SizeIs(4));
  clock_.set_wall_seconds(kAwsNow + kHour - 5);
  EXPECT_THAT(chain.current(), has_key("A"));
  EXPECT_THAT(http.requests(), SizeIs(7));
  clock_.set_wall_seconds(kAwsNow + kHour);
  EXPECT_THAT(chain.current(),
              FailsWith(Error::Code::unavailable, HasSubstr("nobody answers")));
  EXPECT_THAT(http.requests(), SizeIs(10));
  EXPECT_THAT(chain.current(), has_key("B"));
}

TEST_F(AwsCredentialsTest, AreNotThoseThatHaveExpired) {
  const ScriptedHttp http({key_response("A"), key_response("A"),
                           key_response("A"),
                           key_response("B", "2015-08-30T15:36:00Z")});
  configure_container();
  AwsCredentialChain chain(http, clock_);
  EXPECT_THAT(chain.current(), has_key("A"));
  clock_.set_wall_seconds(kAwsNow + kHour - 60);
  EXPECT_THAT(chain.current(), has_key("A"));
  clock_.set_wall_seconds(kAwsNow + kHour);
  EXPECT_THAT(chain.current(),
              FailsWith(Error::Code::unavailable,
                        "the server of the container returned credentials "
                        "that expired at 2015-08-30T13:36:00Z"));
  EXPECT_THAT(chain.current(), has_key("B"));
}

TEST_F(AwsCredentialsTest, MayLiveForLessThanAQuarterOfAnHour) {
  configure_container();
  const char* const soon = "2015-08-30T12:41:00Z";
  const ScriptedHttp http(
      {key_response("A", soon), key_response("B", soon), kNobody});
  AwsCredentialChain chain(http, clock_);
  EXPECT_THAT(chain.current(), has_key("A"));
  EXPECT_THAT(chain.current(), has_key("A"));
  clock_.advance(kMinute);
  EXPECT_THAT(chain.current(), has_key("B"));
  EXPECT_THAT(http.requests(), SizeIs(2));
}

// Answers only after it was opened.
class GatedHttp : public HttpClient {
 public:
  Result<HttpResponse> send(const HttpRequest&) const override {
    std::unique_lock lock(mutex_);
    ++requests_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return is_open_; });
    return key_response(requests_ == 1 ? "A" : "B",
                        requests_ == 1 ? kInAnHour : "2015-08-30T14:36:00Z");
  }
  void open(bool is_open) {
    const std::lock_guard lock(mutex_);
    is_open_ = is_open;
    changed_.notify_all();
  }
  void wait_for_request(int number) const {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return requests_ == number; });
  }
  int requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  mutable int requests_ = 0;
  bool is_open_ = false;
};

TEST_F(AwsCredentialsTest, AreRequestedByOneThreadForAll) {
  configure_container();
  GatedHttp http;
  AwsCredentialChain chain(http, clock_);
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] { EXPECT_THAT(chain.current(), has_key("A")); });
    }
    http.wait_for_request(1);
    http.open(true);
  }
  EXPECT_EQ(http.requests(), 1);
}

TEST_F(AwsCredentialsTest, AreReturnedWhileAnotherThreadRenewsThem) {
  configure_container();
  GatedHttp http;
  AwsCredentialChain chain(http, clock_);
  http.open(true);
  EXPECT_THAT(chain.current(), has_key("A"));
  http.open(false);
  clock_.advance(46 * kMinute);
  {
    const std::jthread other(
        [&] { EXPECT_THAT(chain.current(), has_key("B")); });
    http.wait_for_request(2);
    EXPECT_THAT(chain.current(), has_key("A"));
    http.open(true);
  }
  EXPECT_THAT(chain.current(), has_key("B"));
  EXPECT_EQ(http.requests(), 2);
}

AwsSnapshot snapshot_of(const char* key, std::optional<double> expires = {}) {
  return {.access_key_id = key,
          .secret_access_key = "secret",
          .session_token = "token",
          .expires = expires};
}

TEST_F(AwsCredentialsTest, AreThoseOfTheSnapshotWhileItIsValid) {
  configure_container();
  const ScriptedHttp http({key_response("ECS", "2015-08-30T18:36:00Z")});
  AwsCredentialChain chain(http, clock_);
  chain.set_snapshot(snapshot_of("SNAP", kAwsNow + kHour));
  EXPECT_THAT(chain.current(), has_key("SNAP"));
  EXPECT_THAT(
      chain.current(),
      IsOkAndHolds(Optional(Field(&AwsCredentials::session_token, "token"))));
  clock_.set_wall_seconds(kAwsNow + kHour - 1);
  EXPECT_THAT(chain.current(), has_key("SNAP"));
  EXPECT_TRUE(http.requests().empty());
  clock_.set_wall_seconds(kAwsNow + kHour);
  EXPECT_THAT(chain.current(), has_key("ECS"));
  chain.set_snapshot(snapshot_of("SNAP2"));
  EXPECT_THAT(chain.current(), has_key("SNAP2"));
  EXPECT_THAT(chain.configured(), has_key("ECS"));
  chain.set_snapshot({});
  EXPECT_THAT(chain.current(), has_key("ECS"));
}

TEST_F(AwsCredentialsTest, AreThoseOfVariablesUnlessTheProgramSelectedOthers) {
  const ScriptedHttp http;
  AwsCredentialChain chain(http, clock_);
  AwsSnapshot snapshot = snapshot_of("SNAP");
  chain.set_snapshot(snapshot);
  configure_all();
  EXPECT_THAT(chain.current(), has_key("ENV"));
  snapshot.precedes_variables = true;
  chain.set_snapshot(snapshot);
  EXPECT_THAT(chain.current(), has_key("SNAP"));
}

TEST_F(AwsCredentialsTest, AreDueForRenewalAQuarterOfAnHourBeforeTheyExpire) {
  const ScriptedHttp http;
  AwsCredentialChain chain(http, clock_);
  EXPECT_FALSE(chain.is_renewal_due());
  chain.set_snapshot(snapshot_of("A", kAwsNow + kHour));
  clock_.set_wall_seconds(kAwsNow + 2700);
  EXPECT_FALSE(chain.is_renewal_due());
  clock_.set_wall_seconds(kAwsNow + 2701);
  EXPECT_TRUE(chain.is_renewal_due());
  clock_.set_wall_seconds(kAwsNow + 2 * kHour);
  EXPECT_TRUE(chain.is_renewal_due());
  chain.set_snapshot(snapshot_of("B", kAwsNow + 3 * kHour));
  EXPECT_FALSE(chain.is_renewal_due());
  chain.set_snapshot(snapshot_of("B"));
  clock_.advance(std::chrono::hours(1000));
  EXPECT_FALSE(chain.is_renewal_due());
  chain.set_snapshot({});
  EXPECT_FALSE(chain.is_renewal_due());
}

TEST_F(AwsCredentialsTest, AreConfiguredByAnySourceButTheInstance) {
  EXPECT_FALSE(has_aws_credentials());
  set_aws_snapshot(snapshot_of("A"));
  EXPECT_TRUE(has_aws_credentials());
  set_aws_snapshot({});
  EXPECT_FALSE(has_aws_credentials());
  set("AWS_ACCESS_KEY_ID", "A");
  EXPECT_FALSE(has_aws_credentials());
  set("AWS_SECRET_ACCESS_KEY", "s");
  EXPECT_TRUE(has_aws_credentials());
  set("AWS_ACCESS_KEY_ID", nullptr);
  configure_container();
  EXPECT_TRUE(has_aws_credentials());
  set("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", nullptr);
  write_config("[profile p]\ncredential_process = /no/such/program\n");
  EXPECT_FALSE(has_aws_credentials());
  set("AWS_PROFILE", "p");
  EXPECT_TRUE(has_aws_credentials());
  // The chain reports these mistakes.
  set("AWS_PROFILE", "other");
  EXPECT_TRUE(has_aws_credentials());
  set("AWS_PROFILE", nullptr);
  write_config("wrong");
  EXPECT_TRUE(has_aws_credentials());
}

using AwsRegionTest = AwsTest;

TEST_F(AwsRegionTest, IsThatOfTheVariablesOrTheProfile) {
  EXPECT_EQ(aws_region(), "us-east-1");
  write_config("[default]\nregion = r1\n[profile p]\nregion = r2\n");
  EXPECT_EQ(aws_region(), "r1");
  set("AWS_PROFILE", "p");
  EXPECT_EQ(aws_region(), "r2");
  set("AWS_DEFAULT_REGION", "r3");
  EXPECT_EQ(aws_region(), "r3");
  set("AWS_REGION", "r4");
  EXPECT_EQ(aws_region(), "r4");
}

TEST_F(AwsRegionTest, IsTheUsualOneIfAFileIsWrong) {
  write_config("wrong");
  EXPECT_EQ(aws_region(), "us-east-1");
  write_config("");
  set("AWS_PROFILE", "none");
  EXPECT_EQ(aws_region(), "us-east-1");
}

}  // namespace
}  // namespace smdebug
