// Sends messages as the original does: creates a topic of the notification
// service if necessary, subscribes the endpoint with a filter on its address,
// and publishes a message with that address. The owner of an email address must
// confirm the subscription before the first message is delivered.

#include "smdebug/base/try.h"

#include "actions/actions.h"
#include "base/json.h"
#include "net/aws_service.h"
#include "net/aws_signature.h"
#include "net/xml.h"

namespace smdebug {
namespace {

// The original's names, so that its subscriptions remain valid.
constexpr const char* kTopic = "SMDebugRules";
constexpr const char* kApiVersion = "2010-03-31";
constexpr std::size_t kMaxSubject = 100;  // the limit of the service

using Fields = std::vector<std::pair<std::string, std::string>>;

class TopicAction : public Action {
 public:
  TopicAction(ActionRequest request, const ActionSettings& settings,
              const HttpClient& http)
      : Action(std::move(request)),
        service_("sns", "sns", http, clock_of(settings)) {}

  Result<std::string> perform(const Alert& alert) override {
    SMD_TRY(const std::string topic, find_topic());
    SMD_CHECK_OK(subscribe(topic));
    SMD_TRY(const std::string message, publish(topic, alert));
    return "message " + message + " for " + shown_target(request()) +
           " published to topic " + topic;
  }

 private:
  std::string_view protocol() const { return action_kind_name(request().kind); }
  // The attribute that the subscription filters by.
  std::string attribute() const {
    return request().kind == ActionKind::sms ? "phone_num" : "email";
  }

  Result<std::string> find_topic() const {
    return call("TopicArn", {{"Action", "CreateTopic"}, {"Name", kTopic}});
  }

  Status subscribe(const std::string& topic) const {
    const Json filter =
        Json::Object{{attribute(), Json::Array{request().target}}};
    SMD_TRY([[maybe_unused]] const std::string subscription,
            call("SubscriptionArn", {{"Action", "Subscribe"},
                                     {"TopicArn", topic},
                                     {"Protocol", std::string(protocol())},
                                     {"Endpoint", request().target},
                                     {"Attributes.entry.1.key", "FilterPolicy"},
                                     {"Attributes.entry.1.value",
                                      filter.dump(JsonStyle::spaced)}}));
    return {};
  }

  Result<std::string> publish(const std::string& topic,
                              const Alert& alert) const {
    const std::string subject = "SMDebugRule:" + alert.verdict.rule + " fired";
    return call(
        "MessageId",
        {{"Action", "Publish"},
         {"TopicArn", topic},
         {"Subject", subject.substr(0, kMaxSubject)},
         {"Message", subject + ". " + alert.verdict.message},
         {"MessageAttributes.entry.1.Name", attribute()},
         {"MessageAttributes.entry.1.Value.DataType", "String"},
         {"MessageAttributes.entry.1.Value.StringValue", request().target}});
  }

  // Calls the service and returns the text of one element of the response.
  Result<std::string> call(std::string_view element, Fields fields) const {
    const std::string action = fields.front().second;
    fields.emplace_back("Version", kApiVersion);
    auto answer = service_.post(
        {{"content-type", "application/x-www-form-urlencoded; charset=utf-8"}},
        form_encoded(fields));
    if (!answer) return std::move(answer).error().within(action);
    if (auto text = find_xml_text(*answer, element)) return *std::move(text);
    return Error{Error::Code::io,
                 action + ": the response has no " + std::string(element)};
  }

  const AwsService service_;
};

}  // namespace

std::unique_ptr<Action> make_topic_action(ActionRequest request,
                                          const ActionSettings& settings,
                                          const HttpClient& http) {
  return std::make_unique<TopicAction>(std::move(request), settings, http);
}

}  // namespace smdebug
