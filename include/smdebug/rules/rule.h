#pragma once

// A `Rule` judges observations step by step and reports what is wrong. It opens
// no file, starts no thread, keeps its own state, and works the same inside a
// training step, beside a running training, and over old runs.
//
// To write a rule, list in `needs` what must be captured and judge in
// `on_step`. `builtin_rules.h` lists the built-in rules; src/rules/builtin/ has
// one file per rule. `RuleRunner` (runner.h) calls them.

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "smdebug/base/result.h"
#include "smdebug/core/observation.h"
#include "smdebug/rules/parameters.h"
#include "smdebug/rules/verdict.h"

namespace [[gnu::visibility("default")]] smdebug {

// Selects tensors: the union of the collections' tensors and those whose name
// matches a regex.
struct TensorSelector {
  std::vector<std::string> collections;
  std::vector<std::string> regexes;
  bool every_tensor = false;
  bool if_saved = false;  // used if a run has them, never requested
  // The collection that capture adds the regexes to; empty: the rule's own.
  std::string capture_as = {};
};

// The observations that a rule needs. Capture and the launcher derive from them
// what is saved.
struct RuleNeeds {
  std::vector<TensorSelector> selectors;  // one per role a tensor plays
  enum class Depth { statistics, values } depth = Depth::statistics;
  Step interval = 0;  // 0: as often as the run saves
  // Of the elements of a tensor that a launched training saves; 0: all. More
  // are a sample.
  std::int64_t max_elements = 0;
  // Locations of the runs that the judged run is compared with, as for
  // `Trial::open`. Their steps have `RuleStep::run` 1, 2, ... in this order;
  // without any, the rule receives only the judged run.
  std::vector<std::string> other_runs = {};
  // Whether it judges the time between steps, by `on_tick`. A rule inside the
  // training gets no tick.
  bool ticks = false;
};

// The observations of one step that a rule selected. Valid during the call.
struct RuleStep {
  std::size_t run = 0;  // 0: the judged run; else of `RuleNeeds::other_runs`
  StepId step;
  StepPhase phase = StepPhase::complete;
  // By position of the selector in `RuleNeeds::selectors`.
  std::span<const std::vector<const Observation*>> selected;

  std::span<const Observation* const> by_selector(std::size_t i) const {
    return selected[i];
  }
};

// A problem that a rule found. The runner makes a `Verdict` of it.
struct Finding {
  std::string message;
  std::string cause;   // the usual cause
  std::string advice;  // what to try
  std::vector<Evidence> evidence;
  bool stop_training = false;  // the user asked this rule to end the training
  std::string kind = {};       // `Advice::when`; empty if there is one kind
  Severity severity = Severity::serious;
  // The step that it is about, if that is not the one that the rule receives.
  std::optional<StepId> step = {};
};

// The answer of a rule: a finding, no finding, or the error that ends it.
using Outcome = Result<std::optional<Finding>>;

inline Outcome no_finding() { return std::optional<Finding>(); }

class Rule {
 public:
  virtual ~Rule() = default;

  /// Returns the name under which verdicts list the rule. A built-in rule has
  /// the name of its factory.
  virtual std::string_view name() const { return name_; }

  /// Returns what must be captured or read for the rule to judge. Called once.
  virtual RuleNeeds needs() const = 0;

  /// Judges one step, and counts the judged observations with `count_judged`.
  /// An error ends only this rule and becomes its verdict.
  virtual Outcome on_step(const RuleStep& step) = 0;

  /// Receives what a worker trains, before the first step to which it applies.
  /// A later call for a worker replaces those before it. Most rules ignore it.
  virtual void on_facts(std::string_view /*worker*/,
                        const RunFacts& /*facts*/) {}

  /// Judges the samples of a worker since the last call, in ascending order of
  /// their steps within each series. They arrive before the complete step that
  /// is equal to or later than theirs; samples that are known late follow
  /// later. How many arrive at once depends on the source and must not change
  /// the verdict. A finding is dated by its first evidence, otherwise by the
  /// last sample. Most rules ignore it.
  virtual Outcome on_scalars(std::string_view /*worker*/,
                             std::span<const ScalarSeriesView> /*series*/) {
    return no_finding();
  }

  /// Receives the time, in seconds since the epoch. Most rules ignore it.
  virtual Outcome on_tick(double /*wall_seconds*/) { return no_finding(); }

  /// Called when no step will follow. If nothing could be judged, `not_found`
  /// explains what was missing, and `unsupported` that the selected tensors are
  /// not of the kind that the rule judges.
  virtual Outcome finish() { return no_finding(); }

  /// Returns the number of judged observations. If it is 0, the verdict is an
  /// error, never "no issues found".
  virtual std::uint64_t observations_judged() const { return judged_; }

  /// Returns the part of the condition that the rule could not judge, for a
  /// verdict without findings: "the gradients: none were saved". Empty if it
  /// judged everything.
  virtual std::string not_judged() const { return {}; }

  /// Returns a fact worth knowing although nothing is wrong, for a verdict
  /// without findings: "2 of 6 parameters are frozen". Empty for most rules.
  virtual std::string note() const { return {}; }

  /// Returns the parameters that the user gave, name -> text as written. They
  /// distinguish two rules of the same name.
  const std::map<std::string, std::string>& given() const { return given_; }

  /// Whether `smdebug rules` explains what the rule looks for.
  bool is_builtin() const { return is_builtin_; }

  /// Returns what the rule judges, where its tensors are only in some
  /// trainings, in the words of a user: "the tensors of XGBoost". Empty for
  /// most rules.
  std::string_view subject() const { return subject_; }

  /// Sets the name and the given parameters. For the code that makes the rule.
  /// `subject` lives as long as the program.
  void identify(std::string_view name, std::map<std::string, std::string> given,
                bool is_builtin = false, std::string_view subject = {}) {
    name_ = name;
    given_ = std::move(given);
    is_builtin_ = is_builtin;
    subject_ = subject;
  }

 protected:
  void count_judged(std::uint64_t observations = 1) { judged_ += observations; }
  bool has_judged() const { return observations_judged() > 0; }

 private:
  std::string name_;
  std::map<std::string, std::string> given_;
  bool is_builtin_ = false;
  std::string_view subject_;
  std::uint64_t judged_ = 0;
};

// One kind of finding: its usual cause, what to try, and how bad it is.
// Verdicts, the command line and docs/rules.md take these texts from here. They
// are clauses: lower case, without a full stop.
struct Advice {
  // "too large"; empty if the rule has only one. Programs and the table of
  // causes (report/cause_table.h) tell findings apart by it.
  std::string_view when = {};
  std::string_view cause;
  std::string_view advice;
  Severity severity = Severity::serious;
};

// A rule that can be made by name.
struct RuleFactory {
  std::string_view name;       // "VanishingGradient"
  std::string_view summary;    // the meaning of a finding, in one sentence
  std::string_view condition;  // when it fires, by its parameters
  std::span<const Advice> advice;
  std::span<const ParameterSpec> parameters;
  Result<std::unique_ptr<Rule>> (*make)(const Parameters& parameters);
  // "start_step" does not limit the steps: the rule receives earlier ones too.
  bool has_own_start_step = false;
  std::string_view subject = {};  // see `Rule::subject`
};

}  // namespace smdebug
