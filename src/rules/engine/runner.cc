#include "smdebug/rules/runner.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "smdebug/base/try.h"

#include "base/strings.h"
#include "base/suggestions.h"
#include "base/text_hash.h"
#include "rules/engine/step_set.h"

namespace smdebug {
namespace {

// Enough to choose the nearest names from; a run may have millions.
constexpr std::size_t kMaxNamesSeen = 10'000;
constexpr std::size_t kNamesShown = 3;

std::string join(const std::vector<std::string>& parts, std::string_view glue) {
  return fmt::format("{}", fmt::join(parts, glue));
}

// Whether the user wrote `pattern`. The patterns of built-in rules are long and
// explain little; `smdebug rules NAME` lists them.
bool is_of_user(const std::string& pattern, const Rule& rule) {
  return !rule.is_builtin() ||
         std::ranges::any_of(rule.given(), [&](const auto& parameter) {
           return parameter.second.find(pattern) != std::string::npos;
         });
}

// Whether the user chose none of the tensors of a built-in rule.
bool is_left_to_rule(const Rule& rule, const RuleNeeds& needs) {
  const auto is_chosen = [&](const std::string& name) {
    return is_of_user(name, rule);
  };
  return rule.is_builtin() &&
         std::ranges::none_of(
             needs.selectors, [&](const TensorSelector& selector) {
               return std::ranges::any_of(selector.collections, is_chosen) ||
                      std::ranges::any_of(selector.regexes, is_chosen);
             });
}

// "collection 'gradients' or pattern 'relu'".
std::string wanted_text(const RuleNeeds& needs, const Rule& rule) {
  std::vector<std::string> parts;
  bool has_own_patterns = false;
  for (const TensorSelector& selector : needs.selectors) {
    if (selector.if_saved) continue;
    if (selector.every_tensor) parts.push_back("any tensor");
    for (const std::string& name : selector.collections) {
      parts.push_back("collection '" + name + "'");
    }
    for (const std::string& pattern : selector.regexes) {
      if (is_of_user(pattern, rule)) {
        parts.push_back("pattern '" + pattern + "'");
      } else {
        has_own_patterns = true;
      }
    }
  }
  if (has_own_patterns) {
    parts.push_back(fmt::format("the patterns of '{}'", rule.name()));
  }
  return join(parts, " or ");
}

// The form in which a rule can judge a tensor.
std::string_view form_text(RuleNeeds::Depth depth) {
  return depth == RuleNeeds::Depth::values ? "its values"
                                           : "its statistics or reductions";
}

std::string nearest_text(const Rule& rule, const RuleNeeds& needs,
                         const std::set<std::string, std::less<>>& seen) {
  if (seen.empty()) return "the run has no tensor";
  std::vector<std::string> wanted;
  for (const TensorSelector& selector : needs.selectors) {
    wanted.insert(wanted.end(), selector.regexes.begin(),
                  selector.regexes.end());
    for (std::string name : selector.collections) {
      if (name.ends_with('s')) name.pop_back();  // "gradients": "gradient/x"
      wanted.push_back(std::move(name));
    }
  }
  const std::vector<std::string> names(seen.begin(), seen.end());
  std::vector<std::string> similar;
  // A name that the user gave may differ from all names in most letters.
  if (!rule.given().empty() && !wanted.empty())
    similar = nearest_names(wanted.front(), names, kNamesShown);
  for (const std::string& name : wanted) {
    if (!similar.empty()) break;
    similar = similar_names(name, names, kNamesShown);
  }
  if (similar.empty())
    return "the run has " + count_text(seen.size(), "other tensor");
  return fmt::format("the nearest of {} {} {}", seen.size(),
                     seen.size() == 1 ? "name is" : "names are",
                     quoted_list(similar));
}

// The collections that the user named and the run does not have.
std::vector<std::string> unknown_collections(
    const Rule& rule, const RuleNeeds& needs,
    std::span<const TensorGroup> groups) {
  std::vector<std::string> unknown;
  for (const TensorSelector& selector : needs.selectors) {
    for (const std::string& name : selector.collections) {
      const bool is_known =
          std::ranges::find(groups, name, &TensorGroup::name) != groups.end();
      if (!is_known && is_of_user(name, rule)) unknown.push_back(name);
    }
  }
  return unknown;
}

// "collection 'gradient' (nearest: 'gradients')", of a collection that the run
// does not have.
std::string unknown_text(const std::string& collection,
                         std::span<const TensorGroup> groups) {
  std::vector<std::string> names;
  for (const TensorGroup& group : groups) names.push_back(group.name);
  return fmt::format("collection '{}' (nearest: {})", collection,
                     quoted_list(nearest_names(collection, names, 1)));
}

// Why the run has no tensor for the rule.
std::string not_found_text(const Rule& rule, const RuleNeeds& needs,
                           std::span<const TensorGroup> groups,
                           const std::set<std::string, std::less<>>& seen) {
  const auto unknown = unknown_collections(rule, needs, groups);
  if (!unknown.empty() && !groups.empty()) {
    std::vector<std::string> names;
    for (const TensorGroup& group : groups) names.push_back(group.name);
    return fmt::format(
        "the run has no collection {}; nearest: {}", quoted_list(unknown),
        quoted_list(nearest_names(unknown.front(), names, kNamesShown)));
  }
  std::string text = fmt::format("looked for {}; {}", wanted_text(needs, rule),
                                 nearest_text(rule, needs, seen));
  if (!is_left_to_rule(rule, needs)) return text;
  if (rule.subject().empty()) {
    return text + fmt::format(
                      "; 'smdebug run --rule {0} -- ...' records them "
                      "where the training has them, and 'smdebug rules "
                      "{0}' shows how to choose others",
                      rule.name());
  }
  const bool has_collections = std::ranges::any_of(
      needs.selectors,
      [](const TensorSelector& one) { return !one.collections.empty(); });
  return fmt::format("{} judges {}, and the run has none{}", rule.name(),
                     rule.subject(), has_collections ? "; " + text : "");
}

void set_finding(Verdict& verdict, Finding finding) {
  verdict.severity = finding.severity;
  verdict.kind = std::move(finding.kind);
  verdict.message = std::move(finding.message);
  verdict.cause = std::move(finding.cause);
  verdict.advice = std::move(finding.advice);
  verdict.evidence = std::move(finding.evidence);
  verdict.stop_training = finding.stop_training;
}

// The step of the first evidence of a finding; none if it has none.
std::optional<StepId> step_of(const Outcome& outcome) {
  if (!outcome || !*outcome || (*outcome)->evidence.empty() ||
      (*outcome)->evidence.front().step.global < 0) {
    return std::nullopt;
  }
  return (*outcome)->evidence.front().step;
}

StepId last_step_of(std::span<const ScalarSeriesView> series) {
  StepId last;
  for (const ScalarSeriesView& one : series) {
    if (!one.samples.empty() && one.samples.back().step.global > last.global)
      last = one.samples.back().step;
  }
  return last;
}

// The position of the first tensor of `evidence` in the step.
std::optional<std::size_t> position_in(const StepView& step,
                                       std::span<const Evidence> evidence) {
  std::unordered_set<std::string_view> offenders;
  for (const Evidence& one : evidence) offenders.insert(one.tensor);
  const auto first =
      std::ranges::find_if(step.tensors, [&](const Observation& observation) {
        return offenders.contains(observation.name);
      });
  if (first == step.tensors.end()) return std::nullopt;
  return static_cast<std::size_t>(first - step.tensors.begin());
}

// A rule may have judged only at the end, such as the facts of a training.
std::string nothing_found_text(const Verdict& verdict) {
  std::string text = "nothing found";
  if (verdict.steps_judged > 0)
    return text + " in " + count_text(verdict.steps_judged, "step");
  if (verdict.observations_judged > 0) text += " at the end of the run";
  return text;
}

// A matcher that remembers its answers by the numbers of the names.
class NumberedMatcher {
 public:
  explicit NumberedMatcher(TensorMatcher matcher)
      : matcher_(std::move(matcher)) {}

