// Bindings of include/smdebug/monitor: rules over a run, and rules over the
// running steps of sessions. smdebug/rules/monitors.py is the Python side.

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "smdebug/base/logger.h"
#include "smdebug/base/try.h"
#include "smdebug/capture/session.h"
#include "smdebug/monitor/monitor_result.h"
#include "smdebug/monitor/run_monitor.h"
#include "smdebug/monitor/step_monitor.h"
#include "smdebug/report/diagnosis.h"
#include "smdebug/report/run_summary.h"
#include "smdebug/report/verdict_text.h"
#include "smdebug/rules/builtin_rules.h"
#include "smdebug/xgboost_report/xgboost_report.h"

#include "bindings.h"
#include "interrupt.h"
#include "python_rule.h"
#include "result_caster.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace smdebug {
namespace {

void warn(const std::string& text) { default_logger().warning(text); }

// Rules over the run that this very process writes, for adapters that can stop
// a training. Like `smdebug run`, they read what is on disk.
Result<std::unique_ptr<RunMonitor>> monitor_own_run(const std::string& run,
                                                    const nb::list& rules,
                                                    Step first_step) {
  SMD_TRY(auto made, make_rules(rules));
  RunMonitorOptions options;
  options.status_files = RunMonitorOptions::StatusFiles::in_background;
  options.storage_limit = WaitLimit::from_environment(&is_interrupt_pending);
  options.first_step = first_step;
  options.reports = {kXgboostRuleReport};
  options.on_message = &warn;
  return RunMonitor::create(run, std::move(made), std::move(options));
}

Result<std::unique_ptr<RunMonitor>> monitor_trial(Trial& trial,
                                                  const nb::list& rules) {
  SMD_TRY(auto made, make_rules(rules));
  RunMonitorOptions options;
  options.reports = {kXgboostRuleReport};
  return RunMonitor::create(trial, std::move(made), std::move(options));
}

Status poll(RunMonitor& monitor, Step first) {
  monitor.skip_to(first);
  if (auto read = monitor.poll(); !read) return std::move(read).error();
  return {};
}

Status finish(RunMonitor& monitor) {
  const MonitorResult& result = monitor.finish("Completed");
  if (result.report_error) return *result.report_error;
  // A run that never began has nothing to judge; the verdicts show this.
  if (result.error && monitor.trial()) return *result.error;
  return {};
}

std::string summary(RunMonitor& monitor, const std::string& ending,
                    const std::string& cost, const std::string& problem) {
  RunSummary summary = summarize(monitor.finish("Completed"), monitor.trial());
  summary.ending = ending;
  summary.cost = cost;
  if (!problem.empty()) summary.problem = problem;
  return summary_text(summary);
}

// The sessions of a hook and the rules that judge their steps.
class SessionMonitor {
 public:
  SessionMonitor() : monitor_({.on_message = &warn, .clock = nullptr}) {}
  SessionMonitor(const SessionMonitor&) = delete;

  // The rules of a further worker, before its session exists.
  Status add_worker(const nb::list& rules) {
    SMD_TRY(auto made, make_rules(rules));
    auto session = std::make_shared<Session*>(nullptr);
    SMD_TRY(ObservationSink* const sink,
            monitor_.add_worker(std::move(made),
                                [session] { return find_place(**session); }));
    workers_.push_back({sink, std::move(session)});
    return {};
  }

  // The steps of the worker that was added last are those of `session`.
  void follow(Session& session) {
    *workers_.back().session = &session;
    session.set_sink(workers_.back().sink);
  }

  void finish() {
    for (const Worker& worker : workers_) {
      if (*worker.session) (*worker.session)->set_sink(nullptr);
    }
    monitor_.finish();
  }

  std::string request() const { return monitor_.request().json(); }
  std::vector<std::string> take_findings() {
    const std::vector<Verdict> findings = monitor_.take_findings();
    for (const Verdict& finding : findings)
      if (fired_.emplace(finding.rule, finding.parameters).second)
        keep(finding);
    return verdicts_json(findings);
  }
  std::vector<std::string> verdicts() const {
    return verdicts_json(monitor_.verdicts());
  }

