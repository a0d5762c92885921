#pragma once

// `RuleRunner` drives rules with the observations of one or more runs and
// keeps each one's verdict. It is the sink that capture or read feed.
//
// A rule that fires, or fails, is not asked again. One that has judged at
// least one observation when the last run ends has found no issues; one that
// has judged none has failed: "no issue" is never said of tensors that were
// not there. Where several runs are fed, `on_collections` names each of them
// before the first one ends.
//
// Of a running step a rule is shown each observation once: before the update
// where everything that it looks at is there by then, and what came later, or
// all, when the step is complete.

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

namespace smdebug {

class RuleRunner : public ObservationSink {
 public:
  explicit RuleRunner(std::vector<std::unique_ptr<Rule>> rules);
  ~RuleRunner() override;

  void on_collections(std::size_t run,
                      std::span<const TensorGroup> collections) override;
  /// Returns `none` if no rule in progress selects the tensor, and `values` if
  /// one that does needs the elements. The name counts as seen.
  DataNeed data_need(std::size_t run, std::string_view tensor_name) override;
  void on_step(const StepView& step) override;
  void on_tick(double wall_seconds) override;
  void on_run_end(std::size_t run) override;

  /// Whoever watches was told to stop: what is in progress ends as `stopped`,
  /// and nothing is judged any more.
  void stop();

  /// Where the runs are that rules compare the judged one with. Who feeds this
  /// feeds them too, the first as run 1, each up to a step of run 0 before the
  /// next one of that.
  std::span<const std::string> other_runs() const;

  /// Called, from the thread that feeds, once for each rule whose status
  /// leaves `in_progress`.
  void set_on_verdict(std::function<void(const Verdict&)> callback);

  /// From now on a rule that has fired is asked again, and `callback` is told
  /// of each time it fires, the first included, in the shape of a verdict. The
  /// verdict itself stays that of the first time.
  void set_on_finding(std::function<void(const Verdict&)> callback);

  /// The present verdict of each rule, in the order given.
  std::span<const Verdict> verdicts() const;

  /// True while a rule is still in progress.
  bool is_judging() const;

 private:
  struct Judge;

  bool is_asked(std::size_t judge) const;
  void judge_step(Judge& judge, Verdict& verdict, const StepView& step);
  void take(Judge& judge, Verdict& verdict, Outcome outcome);
  void tell_finding(const Verdict& verdict, const StepView& step,
                    const Outcome& outcome);
  void leave(Verdict& verdict, RuleStatus status);
  void finish(Judge& judge, Verdict& verdict);
  void remember(std::string_view tensor_name);
  bool all_have_judged() const;

  std::vector<std::unique_ptr<Judge>> judges_;
  std::vector<std::string> other_runs_;  // by number - 1
  std::vector<Verdict> verdicts_;        // by position in `judges_`
  std::function<void(const Verdict&)> on_verdict_;
  std::function<void(const Verdict&)> on_finding_;
  std::map<std::size_t, std::vector<TensorGroup>> groups_;  // by run
  std::set<std::size_t> open_runs_;
  std::set<std::string, std::less<>> names_seen_;
};

/// Decides which tensors a selector takes, by name, given what the run calls
/// its collections. Answers are remembered per name.
class TensorMatcher {
 public:
  /// Fails with `invalid_config` for a pattern that does not compile.
  static Result<TensorMatcher> create(const TensorSelector& selector,
                                      std::span<const TensorGroup> groups);
  TensorMatcher(TensorMatcher&&) noexcept;
  TensorMatcher& operator=(TensorMatcher&&) noexcept;
  ~TensorMatcher();

  bool matches(std::string_view tensor_name);

 private:
  struct Impl;
  explicit TensorMatcher(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace smdebug
