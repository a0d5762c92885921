// Tests the actions that use the network, with scripted servers.
// python/tests/test_actions.py uses real ones.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/hmac.h>

#include "actions/action_testing.h"
#include "actions/actions.h"
#include "base/json.h"
#include "base/result_matchers_testing.h"
#include "net/scripted_http_testing.h"
#include "tests/support/fake_clock_testing.h"
#include "tests/support/recording_logger_testing.h"

namespace smdebug {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

constexpr const char* kHook = "https://hooks.example.com/T0/secret";
const Error kTimeout = {Error::Code::unavailable, "timed out"};

std::string header_of(const HttpRequest& request, const std::string& name) {
  for (const HttpHeader& header : request.headers) {
    if (header.name == name) return header.value;
  }
  return "";
}

class NetworkActionTest : public testing::Test {
 protected:
  NetworkActionTest() { settings_.clock = &clock_; }

  Result<std::string> call_webhook(const ScriptedHttp& http) {
    return make_webhook_action({ActionKind::webhook, kHook}, settings_, http)
        ->perform(fired_alert());
  }

  FakeClock clock_{kStartSeconds};
  ActionSettings settings_;
  ScopedVariable key_{"AWS_ACCESS_KEY_ID", "AKID"};
  ScopedVariable secret_{"AWS_SECRET_ACCESS_KEY", "secret"};
  ScopedVariable token_{"AWS_SESSION_TOKEN", nullptr};
  ScopedVariable container_{"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", nullptr};
  ScopedVariable container_url_{"AWS_CONTAINER_CREDENTIALS_FULL_URI", nullptr};
  ScopedVariable web_token_{"AWS_WEB_IDENTITY_TOKEN_FILE", nullptr};
  ScopedVariable profile_{"AWS_PROFILE", nullptr};
  ScopedVariable default_profile_{"AWS_DEFAULT_PROFILE", nullptr};
  ScopedVariable config_{"AWS_CONFIG_FILE", "/dev/null"};
  ScopedVariable credentials_{"AWS_SHARED_CREDENTIALS_FILE", "/dev/null"};
  ScopedVariable endpoint_{"AWS_ENDPOINT_URL", "http://cloud"};
  ScopedVariable job_{"TRAINING_JOB_NAME", nullptr};
};

TEST_F(NetworkActionTest, WebhookPostsTheVerdictAndAnEventAsOfTheCloud) {
  const ScriptedHttp http({HttpResponse{204, ""}});
  EXPECT_THAT(call_webhook(http),
              IsOkAndHolds("https://hooks.example.com/… answered 204"));
  const HttpRequest& request = http.requests().at(0);
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.url, kHook);
  EXPECT_EQ(header_of(request, "X-Smdebug-Signature"), "");
  const auto body = Json::parse(request.body);
  ASSERT_THAT(body, IsOk());
  EXPECT_THAT(body->string_at("run"), IsOkAndHolds("/runs/a"));
  EXPECT_THAT(body->string_at("text"),
              IsOkAndHolds(StartsWith("VanishingGradient: gradient/fc")));
  EXPECT_THAT(body->find("verdict")->string_at("status"),
              IsOkAndHolds("IssuesFound"));
  const Json& event = *body->find("event");
  EXPECT_THAT(event.string_at("detail-type"),
              IsOkAndHolds("SageMaker Training Job State Change"));
  const Json& detail = *event.find("detail");
  EXPECT_THAT(detail.string_at("TrainingJobName"), IsOkAndHolds("a"));
  const Json& status =
      detail.find("DebugRuleEvaluationStatuses")->as_array()->at(0);
  EXPECT_THAT(status.string_at("RuleEvaluationStatus"),
              IsOkAndHolds("IssuesFound"));
  EXPECT_THAT(status.string_at("StatusDetails"),
              IsOkAndHolds("RuleEvaluationConditionMet: Evaluation of the rule "
                           "VanishingGradient at step 6 resulted in the "
                           "condition being met\n"));
  EXPECT_THAT(status.string_at("LastModifiedTime"),
              IsOkAndHolds("2015-08-30T12:36:00Z"));
}

