#include "smdebug/actions/action_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/result_matchers_testing.h"

namespace smdebug {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

ParsedActions parsed(std::string_view text) {
  auto actions = parse_action_string(text);
  EXPECT_THAT(actions, IsOk());
  return actions ? *std::move(actions) : ParsedActions();
}

TEST(ActionRequest, IsParsedFromTheCommandLine) {
  EXPECT_THAT(parse_action("stop"),
              IsOkAndHolds(ActionRequest{ActionKind::stop, ""}));
  EXPECT_THAT(parse_action("stop=My-Job"),
              IsOkAndHolds(ActionRequest{ActionKind::stop, "My-Job"}));
  EXPECT_THAT(
      parse_action("webhook=https://host/a?b=c"),
      IsOkAndHolds(ActionRequest{ActionKind::webhook, "https://host/a?b=c"}));
  EXPECT_THAT(parse_action("email=Ann.B+x@Mail.example.com"),
              IsOkAndHolds(ActionRequest{ActionKind::email,
                                         "Ann.B+x@Mail.example.com"}));
  EXPECT_THAT(parse_action("sms=+4912345678"),
              IsOkAndHolds(ActionRequest{ActionKind::sms, "+4912345678"}));
  EXPECT_THAT(
      parse_action("command=notify --level=1"),
      IsOkAndHolds(ActionRequest{ActionKind::command, "notify --level=1"}));
}

TEST(ActionRequest, SaysWhatItAcceptsInstead) {
  for (const char* const text :
       {"", "call=5", "email", "email=ann", "email=a b@c.de", "email=a@b@c",
        "sms=5", "sms=+49 1", "sms=+12345678901234567", "webhook=ftp://x",
        "webhook=", "webhook=http://", "command=", "Stop"}) {
    EXPECT_THAT(parse_action(text),
                FailsWith(Error::Code::invalid_argument, HasSubstr("action")))
        << text;
  }
  EXPECT_THAT(parse_action("call=5").error().message, HasSubstr("webhook=URL"));
  for (const auto& [given, shown] :
       {std::pair("webhook=htp://x/y", "'webhook=htp://…'"),
        std::pair("webhook=http://", "'webhook=http://'"),
        std::pair("email", "'email'"), std::pair("email=", "'email='"),
        std::pair("email=foo", "'email=f…'"),
        std::pair("sms=+49 1", "'sms=+49 1'"),
        std::pair("sms=12ab", "'sms=1…'")}) {
    EXPECT_THAT(parse_action(given).error().message, HasSubstr(shown));
  }
}

TEST(ActionRequest, IsNeverPrintedWithASecretThatWasMistyped) {
  for (const char* const text :
       {"webhook=htps://host/TOKEN", "webhok=https://host/TOKEN",
        "https://host/TOKEN", "webhook=TOKEN", "webhook:https://host/TOKEN",
        "https://user:TOKEN@host?a=b", "email=TOKEN"}) {
    EXPECT_THAT(parse_action(text).error().message,
                testing::Not(HasSubstr("TOKEN")))
        << text;
  }
  for (const char* const text :
       {R"({"name": "webhook", "uri": "https://host/TOKEN"})",
        R"({"name": "https://host/TOKEN"})", R"("https://host/TOKEN")"}) {
    EXPECT_THAT(parsed(text).refused,
                ElementsAre(testing::Not(HasSubstr("TOKEN"))));
  }
  EXPECT_THAT(parse_action_string("https://host/TOKEN").error().message,
              testing::Not(HasSubstr("TOKEN")));
}

TEST(ActionRequest, IsShownWithoutTheArgumentsOfACommand) {
  EXPECT_EQ(shown_target({ActionKind::command, "A=1 curl -H 'Key: SECRET'"}),
            "curl …");
  EXPECT_EQ(shown_target({ActionKind::command, "notify.sh"}), "notify.sh");
  EXPECT_EQ(shown_target({ActionKind::webhook, "@hook.txt"}), "@hook.txt");
}

TEST(ActionRequest, IsShownWithoutTheSecretsOfAUrl) {
  EXPECT_EQ(shown_target({ActionKind::webhook, "https://host/T0/secret"}),
            "https://host/…");
  EXPECT_EQ(shown_target({ActionKind::email, "a@b.de"}), "a@b.de");
}

TEST(ActionString, ListsTheActionsOfTheOriginal) {
  EXPECT_THAT(
      parsed(R"([{"name": "StopTraining", "training_job_prefix": "My-Job"},
                 {"name": "email", "endpoint": "Ann@example.com"},
                 {"NAME": "SMS", "Endpoint": "+1555"}])")
          .actions,
      ElementsAre(ActionRequest{ActionKind::stop, "My-Job"},
                  ActionRequest{ActionKind::email, "Ann@example.com"},
                  ActionRequest{ActionKind::sms, "+1555"}));
}

TEST(ActionString, MayBeOneObjectOrNothing) {
  EXPECT_THAT(parsed(R"({"name": "webhook", "url": "http://h/"})").actions,
              ElementsAre(ActionRequest{ActionKind::webhook, "http://h/"}));
  EXPECT_THAT(parsed(R"({"name": "command", "command": "a b"})").actions,
              ElementsAre(ActionRequest{ActionKind::command, "a b"}));
  EXPECT_THAT(parsed(R"({"name": "stoptraining"})").actions,
              ElementsAre(ActionRequest{ActionKind::stop, ""}));
  for (const char* const nothing : {"", "  ", "[]"}) {
    EXPECT_THAT(parsed(nothing).actions, IsEmpty());
    EXPECT_THAT(parsed(nothing).refused, IsEmpty());
  }
}

// As the cloud's package serializes it.
TEST(ActionString, MayHaveItsQuotesBehindBackslashes) {
  EXPECT_THAT(
      parsed(R"([{\"name\": \"email\", \"endpoint\": \"a@b.de\"}])").actions,
      ElementsAre(ActionRequest{ActionKind::email, "a@b.de"}));
}

TEST(ActionString, LeavesOutWhatIsNoActionAndTellsIt) {
  const ParsedActions actions = parsed(
      R"([3, {"name": "call", "endpoint": "5"}, {"name": "sms"},
          {"name": "sms", "endpoint": 5}, {"endpoint": "5"},
          {"name": "email", "endpoint": "a@b.de\r\nBcc: all"},
          {"name": "sms", "endpoint": "5"}])");
  EXPECT_THAT(actions.actions,
              ElementsAre(ActionRequest{ActionKind::sms, "5"}));
  EXPECT_EQ(actions.refused.size(), 6u);
  EXPECT_THAT(actions.refused.at(1),
              HasSubstr("'call' with the keys 'name', 'endpoint'"));
}

TEST(ActionString, IsJson) {
  for (const char* const text : {"stoptraining", "[", "{\\\"name\\\": 1"}) {
    EXPECT_THAT(parse_action_string(text),
                FailsWith(Error::Code::invalid_argument, HasSubstr("not JSON")))
        << text;
  }
}

}  // namespace
}  // namespace smdebug
