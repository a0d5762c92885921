// Stops the training that writes the run on this machine, or the only job in
// the cloud whose name begins with the user's prefix. If several jobs do, it
// stops none, like the original.

#include <vector>

#include <fmt/format.h>

#include "smdebug/base/try.h"

#include "actions/actions.h"
#include "base/json.h"
#include "net/aws_service.h"

namespace smdebug {
namespace {

constexpr int kMaxPages = 50;  // like the original

std::string outcome_text(StopOutcome outcome) {
  switch (outcome) {
    case StopOutcome::was_gone:
      return "nothing to stop: the training had already ended";
    case StopOutcome::ended:
      return "the training was asked to stop and ended";
    case StopOutcome::killed:
      return "the training was killed because it did not end when asked to "
             "stop";
    case StopOutcome::asked:
      return "this training process was asked to stop";
  }
  return "";
}

class StopAction : public Action {
 public:
  StopAction(ActionRequest request, const ActionSettings& settings,
             const HttpClient& http)
      : Action(std::move(request)),
        stop_training_(settings.stop_training),
        service_("sagemaker", "api.sagemaker", http, clock_of(settings)) {}

  Result<std::string> perform(const Alert&) override {
    auto stopped = stop_training_
                       ? stop_training_()
                       : Error{Error::Code::not_found,
                               "no training process is known on this machine"};
    if (stopped) return outcome_text(*stopped);
    const bool may_be_in_the_cloud =
        stopped.error().code == Error::Code::not_found &&
        !request().target.empty() && has_aws_credentials();
    if (!may_be_in_the_cloud) return std::move(stopped).error();
    return stop_job();
  }

 private:
  Result<std::string> stop_job() const {
    SMD_TRY(const auto jobs, jobs_in_progress());
    if (jobs.size() != 1) {
      return Error{Error::Code::not_found,
                   fmt::format("{} jobs in progress begin with '{}'{}; a job "
                               "is stopped only if it is the only one",
                               jobs.size(), shown_target(request()),
                               jobs.empty() ? "" : " ('" + jobs[0] + "', …)")};
    }
    SMD_TRY([[maybe_unused]] const std::string answer,
            call("StopTrainingJob",
                 Json::Object{{"TrainingJobName", jobs.front()}}));
    return "job '" + jobs.front() + "' was asked to stop";
  }

  Result<std::vector<std::string>> jobs_in_progress() const {
    std::vector<std::string> names;
    Json question = Json::Object{{"NameContains", request().target},
                                 {"StatusEquals", "InProgress"},
                                 {"SortBy", "CreationTime"},
                                 {"SortOrder", "Descending"},
                                 {"MaxResults", 100}};
    for (int page = 0; page < kMaxPages; ++page) {
      SMD_TRY(const std::string text, call("ListTrainingJobs", question));
      SMD_TRY(const Json answer, Json::parse(text, "ListTrainingJobs"));
      SMD_TRY(const auto* jobs, answer.array_at("TrainingJobSummaries"));
      for (const Json& job : *jobs) {
        SMD_TRY(std::string name, job.string_at("TrainingJobName"));
        if (name.starts_with(request().target)) {
          names.push_back(std::move(name));
        }
      }
      const Json* const next = answer.find("NextToken");
      if (!next || !next->as_string() || next->as_string()->empty()) break;
      question["NextToken"] = *next;
    }
    return names;
  }

  Result<std::string> call(const std::string& name,
                           const Json& question) const {
    auto answer = service_.post({{"content-type", "application/x-amz-json-1.1"},
                                 {"x-amz-target", "SageMaker." + name}},
                                question.dump());
    if (!answer) return std::move(answer).error().within(name);
    return answer;
  }

  std::function<Result<StopOutcome>()> stop_training_;
  const AwsService service_;
};

}  // namespace

std::unique_ptr<Action> make_stop_action(ActionRequest request,
                                         const ActionSettings& settings,
                                         const HttpClient& http) {
  return std::make_unique<StopAction>(std::move(request), settings, http);
}

}  // namespace smdebug