  bool matches(std::string_view name, std::size_t number) {
    if (number < answers_.size() && answers_[number] != Answer::unknown) {
      return answers_[number] == Answer::yes;
    }
    return decide(name, number);
  }

  const std::set<std::string>& matched_patterns() const {
    return matcher_.matched_patterns();
  }

 private:
  enum class Answer : char { unknown, yes, no };

  bool decide(std::string_view name, std::size_t number) {
    if (number >= answers_.size()) answers_.resize(number + 1);
    const bool is_match = matcher_.matches(name);
    answers_[number] = is_match ? Answer::yes : Answer::no;
    return is_match;
  }

  TensorMatcher matcher_;
  std::vector<Answer> answers_;
};

}  // namespace

// Numbers for the names of tensors, so that each is looked for once per step
// and not by every rule.
struct __attribute__((visibility("hidden"))) RuleRunner::Names {
  std::unordered_map<std::string, std::size_t, TextHash, std::equal_to<>>
      numbers;
  std::vector<std::string_view> names;  // by number, of the keys above
  std::vector<std::size_t> of_step;     // of the tensors of the current step

  std::size_t number_of(std::string_view name) {
    const auto known = numbers.find(name);
    if (known != numbers.end()) return known->second;
    const auto added = numbers.emplace(name, names.size()).first;
    names.push_back(added->first);
    return added->second;
  }

