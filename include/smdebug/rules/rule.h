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

class Rule {
 public:
  virtual ~Rule() = default;

  virtual std::string_view name() const = 0;
  virtual RuleNeeds needs() const = 0;

  /// Judges one step. None: nothing is wrong so far. An error ends this rule
  /// alone, and is its verdict.
  virtual Result<std::optional<Finding>> on_step(const RuleStep& step) = 0;

  /// Says the time; most rules do not care.
  virtual Result<std::optional<Finding>> on_tick(double wall_seconds);

  /// No step will follow. Where nothing could be judged: `not_found` says what
  /// there was too little of, `unsupported` that what was selected is not of
  /// the kind that the rule judges.
  virtual Result<std::optional<Finding>> finish();

  /// How many observations were really judged: a rule that looked at none
  /// must not say that nothing is wrong.
  virtual std::uint64_t observations_judged() const = 0;

  /// What of its condition this rule could not judge, for the verdict that
  /// nothing was found: "the gradients: none were saved". Empty: all of it was.
  virtual std::string not_judged() const;

  /// The parameters that its user gave, name -> text as written: they tell two
  /// rules of one name apart.
  const std::map<std::string, std::string>& given() const { return given_; }
  void set_given(std::map<std::string, std::string> given) {
    given_ = std::move(given);
  }

 private:
  std::map<std::string, std::string> given_;
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