TEST_F(NetworkActionTest, WebhookSignsWhatItSends) {
  settings_.webhook_secret = "key";
  const ScriptedHttp http({HttpResponse{200, ""}});
  ASSERT_THAT(call_webhook(http), IsOk());
  const HttpRequest& request = http.requests().at(0);
  unsigned char digest[32];
  unsigned int size = 0;
  HMAC(EVP_sha256(), "key", 3,
       reinterpret_cast<const unsigned char*>(request.body.data()),
       request.body.size(), digest, &size);
  std::string expected = "sha256=";
  for (const unsigned char byte : digest) {
    char two[3];
    std::snprintf(two, sizeof two, "%02x", byte);
    expected += two;
  }
  EXPECT_EQ(header_of(request, "X-Smdebug-Signature"), expected);
}

TEST_F(NetworkActionTest, WebhookTriesAgainWhereItMayHelp) {
  const ScriptedHttp http(
      {HttpResponse{503, ""}, kTimeout, HttpResponse{200, ""}});
  EXPECT_THAT(call_webhook(http), IsOk());
  ASSERT_THAT(http.requests(), SizeIs(3));
  EXPECT_EQ(clock_.monotonic(), std::chrono::seconds(3));  // 1, then 2
  const std::string delivery =
      header_of(http.requests()[0], "X-Smdebug-Delivery");
  EXPECT_FALSE(delivery.empty());
  EXPECT_EQ(header_of(http.requests()[2], "X-Smdebug-Delivery"), delivery);
}

TEST_F(NetworkActionTest, WebhookGivesUpAfterThreeTries) {
  const ScriptedHttp hangs({kTimeout, kTimeout, kTimeout, kTimeout});
  EXPECT_THAT(call_webhook(hangs),
              FailsWith(Error::Code::unavailable,
                        HasSubstr("timed out (tried 3 times)")));
  EXPECT_THAT(hangs.requests(), SizeIs(3));

  const HttpResponse broken = {500, ""};
  const ScriptedHttp breaks({broken, broken, broken, broken});
  const auto failed = call_webhook(breaks);
  ASSERT_THAT(failed, FailsWith(Error::Code::io));
  EXPECT_THAT(failed.error().message,
              AllOf(HasSubstr("answered 500 (tried 3 times)"),
                    Not(HasSubstr("secret"))));
  EXPECT_THAT(breaks.requests(), SizeIs(3));
}

TEST_F(NetworkActionTest, WebhookTakesARefusalForAnAnswer) {
  const ScriptedHttp http({HttpResponse{404, ""}, HttpResponse{200, ""}});
  EXPECT_THAT(call_webhook(http),
              FailsWith(Error::Code::io, HasSubstr("answered 404")));
  EXPECT_THAT(http.requests(), SizeIs(1));
}

TEST_F(NetworkActionTest, TextMessageGoesToTheGateway) {
  settings_.sms_webhook = "https://gateway.example.com/send";
  const ScriptedHttp http({HttpResponse{200, ""}});
  EXPECT_THAT(make_webhook_action({ActionKind::sms, "+4912"}, settings_, http)
                  ->perform(fired_alert()),
              IsOk());
  EXPECT_EQ(http.requests().at(0).url, "https://gateway.example.com/send");
  const auto body = Json::parse(http.requests().at(0).body);
  ASSERT_THAT(body, IsOk());
  EXPECT_THAT(body->string_at("to"), IsOkAndHolds("+4912"));
  EXPECT_THAT(body->string_at("text"),
              IsOkAndHolds(HasSubstr("VanishingGradient: gradient/fc")));
}

HttpResponse answer(const std::string& element, const std::string& text) {
  return {200, "<R><Result><" + element + ">" + text + "</" + element +
                   "></Result></R>"};
}

TEST_F(NetworkActionTest, TopicIsMadeSubscribedAndToldAsByTheOriginal) {
  const ScriptedHttp http({answer("TopicArn", "arn:t"),
                           answer("SubscriptionArn", "pending confirmation"),
                           answer("MessageId", "m-1")});
  const auto sent =
      make_topic_action({ActionKind::sms, "+4912"}, settings_, http)
          ->perform(fired_alert());
  EXPECT_THAT(sent,
              IsOkAndHolds("message m-1 for +4912 published to topic arn:t"));
  std::vector<std::string> bodies;
  for (const HttpRequest& request : http.requests()) {
    EXPECT_EQ(request.url, "http://cloud/");
    bodies.push_back(request.body);
  }
  EXPECT_THAT(
      bodies,
      ElementsAre(
          "Action=CreateTopic&Name=SMDebugRules&Version=2010-03-31",
          AllOf(HasSubstr("Action=Subscribe&TopicArn=arn%3At&Protocol=sms&"
                          "Endpoint=%2B4912&"),
                HasSubstr("%7B%22phone_num%22%3A%20%5B%22%2B4912%22%5D%7D")),
          AllOf(HasSubstr("Subject=SMDebugRule%3AVanishingGradient%20fired&"),
                HasSubstr("entry.1.Name=phone_num&"),
                HasSubstr("StringValue=%2B4912&"))));
}