  // For the message of a rule that judged nothing.
  std::set<std::string, std::less<>> first() const {
    const auto first =
        std::span(names).first(std::min(names.size(), kMaxNamesSeen));
    return {first.begin(), first.end()};
  }

  // Most steps have the tensors of the step before.
  void take(const StepView& step) {
    of_step.resize(step.tensors.size());
    auto number = of_step.begin();
    for (const Observation& observation : step.tensors) {
      const bool is_same =
          *number < names.size() && names[*number] == observation.name;
      if (!is_same) *number = number_of(observation.name);
      ++number;
    }
  }
};

struct __attribute__((visibility("hidden"))) RuleRunner::Judge {
  std::unique_ptr<Rule> rule;
  RuleNeeds needs;
  // By run, then by selector. Made at a run's first step and again when its
  // collections change.
  std::map<std::size_t, std::vector<NumberedMatcher>> matchers;
  std::set<std::string> matched;  // patterns that a tensor has matched
  std::vector<std::vector<const Observation*>> selected;
  std::uint64_t observations_selected = 0;
  bool has_failed = false;  // after it fired
  // The runs that the rule receives: the runner's number -> the rule's number.
  std::map<std::size_t, std::size_t> runs = {{0, 0}};

  // The user's collections and patterns without a tensor, although the rule
  // has judged others: "no tensor of the run belongs to pattern
  // 'los'"; empty if there are none.
  std::string unfound(std::span<const TensorGroup> groups) {
    if (!rule->is_builtin()) return "";
    keep_matched(0);
    std::vector<std::string> parts;
    if (!groups.empty()) {
      for (const std::string& name :
           unknown_collections(*rule, needs, groups)) {
        if (is_listed("collection_names", name))
          parts.push_back(unknown_text(name, groups));
      }
    }
    for (const TensorSelector& selector : needs.selectors) {
      for (const std::string& pattern : selector.regexes) {
        if (is_listed("tensor_regex", pattern) && !matched.contains(pattern))
          parts.push_back("pattern '" + pattern + "'");
      }
    }
    return parts.empty()
               ? ""
               : "no tensor of the run belongs to " + join(parts, " or to ");
  }

  // Whether the user gave a list of names or patterns with this one. Of rules
  // that take one collection of each kind, another one may replace it.
  bool is_listed(const std::string& parameter, const std::string& name) const {
    const auto given = rule->given().find(parameter);
    return given != rule->given().end() &&
           given->second.find(name) != std::string::npos;
  }

  // Keeps which patterns have matched, before the matchers are made again.
  void keep_matched(std::size_t run) {
    const auto made = matchers.find(run);
    if (made == matchers.end()) return;
    for (const NumberedMatcher& matcher : made->second) {
      matched.insert(matcher.matched_patterns().begin(),
                     matcher.matched_patterns().end());
    }
  }

  Status make_matchers(std::size_t run, std::span<const TensorGroup> groups) {
    if (matchers.contains(run)) return {};
    std::vector<NumberedMatcher> made;
    for (const TensorSelector& selector : needs.selectors) {
      SMD_TRY(auto matcher, TensorMatcher::create(selector, groups));
      made.emplace_back(std::move(matcher));
    }
    matchers.emplace(run, std::move(made));
    return {};
  }

