#pragma once

// A `Rule` judges observations, step by step, and says once what is wrong. It
// opens no file, starts no thread, keeps its own memory, and works the same
// inside the training step, beside the run, and over runs of last year.
//
// To write one: say in `needs` what must be captured, judge in `on_step`. The
// built-in ones are listed in `builtin_rules.h`; src/rules/builtin/ has one
// file per rule. `runner.h` drives them.

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

namespace smdebug {

// Which tensors: those of the collections, and those whose name a regex
// finds; the union of the two.
struct TensorSelector {
  std::vector<std::string> collections;
  std::vector<std::string> regexes;
  bool every_tensor = false;
  bool if_saved = false;  // looked at where a run has them, never asked for
  // The collection that capture adds the regexes to; empty: the rule's own.
  std::string capture_as = {};
};

// What a rule needs to see. Capture and the launcher turn it into what is
// saved.
struct RuleNeeds {
  std::vector<TensorSelector> selectors;  // one per role a tensor plays
  enum class Depth { statistics, values } depth = Depth::statistics;
  Step interval = 0;  // 0: as often as the run saves
  // The runs that the judged one is compared with, as `Trial::open` takes
  // them. Their steps come with `RuleStep::run` 1, 2, ... in this order; a
  // rule without any sees the judged run alone.
  std::vector<std::string> other_runs = {};
};

// The observations of one step that one rule selected. Lives for the call.
struct RuleStep {
  std::size_t run = 0;  // 0: the judged one; else of `RuleNeeds::other_runs`
  StepId step;
  StepPhase phase = StepPhase::complete;
  // By position of the selector in `RuleNeeds::selectors`.
  std::span<const std::vector<const Observation*>> selected;

  std::span<const Observation* const> by_selector(std::size_t i) const {
    return selected[i];
  }
};

// What a rule found: the runner makes the `Verdict` of it.
struct Finding {
  std::string message;
  std::string cause;   // what usually leads to it
  std::string advice;  // what to try
  std::vector<Evidence> evidence;
  bool stop_training = false;  // the user asked this rule to end the training
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

  /// Returns what must be captured or read for the rule to judge. Asked once.
  virtual RuleNeeds needs() const = 0;

  /// Judges one step and counts what it judged with `count_judged`. An error
  /// ends only this rule, and is its verdict.
  virtual Outcome on_step(const RuleStep& step) = 0;

  /// Receives the time, in seconds since the epoch. Most rules ignore it.
  virtual Outcome on_tick(double wall_seconds);

  /// Called when no step will follow. If nothing could be judged, `not_found`
  /// explains what was missing, and `unsupported` that the selected tensors are
  /// not of the kind that the rule judges.
  virtual Outcome finish();

  /// Returns how many observations were judged. Without any, the verdict is an
  /// error, never "no issues found".
  virtual std::uint64_t observations_judged() const { return judged_; }

  /// Returns which part of its condition the rule could not judge, for a
  /// verdict without findings: "the gradients: none were saved". Empty if it
  /// judged all of it.
  virtual std::string not_judged() const;

  /// The parameters that the user gave, name -> text as written. They
  /// distinguish two rules of one name.
  const std::map<std::string, std::string>& given() const { return given_; }

  /// Sets the name and the given parameters. For whatever makes the rule.
  void identify(std::string_view name,
                std::map<std::string, std::string> given) {
    name_ = name;
    given_ = std::move(given);
  }

 protected:
  void count_judged(std::uint64_t observations = 1) { judged_ += observations; }
  bool has_judged() const { return observations_judged() > 0; }

 private:
  std::string name_;
  std::map<std::string, std::string> given_;
  std::uint64_t judged_ = 0;
};

// The usual cause of a finding, and what to try. Verdicts, the command line and
// docs/rules.md all take these texts from here. They are clauses: lower case,
// without a full stop.
struct Advice {
  std::string_view when = {};  // "too large"; empty if the rule has only one
  std::string_view cause;
  std::string_view advice;
};

// A rule that can be made by name.
struct RuleFactory {
  std::string_view name;       // "VanishingGradient"
  std::string_view summary;    // what a finding means, in one sentence
  std::string_view condition;  // when it fires, by its parameters
  std::span<const Advice> advice;
  std::span<const ParameterSpec> parameters;
  Result<std::unique_ptr<Rule>> (*make)(const Parameters& parameters);
  // "start_step" means something of its own: steps before it are seen too.
  bool has_own_start_step = false;
};

}  // namespace smdebug