TEST_F(NetworkActionTest, TopicSaysWhichCallWasRefused) {
  const ScriptedHttp http({answer("TopicArn", "arn:t"),
                           HttpResponse{403, "<Code>AuthorizationError</Code>"},
                           answer("MessageId", "m-1")});
  const auto sent =
      make_topic_action({ActionKind::email, "a@b.de"}, settings_, http)
          ->perform(fired_alert());
  ASSERT_THAT(sent, FailsWith(Error::Code::io));
  EXPECT_THAT(sent.error().message,
              AllOf(HasSubstr("Subscribe"), HasSubstr("403"),
                    HasSubstr("AuthorizationError")));
  EXPECT_THAT(http.requests(), SizeIs(2));
}

HttpResponse jobs(const std::vector<std::string>& names,
                  const std::string& next = "") {
  Json list = Json::Array();
  for (const std::string& name : names) {
    list.append(Json::Object{{"TrainingJobName", name}});
  }
  Json page = Json::Object{{"TrainingJobSummaries", std::move(list)}};
  if (!next.empty()) page["NextToken"] = next;
  return {200, page.dump()};
}

TEST_F(NetworkActionTest, StopEndsTheOneJobOfThatPrefixOnAnyPage) {
  const ScriptedHttp http({jobs({"other-My-Job"}, "more"), jobs({"My-Job-7"}),
                           HttpResponse{200, ""}});
  EXPECT_THAT(make_stop_action({ActionKind::stop, "My-Job"}, settings_, http)
                  ->perform(fired_alert()),
              IsOkAndHolds("job 'My-Job-7' was asked to stop"));
  ASSERT_THAT(http.requests(), SizeIs(3));
  EXPECT_EQ(header_of(http.requests()[0], "x-amz-target"),
            "SageMaker.ListTrainingJobs");
  EXPECT_THAT(http.requests()[0].body,
              AllOf(HasSubstr(R"("NameContains":"My-Job")"),
                    HasSubstr(R"("StatusEquals":"InProgress")")));
  EXPECT_THAT(http.requests()[1].body, HasSubstr(R"("NextToken":"more")"));
  EXPECT_EQ(header_of(http.requests()[2], "x-amz-target"),
            "SageMaker.StopTrainingJob");
  EXPECT_EQ(http.requests()[2].body, R"({"TrainingJobName":"My-Job-7"})");
}

TEST_F(NetworkActionTest, StopLeavesSeveralJobsAloneAndEndsItsPages) {
  const ScriptedHttp two({jobs({"My-Job-1", "My-Job-2"})});
  EXPECT_THAT(make_stop_action({ActionKind::stop, "My-Job"}, settings_, two)
                  ->perform(fired_alert()),
              FailsWith(Error::Code::not_found,
                        HasSubstr("2 jobs in progress begin with 'My-Job'")));
  EXPECT_THAT(two.requests(), SizeIs(1));

  const ScriptedHttp endless(std::vector<Result<HttpResponse>>(
      100, Result<HttpResponse>(jobs({}, "more"))));
  EXPECT_THAT(make_stop_action({ActionKind::stop, "My-Job"}, settings_, endless)
                  ->perform(fired_alert()),
              FailsWith(Error::Code::not_found));
  EXPECT_THAT(endless.requests(), SizeIs(50));
}

