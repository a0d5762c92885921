// Rules over the run that this very process writes, for adapters that can stop
// a training: smdebug/pytorch/trainers/training_rules.py. Like `smdebug run`, they read
// what is on disk; so a verdict here is the verdict of `smdebug check`.

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "smdebug/read/trial.h"
#include "smdebug/report/run_feed.h"
#include "smdebug/report/verdict_page.h"
#include "smdebug/rules/builtin_rules.h"
#include "smdebug/rules/capture_request.h"
#include "smdebug/rules/runner.h"

#include "bindings.h"
#include "python_rule.h"
#include "result_caster.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace smdebug {
namespace {

using Rules = std::vector<std::unique_ptr<Rule>>;

class RunJudge {
 public:
  RunJudge(std::string run, Rules rules, Step first_step)
      : request_(capture_request(rules, run).json()),
        run_(std::move(run)),
        first_step_(first_step),
        runner_(std::move(rules)) {}

  RunJudge(const RunJudge&) = delete;
  RunJudge& operator=(const RunJudge&) = delete;

  // Judges the steps that can be read and were not judged yet. A run that is
  // not there yet is no error.
  Status look() {
    if (!trial_) {
      TrialOptions options;
      options.timeout = std::chrono::nanoseconds(0);
      options.first_step = first_step_;
      auto trial = Trial::open(run_, options);
      if (!trial && trial.error().code == Error::Code::not_found) return {};
      if (!trial) return std::move(trial).error();
      trial_ = *std::move(trial);
      feed_.emplace(*trial_, runner_);
    }
    if (auto fed = feed_->advance(); !fed) return std::move(fed).error();
    return {};
  }

  // No step will follow.
  void finish() {
    if (feed_) {
      feed_->finish();
    } else {
      runner_.on_run_end(0);
    }
  }

  const std::string& request() const { return request_; }
  bool is_judging() const { return runner_.is_judging(); }

  std::vector<std::string> verdicts() const {
    return verdicts_json(runner_.verdicts());
  }

  std::string text() const { return verdicts_text(runner_.verdicts()); }

 private:
  std::string request_;
  std::string run_;
  Step first_step_;
  RuleRunner runner_;
  std::unique_ptr<Trial> trial_;
  std::optional<RunFeed> feed_;
};

// Steps before `first_step` are not judged.
Result<std::unique_ptr<RunJudge>> make_run_judge(const std::string& run,
                                                 const nb::list& rules,
                                                 Step first_step) {
  SMD_TRY(auto made, make_rules(rules));
  return std::make_unique<RunJudge>(run, std::move(made), first_step);
}

}  // namespace

void bind_run_judge(nb::module_& m) {
  using WithoutGil = nb::call_guard<nb::gil_scoped_release>;
  nb::class_<RunJudge>(m, "RunJudge",
                       "Rules over a run that this process writes.")
      .def_static("create", &make_run_judge, "run"_a, "rules"_a,
                  "first_step"_a = 0)
      .def("look", &RunJudge::look, WithoutGil(),
           "Judges the steps that can be read and were not judged yet.")
      .def("finish", &RunJudge::finish, WithoutGil(),
           "Says that no step will follow.")
      .def_prop_ro("request", &RunJudge::request,
                   "JSON: the collections that must be saved for the rules.")
      .def_prop_ro("is_judging", &RunJudge::is_judging)
      .def("verdicts", &RunJudge::verdicts, "One JSON object per rule.")
      .def("text", &RunJudge::text, "One line per rule.");
}

}  // namespace smdebug