  // Selects the observations to judge now. Returns false if none are due yet,
  // or none remain.
  bool select(const StepView& step, const std::vector<std::size_t>& numbers) {
    std::vector<NumberedMatcher>& by_selector = matchers.at(step.run);
    const std::size_t first = is_first_look(step) ? 0 : seen->observations;
    std::size_t all = 0;
    bool has_every_role = true;
    for (std::size_t i = 0; i < selected.size(); ++i) {
      selected[i].clear();
      auto number = numbers.begin() + static_cast<std::ptrdiff_t>(first);
      for (const Observation& observation : step.tensors.subspan(first)) {
        if (by_selector[i].matches(observation.name, *number++)) {
          selected[i].push_back(&observation);
        }
      }
      all += selected[i].size();
      has_every_role = has_every_role && !selected[i].empty();
    }
    const bool is_due = step.phase == StepPhase::before_update
                            ? has_every_role
                            : is_first_look(step) || all > 0;
    if (is_due) observations_selected += all;
    return is_due;
  }

  bool is_first_look(const StepView& step) const {
    return !seen || seen->run != step.run || seen->step != step.step.global;
  }

  void has_seen(const StepView& step) {
    if (step.phase != StepPhase::before_update) return;
    seen = Seen{step.run, step.step.global, step.tensors.size()};
  }

  // The step that was last shown before its update.
  struct Seen {
    std::size_t run;
    Step step;
    std::size_t observations;
  };
  std::optional<Seen> seen;

