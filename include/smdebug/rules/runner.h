#pragma once

// `RuleRunner` passes the observations of one or more runs to rules and keeps
// the verdict of each rule. It is the sink that capture or read feed.
//
// A rule that fires or fails is not called again. When the last run ends, a
// rule that judged at least one observation found no issues; a rule that judged
// none failed, because the absence of tensors is not the absence of issues. If
// several runs are fed, call `on_collections` for each before the first ends.
//
// Each rule receives each observation of a running step once: before the update
// if every tensor that the rule selects exists by then, otherwise when the step
// is complete. Tensors that arrive after the update follow on completion.

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "smdebug/core/observation.h"
#include "smdebug/rules/rule.h"
#include "smdebug/rules/verdict.h"

namespace [[gnu::visibility("default")]] smdebug {

class RuleRunner : public ObservationSink {
 public:
  explicit RuleRunner(std::vector<std::unique_ptr<Rule>> rules);
  ~RuleRunner() override;
  RuleRunner(RuleRunner&&) noexcept;
  RuleRunner& operator=(RuleRunner&&) noexcept;

  void on_collections(std::size_t run,
                      std::span<const TensorGroup> collections) override;
  void on_facts(std::size_t run, std::string_view worker,
                const RunFacts& facts) override;
  void on_scalars(std::size_t run, std::string_view worker,
                  std::span<const ScalarSeriesView> series) override;
  /// Returns `none` if no rule in progress selects the tensor, and `values` if
  /// such a rule needs the elements. Messages may suggest the name from now on.
  DataNeed data_need(std::size_t run, std::string_view tensor_name) override;
  void on_step(const StepView& step) override;
  void on_tick(double wall_seconds) override;
  void on_run_end(std::size_t run) override;

  /// Call when monitoring was canceled: rules in progress end as `stopped`, and
  /// no further step is judged.
  void stop();

  /// Returns the locations of the runs that rules compare the judged run with.
  /// The caller feeds them too, the first as run 1: after each step of run 0,
  /// all of their steps up to that one.
  std::span<const std::string> other_runs() const;

  /// Sets the callback for a rule whose status leaves `in_progress`: called
  /// once per rule, on the thread that feeds.
  void set_on_verdict(std::function<void(const Verdict&)> callback);

  /// Keeps calling rules that have fired, and calls `callback` each time that a
  /// rule fires, including the first, with the finding as a verdict.
  /// `verdicts` keeps the first finding.
  void set_on_finding(std::function<void(const Verdict&)> callback);

  /// Returns the current verdict of each rule, in the order of the rules.
  std::span<const Verdict> verdicts() const;

  /// Returns true while a rule is in progress.
  bool is_judging() const;

 private:
  struct Judge;
  struct Names;

  bool is_asked(std::size_t judge) const;
  void judge_step(Judge& judge, Verdict& verdict, const StepView& step);
  void take(Judge& judge, Verdict& verdict, Outcome outcome);
  void judge_scalars(Judge& judge, Verdict& verdict, std::string_view worker,
                     std::span<const ScalarSeriesView> series);
  void report_finding(const Verdict& verdict, std::size_t run,
                      const StepId& step, const Outcome& outcome);
  void leave(Verdict& verdict, RuleStatus status);
  void take_end(Judge& judge, Verdict& verdict);
  void finish(Judge& judge, Verdict& verdict);

  std::vector<std::unique_ptr<Judge>> judges_;
  std::vector<std::string> other_runs_;  // by number - 1
  std::vector<Verdict> verdicts_;        // by position in `judges_`
  std::function<void(const Verdict&)> on_verdict_;
  std::function<void(const Verdict&)> on_finding_;
  std::map<std::size_t, std::vector<TensorGroup>> groups_;  // by run
  std::set<std::size_t> open_runs_;
  std::unique_ptr<Names> names_;
};

/// Matches tensor names against a selector and the collections of a run. Caches
/// the answer for each name.
class TensorMatcher {
 public:
  /// Fails with `invalid_config` for a pattern that does not compile.
  static Result<TensorMatcher> create(const TensorSelector& selector,
                                      std::span<const TensorGroup> groups);
  TensorMatcher(TensorMatcher&&) noexcept;
  TensorMatcher& operator=(TensorMatcher&&) noexcept;
  ~TensorMatcher();

  bool matches(std::string_view tensor_name);

  /// The patterns of the selector that a name has matched.
  const std::set<std::string>& matched_patterns() const;

 private:
  struct Impl;
  explicit TensorMatcher(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace smdebug