TEST_F(NetworkActionTest, StopPrefersTheTrainingOnThisMachine) {
  const ScriptedHttp http;
  settings_.stop_training = [] { return StopOutcome::ended; };
  const auto action =
      make_stop_action({ActionKind::stop, "My-Job"}, settings_, http);
  EXPECT_THAT(action->perform(fired_alert()),
              IsOkAndHolds("the training was asked to stop and ended"));
  EXPECT_TRUE(http.requests().empty());

  settings_.stop_training = []() -> Result<StopOutcome> {
    return Error{Error::Code::not_found, "none here"};
  };
  EXPECT_THAT(make_stop_action({ActionKind::stop, ""}, settings_, http)
                  ->perform(fired_alert()),
              FailsWith(Error::Code::not_found, HasSubstr("none here")));
  EXPECT_TRUE(http.requests().empty());
}

TEST_F(NetworkActionTest, MessagesNeedAServerOrAnAccount) {
  EXPECT_THAT(make_action({ActionKind::email, "a@b.de"}, settings_), IsOk());
  const ScopedVariable none("AWS_ACCESS_KEY_ID", nullptr);
  EXPECT_THAT(
      make_action({ActionKind::email, "a@b.de"}, settings_),
      FailsWith(Error::Code::invalid_config, HasSubstr("SMDEBUG_SMTP_URL")));
  EXPECT_THAT(
      make_action({ActionKind::sms, "+49"}, settings_),
      FailsWith(Error::Code::invalid_config, HasSubstr("SMDEBUG_SMS_WEBHOOK")));
  settings_.smtp_url = "smtp://127.0.0.1";
  EXPECT_THAT(make_action({ActionKind::email, "a@b.de"}, settings_), IsOk());
}

class KeptMail : public MailClient {
 public:
  Status send(const SmtpServer& server, const Mail& mail) const override {
    servers.push_back(server);
    mails.push_back(mail);
    return answer;
  }
  mutable std::vector<SmtpServer> servers;
  mutable std::vector<Mail> mails;
  Status answer;
};

TEST_F(NetworkActionTest, EmailIsAddressedAndDated) {
  KeptMail client;
  settings_.smtp_url = "smtp://mail";
  settings_.email_from = "smdebug@example.com";
  const auto action =
      make_email_action({ActionKind::email, "ann@b.de"}, settings_, client);
  EXPECT_THAT(action->perform(fired_alert()), IsOkAndHolds("sent to ann@b.de"));
  const Mail& mail = client.mails.at(0);
  EXPECT_EQ(mail.from, "smdebug@example.com");
  EXPECT_THAT(mail.to, ElementsAre("ann@b.de"));
  EXPECT_THAT(mail.message,
              AllOf(HasSubstr("To: ann@b.de\r\n"),
                    HasSubstr("Date: Sun, 30 Aug 2015 12:36:00 +0000\r\n")));
  client.answer = Error{Error::Code::unavailable, "the server is down"};
  EXPECT_THAT(action->perform(fired_alert()),
              FailsWith(Error::Code::unavailable, HasSubstr("down")));
}

// A run, or a tensor, may be called anything.
TEST_F(NetworkActionTest, NoNameCanAddAHeaderToAnEmail) {
  KeptMail client;
  Alert alert = fired_alert();
  alert.run = "/runs/a\r\nBcc: everybody@example.com";
  alert.verdict.message = "\r\n.\r\nRCPT TO:<x@y>";
  settings_.smtp_url = "smtp://mail";
  ASSERT_THAT(
      make_email_action({ActionKind::email, "ann@b.de"}, settings_, client)
          ->perform(alert),
      IsOk());
  EXPECT_THAT(client.mails.at(0).message,
              AllOf(Not(HasSubstr("Bcc")), Not(HasSubstr("RCPT"))));
}

TEST(ActionSettings, KeepTheUsualLimitForAVariableThatIsNoNumber) {
  setenv("SMDEBUG_ACTION_TIMEOUT", "abc", 1);
  RecordingLogger log;
  const ActionSettings settings = action_settings_from_environment(log);
  unsetenv("SMDEBUG_ACTION_TIMEOUT");
  EXPECT_EQ(settings.network_timeout, std::chrono::seconds(10));
  EXPECT_THAT(log.text(), HasSubstr("found 'abc'; using 10"));
}

TEST(ActionSettings, RefuseAFileOfAWebhookThatIsMissingAsWrongUsage) {
  const auto made =
      make_action({ActionKind::webhook, "@/no/such/file"}, ActionSettings());
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Error::Code::invalid_config);
  EXPECT_THAT(made.error().message,
              HasSubstr("webhook=@FILE takes the path of a file with the URL"));
}

}  // namespace
}  // namespace smdebug
