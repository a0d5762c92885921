#pragma once

// `StepMonitor` judges the steps of running sessions with rules, before the
// optimizer acts: `RunMonitor` inside a training step. A hook with `rules` is a
// thin user of it; so is a C++ training:
//
//     StepMonitor monitor;
//     const auto sink = monitor.add_worker({"ExplodingTensor"});
//     if (sink) session.set_sink(*sink);
//     ...
//     session.before_update();
//     for (const Verdict& found : monitor.take_findings()) ...
//
// A process that records several workers adds each of them with a separate set
// of rules; verdicts and findings combine those of all workers. A monitor is
// used by the thread that owns the steps.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "smdebug/base/clock.h"
#include "smdebug/base/result.h"
#include "smdebug/core/observation.h"
#include "smdebug/rules/builtin_rules.h"
#include "smdebug/rules/capture_request.h"
#include "smdebug/rules/rule.h"
#include "smdebug/rules/verdict.h"

namespace [[gnu::visibility("default")]] smdebug {

// The place where the status of a worker's rules is kept.
struct StatusPlace {
  std::string location;  // the run's
  std::string worker;    // empty for the first worker of a run
};

struct StepMonitorOptions {
  // Receives messages for the user: one sentence per call, on a thread of the
  // monitor.
  std::function<void(const std::string&)> on_message;
  const Clock* clock = nullptr;  // null: system_clock()
};

class StepMonitor {
 public:
  using Rules = std::vector<std::unique_ptr<Rule>>;
  // Called once, at the first step. Returns none to keep no status, for
  // sessions that write nothing.
  using FindPlace = std::function<std::optional<StatusPlace>()>;

  explicit StepMonitor(StepMonitorOptions options = {});
  /// Writes the statuses as they are.
  ~StepMonitor();
  StepMonitor(const StepMonitor&) = delete;
  StepMonitor& operator=(const StepMonitor&) = delete;

  /// Returns the sink that passes the steps of a worker to `rules`: give it to
  /// `Session::set_sink`, and set null before this monitor is destroyed. All
  /// workers must have the same rules. Fails as `Trial::open` for a run that a
  /// rule compares with.
  Result<ObservationSink*> add_worker(Rules rules, FindPlace find_place = {});
  /// Does the same with built-in rules. Fails also as `make_builtin_rules`.
  Result<ObservationSink*> add_worker(const std::vector<RuleRequest>& rules,
                                      FindPlace find_place = {});

  /// Returns the data that must be captured. Call it after `add_worker`.
  const CaptureRequest& request() const;

  /// Returns the findings since the last call as verdicts, one each time that a
  /// rule fired. A rule that fires for several workers at one step is reported
  /// for the first of them.
  std::vector<Verdict> take_findings();

  /// Returns the verdict of each rule, in the order of the rules. With several
  /// workers it is that of the first worker for which the rule fired, else of
  /// the first for which it failed, else of the first worker. Counts of judged
  /// observations are sums over all workers.
  std::vector<Verdict> verdicts() const;

  /// Call when no step will follow: ends the rules and writes their last
  /// status.
  void finish();

 private:
  class Worker;
  StepMonitorOptions options_;
  std::vector<std::unique_ptr<Worker>> workers_;
  // The last reported finding of each rule, identified by name and parameters.
  struct Reported {
    std::string rule;
    std::map<std::string, std::string> parameters;
    Step step;
    std::size_t worker;
  };
  std::vector<Reported> reported_;
};

}  // namespace smdebug