 private:
  struct Worker {
    ObservationSink* sink;
    std::shared_ptr<Session*> session;  // null until `follow`
  };

  // The step of the first finding of a rule is the last that a size limit
  // removes. A training with NaN has findings in all steps from then on.
  void keep(const Verdict& finding) {
    for (const Worker& worker : workers_)
      if (*worker.session) (*worker.session)->keep_step(finding.step.global);
  }

  // A session that writes nothing has no run to keep a status beside.
  static std::optional<StatusPlace> find_place(const Session& session) {
    const HookConfig& config = session.config();
    if (config.dry_run ||
        session.status().state != SessionStatus::State::active) {
      return std::nullopt;
    }
    return StatusPlace{config.out_dir,
                       session.is_first_worker() ? "" : session.worker()};
  }

  StepMonitor monitor_;
  std::vector<Worker> workers_;
  // The rules with findings, and their parameters.
  std::set<std::pair<std::string, std::map<std::string, std::string>>> fired_;
};

void bind_run_monitor(nb::module_& m) {
  using WithoutGil = nb::call_guard<nb::gil_scoped_release>;
  nb::class_<RunMonitor>(m, "RunMonitor", "Rules over a run.")
      .def_static("of_own_run", &monitor_own_run, "run"_a, "rules"_a,
                  "first_step"_a = 0,
                  "A monitor of the run that this process writes at `run`, "
                  "which need not exist yet. Steps before `first_step` are not "
                  "judged. The status files of the rules are kept beside it.")
      .def_static("of_trial", &monitor_trial, "trial"_a, "rules"_a,
                  nb::keep_alive<0, 1>(),
                  "A monitor of an open trial; it writes nothing but reports.")
      .def("poll", &poll, "first"_a = 0, WithoutGil(),
           "Judges the complete steps from `first` on that were not judged "
           "yet.")
      .def("finish", &finish, WithoutGil(),
           "Ends the rules: no step will follow. Raises what went wrong.")
      .def_prop_ro(
          "request",
          [](const RunMonitor& self) { return self.request().json(); },
          "JSON: the collections that must be saved for the rules.")
      .def_prop_ro("is_judging", &RunMonitor::is_judging,
                   "Whether any rule is still in progress.")
      .def(
          "verdicts",
          [](const RunMonitor& self) { return verdicts_json(self.verdicts()); },
          "One JSON object per rule.")
      .def(
          "diagnosis",
          [](const RunMonitor& self) {
            return diagnosis_json_text(self.verdicts());
          },
          "JSON: the causes of what the rules found, with their consequences.")
      .def("summary", &summary, "ending"_a, "cost"_a, "problem"_a, WithoutGil(),
           "The end of `smdebug run` as text, after `finish`: how the training "
           "ended, what recording it cost and what went wrong are added as "
           "given.");
}

}  // namespace

void bind_monitors(nb::module_& m) {
  m.attr("EXIT_RULE_FIRED") = kExitRuleFired;
  m.def("cause_table", &cause_table_json,
        "JSON: which finding explains which.");
  bind_run_monitor(m);
  nb::class_<SessionMonitor>(m, "StepMonitor",
                             "Rules over the steps of sessions while they run.")
      .def(nb::init<>())
      .def("add_worker", &SessionMonitor::add_worker, "rules"_a,
           "Makes the rules of a further worker.")
      .def("follow", &SessionMonitor::follow, "session"_a,
           nb::keep_alive<2, 1>(),
           "Judges the steps of `session` with the rules that were added last.")
      .def(
          "take_findings", &SessionMonitor::take_findings,
          "Returns the findings since the last call: one JSON object each time "
          "that a rule fired.")
      .def("finish", &SessionMonitor::finish,
           "Ends the rules: no step will follow.")
      .def_prop_ro("request", &SessionMonitor::request,
                   "JSON: the collections that must be saved for the rules.")
      .def("verdicts", &SessionMonitor::verdicts, "One JSON object per rule.");
}

}  // namespace smdebug