  // A step of the judged run may be judged by its scalars and by its tensors,
  // in either order. How many samples arrive at once does not matter: a rule
  // that judges any of them has judged them all.
  std::uint64_t count_steps(std::span<const ScalarSeriesView> series,
                            bool has_judged) {
    StepSet steps;
    for (const ScalarSeriesView& one : series) {
      for (const ScalarSample& sample : one.samples)
        steps.add(sample.step.global);
    }
    judges_series = judges_series || has_judged;
    if (!judges_series) {
      waiting.add(steps);
      return 0;
    }
    return counted.add(std::exchange(waiting, {})) + counted.add(steps);
  }
  std::uint64_t count_step(const StepView& step) {
    if (!is_first_look(step)) return 0;
    return step.run != 0 || counted.add(step.step.global) ? 1 : 0;
  }
  StepSet counted, waiting;  // `waiting`: of series, before any was judged
  bool judges_series = false;
};

RuleRunner::RuleRunner(std::vector<std::unique_ptr<Rule>> rules)
    : names_(std::make_unique<Names>()) {
  for (std::unique_ptr<Rule>& rule : rules) {
    auto judge = std::make_unique<Judge>();
    judge->needs = rule->needs();
    judge->selected.resize(judge->needs.selectors.size());
    for (const std::string& location : judge->needs.other_runs) {
      auto known = std::ranges::find(other_runs_, location);
      if (known == other_runs_.end()) {
        known = other_runs_.insert(known, location);
      }
      const auto number =
          static_cast<std::size_t>(known - other_runs_.begin()) + 1;
      judge->runs.emplace(number, judge->runs.size());
    }
    Verdict& verdict = verdicts_.emplace_back();
    verdict.rule = rule->name();
    verdict.parameters = rule->given();
    judge->rule = std::move(rule);
    judges_.push_back(std::move(judge));
  }
}

RuleRunner::~RuleRunner() = default;
RuleRunner::RuleRunner(RuleRunner&&) noexcept = default;
RuleRunner& RuleRunner::operator=(RuleRunner&&) noexcept = default;

void RuleRunner::set_on_verdict(std::function<void(const Verdict&)> callback) {
  on_verdict_ = std::move(callback);
}

void RuleRunner::set_on_finding(std::function<void(const Verdict&)> callback) {
  on_finding_ = std::move(callback);
}

std::span<const Verdict> RuleRunner::verdicts() const { return verdicts_; }

std::span<const std::string> RuleRunner::other_runs() const {
  return other_runs_;
}

bool RuleRunner::is_judging() const {
  return std::ranges::any_of(verdicts_, [](const Verdict& verdict) {
    return verdict.status == RuleStatus::in_progress;
  });
}

void RuleRunner::on_collections(std::size_t run,
                                std::span<const TensorGroup> collections) {
  open_runs_.insert(run);
  groups_[run].assign(collections.begin(), collections.end());
  for (auto& judge : judges_) {
    judge->keep_matched(run);
    judge->matchers.erase(run);
  }
}

// Rules that compare runs receive the facts of the judged run only.
void RuleRunner::on_facts(std::size_t run, std::string_view worker,
                          const RunFacts& facts) {
  if (run != 0) return;
  for (auto& judge : judges_) judge->rule->on_facts(worker, facts);
}

// As the facts.
void RuleRunner::on_scalars(std::size_t run, std::string_view worker,
                            std::span<const ScalarSeriesView> series) {
  if (run != 0) return;
  open_runs_.insert(run);
  for (std::size_t i = 0; i < judges_.size(); ++i) {
    if (is_asked(i)) judge_scalars(*judges_[i], verdicts_[i], worker, series);
  }
}

void RuleRunner::judge_scalars(Judge& judge, Verdict& verdict,
                               std::string_view worker,
                               std::span<const ScalarSeriesView> series) {
  const std::uint64_t before = judge.rule->observations_judged();
  auto outcome = judge.rule->on_scalars(worker, series);
  const bool has_judged = judge.rule->observations_judged() > before;
  const bool says_nothing = !has_judged && outcome && !*outcome;
  verdict.steps_judged += judge.count_steps(series, !says_nothing);
  if (says_nothing) return;
  const StepId step = step_of(outcome).value_or(last_step_of(series));
  if (verdict.status == RuleStatus::in_progress) {
    verdict.run = 0;
    verdict.step = step;
  }
  if (on_finding_) report_finding(verdict, 0, step, outcome);
  take(judge, verdict, std::move(outcome));
}

void RuleRunner::on_step(const StepView& step) {
  open_runs_.insert(step.run);
  names_->take(step);
  for (std::size_t i = 0; i < judges_.size(); ++i) {
    if (is_asked(i)) judge_step(*judges_[i], verdicts_[i], step);
  }
}

void RuleRunner::judge_step(Judge& judge, Verdict& verdict,
                            const StepView& step) {
  const auto run = judge.runs.find(step.run);
  if (run == judge.runs.end()) return;
  if (auto made = judge.make_matchers(step.run, groups_[step.run]); !made) {
    take(judge, verdict, std::move(made).error());
    return;
  }
  if (!judge.select(step, names_->of_step)) return;
  const std::uint64_t before = judge.rule->observations_judged();
  auto outcome =
      judge.rule->on_step({run->second, step.step, step.phase, judge.selected});
  if (judge.rule->observations_judged() > before || !outcome || *outcome) {
    verdict.steps_judged += judge.count_step(step);
    if (verdict.status == RuleStatus::in_progress) {
      verdict.run = step.run;
      verdict.step = step.step;
    }
  }
  judge.has_seen(step);
  if (verdict.status == RuleStatus::in_progress && outcome && *outcome) {
    verdict.step = (*outcome)->step.value_or(step.step);
    verdict.position = position_in(step, (*outcome)->evidence);
  }
  if (on_finding_) report_finding(verdict, step.run, step.step, outcome);
  take(judge, verdict, std::move(outcome));
}

void RuleRunner::on_tick(double wall_seconds) {
  for (std::size_t i = 0; i < judges_.size(); ++i) {
    if (!is_asked(i)) continue;
    take(*judges_[i], verdicts_[i], judges_[i]->rule->on_tick(wall_seconds));
  }
}

void RuleRunner::on_run_end(std::size_t run) {
  open_runs_.erase(run);
  if (!open_runs_.empty()) return;
  for (std::size_t i = 0; i < judges_.size(); ++i) {
    if (verdicts_[i].status != RuleStatus::in_progress) continue;
    take_end(*judges_[i], verdicts_[i]);
    if (verdicts_[i].status != RuleStatus::in_progress) continue;
    finish(*judges_[i], verdicts_[i]);
  }
}

void RuleRunner::stop() {
  for (Verdict& verdict : verdicts_) {
    if (verdict.status != RuleStatus::in_progress) continue;
    verdict.message =
        "stopped before the run ended; " + nothing_found_text(verdict);
    leave(verdict, RuleStatus::stopped);
  }
}

void RuleRunner::take(Judge& judge, Verdict& verdict, Outcome outcome) {
  const bool is_of_its_kind =
      outcome || outcome.error().code != Error::Code::unsupported;
  verdict.observations_found = is_of_its_kind ? judge.observations_selected : 0;
  verdict.observations_judged = judge.rule->observations_judged();
  if (verdict.status != RuleStatus::in_progress) {
    judge.has_failed = !outcome;
  } else if (!outcome) {
    verdict.message = outcome.error().message;
    leave(verdict, RuleStatus::error);
  } else if (*outcome) {
    set_finding(verdict, **std::move(outcome));
    leave(verdict, RuleStatus::issues_found);
  }
}

void RuleRunner::take_end(Judge& judge, Verdict& verdict) {
  Outcome outcome = judge.rule->finish();
  verdict.lacks_data =
      !outcome && (outcome.error().code == Error::Code::not_found ||
                   outcome.error().code == Error::Code::unsupported);
  if (const auto step = step_of(outcome)) verdict.step = *step;
  take(judge, verdict, std::move(outcome));
}

void RuleRunner::finish(Judge& judge, Verdict& verdict) {
  if (verdict.observations_judged > 0) {
    verdict.message = nothing_found_text(verdict);
    if (const std::string missing = judge.rule->not_judged();
        !missing.empty()) {
      verdict.message += "; not judged: " + missing;
    }
    verdict.note = judge.rule->note();
    if (const std::string unfound = judge.unfound(groups_[0]);
        !unfound.empty()) {
      verdict.message += "; " + unfound;
      verdict.note = fmt::format("{}: {}", judge.rule->name(), unfound);
    }
    leave(verdict, RuleStatus::no_issues_found);
    return;
  }
  verdict.lacks_data = true;
  if (verdict.observations_found > 0) {
    verdict.message = fmt::format(
        "nothing to judge: looked for {}; found tensors, but none in a form "
        "that the rule can use, such as {}{}",
        wanted_text(judge.needs, *judge.rule), form_text(judge.needs.depth),
        judge.rule->is_builtin()
            ? fmt::format("; 'smdebug run --rule {} -- ...' saves it",
                          judge.rule->name())
            : "");
  } else if (judge.needs.selectors.empty()) {
    verdict.message = "nothing to judge: the run has no complete step";
  } else {
    verdict.message =
        "nothing to judge: " +
        not_found_text(*judge.rule, judge.needs, groups_[0], names_->first());
  }
  leave(verdict, RuleStatus::error);
}

bool RuleRunner::is_asked(std::size_t judge) const {
  const RuleStatus status = verdicts_[judge].status;
  return status == RuleStatus::in_progress ||
         (on_finding_ && status == RuleStatus::issues_found &&
          !judges_[judge]->has_failed);
}

void RuleRunner::report_finding(const Verdict& verdict, std::size_t run,
                                const StepId& step, const Outcome& outcome) {
  if (!outcome || !*outcome) return;
  Verdict found = verdict;
  found.status = RuleStatus::issues_found;
  found.run = run;
  found.step = step;
  set_finding(found, **outcome);
  on_finding_(found);
}

void RuleRunner::leave(Verdict& verdict, RuleStatus status) {
  verdict.status = status;
  if (on_verdict_) on_verdict_(verdict);
}

RuleRunner::DataNeed RuleRunner::data_need(std::size_t run,
                                           std::string_view tensor_name) {
  const std::size_t number = names_->number_of(tensor_name);
  DataNeed need = DataNeed::none;
  for (std::size_t i = 0; i < judges_.size(); ++i) {
    if (!is_asked(i)) continue;
    Judge& judge = *judges_[i];
    if (!judge.runs.contains(run)) continue;
    // `judge_step` reports a pattern that does not compile.
    if (!judge.make_matchers(run, groups_[run])) continue;
    const bool is_wanted = std::ranges::any_of(
        judge.matchers.at(run), [&](NumberedMatcher& matcher) {
          return matcher.matches(tensor_name, number);
        });
    if (!is_wanted) continue;
    if (judge.needs.depth == RuleNeeds::Depth::values) return DataNeed::values;
    need = DataNeed::statistics;
  }
  return need;
}

}  // namespace smdebug
