#include "rules/builtin/loss_trend_rule.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "smdebug/base/try.h"
#include "smdebug/core/tensor_names.h"
#include "smdebug/core/tensor_view.h"

#include "base/strings.h"
#include "rules/builtin/loss_findings.h"
#include "rules/builtin/tree_losses.h"
#include "rules/engine/counted_step.h"
#include "rules/engine/finding.h"
#include "rules/measures/learning_rates.h"
#include "rules/measures/loss_of_guess.h"
#include "rules/measures/loss_role.h"
#include "rules/measures/loss_trend.h"
#include "rules/measures/optimizer_turns.h"
#include "rules/measures/quantity.h"
#include "rules/measures/training_losses.h"
#include "rules/measures/update_size.h"

namespace smdebug {
namespace {

using Kind = LossTrend::Kind;

// A loss that rose by this factor diverges, and by this one it leapt. One that
// fell this many times below zero has no lower bound.
constexpr double kDivergence = 10, kLeap = 1.5, kPlunge = 1000;
// No model learns in the first few hundred steps with a learning rate that is
// lower, or after a schedule has lowered it to this share.
constexpr double kLowRate = 1e-5, kDecay = 1e-3;
// Learning rates between these multiples of that of the books are usual.
constexpr double kLeastUsual = 0.1, kMostUsual = 10;
// A model below this share of the loss of a guess has learned something.
constexpr double kBetter = 0.9;
// The variance of the targets of a few batches is known to about that share.
constexpr double kNearConstant = 0.1;
// Of the loss of a guess, with dropout: a model above it has learned nothing.
constexpr double kDroppedOut = 0.95;
// A rate of dropout that leaves a model hardly anything.
constexpr double kHighDropout = 0.7;
// A loss this many times that of a constant prediction at the end of a training
// of so many steps: the model is worse than one number.
constexpr double kWorseThanConstant = 2;
constexpr Step kFewestAtEnd = 100;
// Losses of triplets before they are judged.
constexpr std::size_t kFewestOfTriplets = 200;
// Targets of this size, or this standard deviation, are not scaled.
constexpr double kLargeTargets = 10;
// Steps whose calls and losses are counted, to know the kind of the training.
constexpr std::size_t kMostCounted = 4096;
// A need of more steps than this only says that the losses are too noisy.
constexpr double kMostNeeded = 1e6;

// The clause about one loss: "loss_output_0 (worker_1): the loss ...".
std::string course_text(const LossTrend::Answer& answer, Step steps) {
  const auto& [kind, before, now, least, most, needed, is_at_rest] = answer;
  switch (kind) {
    case Kind::constant:
      return fmt::format("the loss is {:.4g} at every one of {} steps", now,
                         steps);
    case Kind::still:
      return fmt::format(
          "the loss does not fall: {:.4g} in the first steps, {:.4g} after {} "
          "steps",
          before, now, steps);
    case Kind::guesses:
      return fmt::format(
          "the loss fell from {:.4g} to {:.4g} and falls no more: {:.4g} after "
          "{} steps",
          before, least, now, steps);
    case Kind::leapt:
      return fmt::format(
          "the loss leapt from {:.4g} to {:.4g} in the first steps; after {} "
          "steps it is {:.4g}, no lower than it began",
          before, most, steps, now);
    case Kind::rises:
      return fmt::format(
          "the loss rises: {:.4g} in the earlier steps, {:.4g} after {} steps",
          before, now, steps);
    case Kind::returned:
      return fmt::format(
          "the loss fell to {:.4g} and is {:.4g} after {} steps, as high again "
          "as in the first steps ({:.4g})",
          least, now, steps, before);
    case Kind::oscillates:
      return fmt::format(
          "the loss oscillates between about {:.4g} and {:.4g} and does not "
          "fall: {:.4g} in the first steps, {:.4g} after {} steps",
          least, most, before, now, steps);
    case Kind::plunges:
      return fmt::format(
          "the loss falls ever faster below zero: {:.4g} after {} steps, and "
          "the first losses were about {:.4g} from zero",
          now, steps, before);
    case Kind::crawls:
      return fmt::format(
          "the loss hardly falls: {:.4g} in the first steps, {:.4g} in the "
          "middle, {:.4g} after {} steps",
          before, least, now, steps);
    case Kind::unknown:
    case Kind::falls:
    case Kind::not_judged:
      break;
  }
  return {};
}

bool has_decayed(const LearningRates::Rate& rate) {
  return rate.now <= kDecay * rate.highest;
}

// "; the learning rate of SGD is 0.1".
std::string rate_text(const std::optional<LearningRates::Rate>& rate) {
  if (!rate) return {};
  const std::string subject =
      fmt::format("; the learning rate of {}", rate->optimizer);
  return has_decayed(*rate) && rate->highest > 0
             ? fmt::format("{} has fallen from {:.4g} to {:.4g}", subject,
                           rate->highest, rate->now)
             : fmt::format("{} is {:.4g}", subject, rate->now);
}

// Whether the optimizer moves the weights by as much as usual.
bool is_usual(const LearningRates::Rate& rate) {
  const auto usual = usual_rate({rate.optimizer, 0, 0});
  return usual && rate.now >= kLeastUsual * *usual &&
         rate.highest <= kMostUsual * *usual;
}

// Whether the only loss has targets in a unit of their own. Small targets may
// grow during a training, as those of values in reinforcement learning do.
bool has_large_targets(const RunFacts& facts) {
  if (facts.losses.size() != 1 || !facts.losses.front().input) return false;
  const auto& targets = facts.losses.front().input->targets;
  return targets && std::max(std::abs(targets->mean.value_or(0)),
                             targets->deviation.value_or(0)) > kLargeTargets;
}

double highest_dropout(const RunFacts& facts) {
  double highest = 0;
  for (const ModuleFacts& module : facts.modules) {
    if (module.kind.find("Dropout") == std::string::npos) continue;
    highest = std::max(highest, setting(module.settings, "p").value_or(0));
  }
  return highest;
}

LossFault fault_of(const LossTrend::Answer& answer,
                   const std::optional<LearningRates::Rate>& rate) {
  switch (answer.kind) {
    case Kind::constant:
      return answer.now == 0 ? LossFault::zero : LossFault::constant;
    case Kind::leapt:
      return LossFault::leapt;
    case Kind::returned:
      return LossFault::returned;
    case Kind::oscillates:
      return LossFault::oscillates;
    case Kind::plunges:
      return LossFault::plunges;
    case Kind::rises:
      return answer.now > kDivergence * answer.before ? LossFault::diverges
                                                      : LossFault::rises;
    default:
      if (!rate) return LossFault::still;
      if (rate->highest <= kLowRate) return LossFault::still_at_low_rate;
      if (has_decayed(*rate)) return LossFault::still_after_decay;
      return is_usual(*rate) ? LossFault::still_at_usual_rate
                             : LossFault::still;
  }
}

void set_numbers(const LossTrend::Answer& answer, Evidence& evidence) {
  evidence.quantity = "loss";
  evidence.value = answer.now;
  evidence.relation = ">=";
  evidence.threshold = answer.before;
  if (answer.kind == Kind::guesses) {
    evidence.threshold = answer.least;
  } else if (answer.kind == Kind::still) {
    evidence.quantity = "decrease of the loss in percent";
    evidence.value = 100 * (answer.before - answer.now) / answer.before;
    evidence.relation = "<";
    evidence.threshold = 5;
  } else if (answer.kind == Kind::returned) {
    evidence.threshold = answer.least;
  } else if (answer.kind == Kind::plunges) {
    evidence.relation = "<";
    evidence.threshold = -answer.before;
  } else if (answer.kind == Kind::crawls) {
    evidence.quantity = "fall in the second half / fall in the first half";
    evidence.value =
        (answer.least - answer.now) / (answer.before - answer.least);
    evidence.relation = ">";
    evidence.threshold = 0.8;
  }
}

constexpr std::string_view kUndirected =
    "the course of losses that are negative or minimized in turn";

class LossTrendRule : public Rule {
 public:
  explicit LossTrendRule(LossSelection selection)
      : selection_(std::move(selection)) {}

  RuleNeeds needs() const override {
    RuleNeeds needs;
    needs.selectors.push_back(selection_.tensors);
    return needs;
  }

  void on_facts(std::string_view worker, const RunFacts& facts) override {
    Worker& known = workers_[std::string(worker)];
    known.guess = guess_of(facts);
    known.of_constant = loss_of_constant(facts);
    known.of_equal_outputs = loss_of_equal_outputs(facts);
    known.dropout = highest_dropout(facts);
    known.has_large_targets = has_large_targets(facts);
    known.roles.add(facts);
    known.boosting = boosting_of(facts);
  }

  Outcome on_scalars(std::string_view worker_name,
                     std::span<const ScalarSeriesView> series) override {
    std::optional<Finding> finding;
    if (!selection_.use_series) return finding;
    Worker& worker = workers_[std::string(worker_name)];
    // First the kind of the training, so that the verdict does not depend on
    // how many samples arrive at once.
    for (const ScalarSeriesView& one : series) {
      count_steps(worker, one);
      worker.rates.add(one);
      worker.turns.add(one);
    }
    for (const ScalarSeriesView& one : series) {
      if (!is_loss(one.name)) continue;
      for (const ScalarSample& sample : one.samples) {
        Evidence evidence;
        evidence.tensor = one.name;
        evidence.worker = worker_name;
        evidence.step = sample.step;
        take(finding,
             judge(worker, worker.series, std::move(evidence), sample.value));
      }
    }
    if (!finding && worker.waiting && has_series_until(worker)) {
      return judge_waiting(worker);
    }
    return finding;
  }

  Outcome on_step(const RuleStep& step) override {
    std::optional<Finding> finding;
    for (const Observation* tensor : step.by_selector(0)) {
      if (!selection_.use_mean && element_count(tensor->shape) != 1) continue;
      SMD_TRY(const auto value, quantity(*tensor, {Reduction::mean}));
      if (!value) continue;
      Worker& worker = workers_[std::string(tensor->worker)];
      Evidence evidence = evidence_of(*tensor, step.step);
      if (worker.series.empty()) {
        take(finding,
             judge(worker, worker.tensors, std::move(evidence), *value));
      } else if (!std::isfinite(*value) && !worker.waiting) {
        // The losses of layers may rise while their sum falls, so finite ones
        // are not judged.
        worker.waiting = {std::move(evidence), *value};
      }
    }
    return finding;
  }

  Outcome finish() override {
    std::optional<Finding> finding;
    seen_ = 0;
    needed_ = 0;
    for (auto& [name, worker] : workers_) {
      if (worker.waiting) take(finding, judge_waiting(worker));
      for (auto& [tensor, loss] : losses_of(worker)) {
        Evidence evidence;
        evidence.tensor = tensor;
        evidence.worker = name;
        evidence.step = loss.newest;
        auto found = conclude(worker, loss, evidence);
        if (!found) found = conclude_crawl(worker, loss, evidence);
        if (!found) found = conclude_end(worker, loss, std::move(evidence));
        take(finding, std::move(found));
      }
    }
    if (finding || !has_judged() || has_answer_) return finding;
    if (needed_ == 0) {
      return Error{
          Error::Code::not_found,
          "nothing to judge: XGBoost's metrics of a validation set and "
          "error rates need not fall; pass the training set in evals, "
          "and a loss in eval_metric"};
    }
    return Error{Error::Code::not_found,
                 "nothing to judge: " + too_little_text()};
  }

  std::string not_judged() const override {
    if (!has_undirected_) return {};
    return std::string(kUndirected) + ": they may rise";
  }

  // "no issue" reads as if the loss fell.
  std::string note() const override {
    if (!has_undirected_) return {};
    return "LossNotDecreasing does not judge " + std::string(kUndirected);
  }

 private:
  struct Loss {
    LossTrend trend;
    StepId newest;
    std::optional<Step> counted;  // the newest step, in its mode
    std::optional<double> first;
    double highest = 0, lowest = 0;
    std::optional<ScalarSample> leap;  // the first loss far above `first`

    void note(const StepId& step, double value) {
      if (!first) first = value;
      highest = std::max(highest, value);
      lowest = std::min(lowest, value);
      if (!leap && value > kLeap * std::abs(*first)) leap = {step, value};
    }
  };
  using Losses = std::map<std::string, Loss, std::less<>>;

  // A saved loss that is not finite.
  struct SavedLoss {
    Evidence evidence;
    double value = 0;
  };

  struct Worker {
    Losses series, tensors;
    LossRoles roles;
    // The series of a live run arrive after the tensors of its saved steps, and
    // have the losses before this one. It waits for them, so that the verdict
    // does not depend on when they arrive.
    std::optional<SavedLoss> waiting;
    // Steps that call a model more than once, and the steps of each loss.
    std::set<Step> repeated_calls;
    std::map<std::string, std::set<Step>, std::less<>> loss_steps;
    std::optional<Guess> guess;
    std::optional<double> of_constant;  // the loss of a constant prediction
    std::optional<double> of_equal_outputs;  // of the same output for all
    double dropout = 0;                      // the highest rate
    bool has_large_targets = false;
    LearningRates rates;
    OptimizerTurns turns;
    Boosting boosting;
  };

  static bool is_loss(std::string_view series) {
    return names_loss(series) || role_in_xgboost(series);
  }

  static Losses& losses_of(Worker& worker) {
    return worker.series.empty() ? worker.tensors : worker.series;
  }

  // Whether a series has reached the step of the loss that waits.
  static bool has_series_until(const Worker& worker) {
    const Step step = worker.waiting->evidence.step.global;
    return std::ranges::any_of(worker.series, [step](const auto& loss) {
      return loss.second.newest.global >= step;
    });
  }

  std::optional<Finding> judge_waiting(Worker& worker) {
    SavedLoss loss = *std::exchange(worker.waiting, std::nullopt);
    return judge(worker, worker.tensors, std::move(loss.evidence), loss.value);
  }

  void count_steps(Worker& worker, const ScalarSeriesView& series) const {
    std::set<Step>* steps = nullptr;
    if (series.name == name_parts::kRepeatedCalls) {
      steps = &worker.repeated_calls;
    } else if (is_loss(series.name)) {
      steps = &worker.loss_steps[std::string(series.name)];
    }
    if (!steps) return;
    for (const ScalarSample& sample : series.samples) {
      if (steps->size() == kMostCounted) return;
      if (const auto counted = counted_step(sample.step, selection_.mode)) {
        steps->insert(*counted);
      }
    }
  }

  std::optional<Finding> judge(Worker& worker, Losses& losses,
                               Evidence evidence, double value) {
    const auto counted = counted_step(evidence.step, selection_.mode);
    if (!counted) return std::nullopt;
    auto known = losses.find(evidence.tensor);
    if (known == losses.end()) {
      known = losses.try_emplace(evidence.tensor).first;
    }
    Loss& loss = known->second;
    if (loss.counted && *loss.counted >= *counted) return std::nullopt;
    loss.counted = *counted;
    loss.newest = evidence.step;
    count_judged();
    if (!std::isfinite(value)) {
      return not_finite(worker, loss, std::move(evidence), value);
    }
    loss.note(evidence.step, value);
    if (!loss.trend.add(*counted, value)) return std::nullopt;
    return conclude(worker, loss, std::move(evidence));
  }

  static Finding not_finite(const Worker& worker, const Loss& loss,
                            Evidence evidence, double value) {
    if (!loss.first) return not_finite_finding(std::move(evidence), value);
    if (loss.lowest < -kPlunge * std::max(std::abs(*loss.first), 1.0)) {
      Finding finding =
          not_finite_finding(std::move(evidence), value, LossFault::plunges);
      finding.message += fmt::format(", after it fell from {:.4g} to {:.4g}",
                                     *loss.first, loss.lowest);
      return finding;
    }
    if (loss.highest <= kDivergence * std::abs(*loss.first)) {
      return not_finite_finding(std::move(evidence), value,
                                LossFault::suddenly_not_finite);
    }
    // The growth dates the finding.
    Evidence growth = evidence;
    set_leap(loss, growth);
    const auto rate = worker.rates.at(growth.step.global);
    Finding finding = not_finite_finding(
        std::move(evidence), value,
        worker.boosting.has_own_objective ? LossFault::trees_of_wrong_sign
                                          : LossFault::grew_until_not_finite);
    finding.message += fmt::format(", after it rose from {:.4g} to {:.4g}",
                                   *loss.first, loss.highest) +
                       rate_text(rate);
    finding.step = growth.step;
    finding.evidence.insert(finding.evidence.begin(), std::move(growth));
    return finding;
  }

  static void set_leap(const Loss& loss, Evidence& evidence) {
    if (!loss.leap) return;
    evidence.step = loss.leap->step;
    evidence.quantity = "loss";
    evidence.value = loss.leap->value;
    evidence.relation = ">";
    evidence.threshold = kLeap * std::abs(*loss.first);
  }

  std::optional<Finding> conclude(const Worker& worker, Loss& loss,
                                  Evidence evidence) {
    if (!can_judge(worker, evidence.tensor)) return std::nullopt;
    const LossTrend::Answer answer =
        loss.trend.judge(setting_of(worker, evidence.tensor, loss));
    if (answer.kind == Kind::unknown) {
      needed_ = std::max(needed_, answer.needed);
      note_unknown(loss.trend, evidence.tensor);
      return std::nullopt;
    }
    has_answer_ = true;
    has_undirected_ |= answer.kind == Kind::not_judged;
    if (answer.kind == Kind::falls || answer.kind == Kind::not_judged) {
      return std::nullopt;
    }
    const std::optional<Guess>& guess = worker.guess;
    const bool is_still =
        answer.kind == Kind::still || answer.kind == Kind::guesses;
    // A model that was trained before.
    if (is_still && guess && answer.now < kBetter * guess->loss) {
      return std::nullopt;
    }
    Finding finding;
    finding.message =
        fmt::format("{}: {}", tensor_text(evidence.tensor, evidence.worker),
                    course_text(answer, loss.trend.steps()));
    if (is_still && guess && answer.now < kNearGuess * guess->loss) {
      finding.message +=
          fmt::format(", the loss of a guess among {} classes ({:.4g})",
                      guess->classes, guess->loss);
    }
    const auto constant = worker.of_constant;
    if (is_still && constant &&
        std::abs(answer.now - *constant) < kNearConstant * *constant) {
      finding.message += fmt::format(
          ", about that of a constant prediction, the variance of the targets "
          "({:.4g})",
          *constant);
    }
    set_numbers(answer, evidence);
    if (answer.kind == Kind::leapt) {
      set_leap(loss, evidence);
      finding.step = evidence.step;
    }
    const auto rate = worker.rates.at(evidence.step.global);
    if (answer.kind != Kind::constant) finding.message += rate_text(rate);
    set_cause(finding, worker, loss, answer, evidence.tensor);
    if (is_still && has_equal_outputs(worker, answer.now)) {
      finding.message += fmt::format(
          "; a model with the same output for all samples has the loss {:.4g}, "
          "its margin",
          *worker.of_equal_outputs);
      set_advice(finding, advice_on(LossFault::equal_outputs));
    } else if (is_still && worker.dropout >= kHighDropout) {
      finding.message += dropout_text(worker);
      set_advice(finding, advice_on(LossFault::dropped_out));
    }
    finding.evidence.push_back(std::move(evidence));
    return finding;
  }

  static bool has_equal_outputs(const Worker& worker, double loss) {
    const auto& equal = worker.of_equal_outputs;
    return equal && std::abs(loss - *equal) < (kNearGuess - 1) * *equal;
  }

  static std::string dropout_text(const Worker& worker) {
    return fmt::format("; dropout drops up to {:.3g} % of the units",
                       100 * worker.dropout);
  }

  // Judges a loss that falls at the end of a training: where it has arrived.
  static std::optional<Finding> conclude_end(const Worker& worker,
                                             const Loss& loss,
                                             Evidence evidence) {
    const Step steps = loss.trend.steps();
    const double now = loss.trend.now();
    const auto setting = setting_of(worker, evidence.tensor, loss);
    if (steps < kFewestAtEnd || !can_judge(worker, evidence.tensor) ||
        setting.has_repeated_calls || setting.has_rivals) {
      return std::nullopt;
    }
    Finding finding;
    finding.message =
        fmt::format("{}: the loss is {:.4g} after {} steps",
                    tensor_text(evidence.tensor, evidence.worker), now, steps);
    evidence.quantity = "loss";
    evidence.value = now;
    evidence.relation = ">";
    if (worker.guess && worker.dropout >= kHighDropout &&
        now > kDroppedOut * worker.guess->loss) {
      evidence.threshold = kDroppedOut * worker.guess->loss;
      finding.message +=
          fmt::format(", about that of a guess among {} classes ({:.4g})",
                      worker.guess->classes, worker.guess->loss) +
          dropout_text(worker);
      set_advice(finding, advice_on(LossFault::dropped_out));
    } else if (worker.of_constant && worker.has_large_targets &&
               now > kWorseThanConstant * *worker.of_constant) {
      evidence.threshold = kWorseThanConstant * *worker.of_constant;
      finding.message += fmt::format(
          ", and a constant prediction would have the variance of the targets "
          "({:.4g})",
          *worker.of_constant);
      set_advice(finding, advice_on(LossFault::worse_than_constant));
    } else {
      return std::nullopt;
    }
    finding.evidence.push_back(std::move(evidence));
    return finding;
  }

  static void set_cause(Finding& finding, const Worker& worker,
                        const Loss& loss, const LossTrend::Answer& answer,
                        std::string_view tensor) {
    const auto role = worker.roles.in_xgboost(tensor);
    const Step rounds = loss.trend.steps();
    const auto fault =
        role ? fault_of_boosting(answer, worker.boosting, role->pair, rounds)
             : std::nullopt;
    if (!fault) {
      const auto rate = worker.rates.at(loss.newest.global);
      set_advice(finding, advice_on(fault_of(answer, rate)));
      return;
    }
    set_advice(finding, advice_on(*fault));
    if (*fault == LossFault::trees_at_low_rate) {
      finding.message += low_eta_text(worker.boosting, rounds);
    }
    if (may_be_other_metric(*fault, worker.boosting, role->pair)) {
      finding.severity = Severity::advice;
    }
  }

  // Judges a training of trees that has ended: more rounds might have been
  // enough. The losses of batches are too noisy.
  static std::optional<Finding> conclude_crawl(const Worker& worker,
                                               const Loss& loss,
                                               Evidence evidence) {
    const auto role = worker.roles.in_xgboost(evidence.tensor);
    if (!role || role->part != LossRole::Part::training ||
        is_error_rate(role->pair) ||
        !has_low_eta(worker.boosting, loss.trend.steps())) {
      return std::nullopt;
    }
    const auto crawl = loss.trend.crawl();
    if (!crawl) return std::nullopt;
    Finding finding;
    finding.message =
        fmt::format("{}: {}", tensor_text(evidence.tensor, evidence.worker),
                    course_text(*crawl, loss.trend.steps()));
    set_numbers(*crawl, evidence);
    set_cause(finding, worker, loss, *crawl, evidence.tensor);
    finding.evidence.push_back(std::move(evidence));
    return finding;
  }

  // Of XGBoost's metrics, only a loss of the training must fall. That of a
  // validation set, which may rise, is judged if there is no other.
  static bool can_judge(const Worker& worker, std::string_view tensor) {
    const auto role = worker.roles.in_xgboost(tensor);
    if (!role) return true;
    if (is_error_rate(role->pair)) return false;
    const Losses& losses =
        worker.series.empty() ? worker.tensors : worker.series;
    return role->part == LossRole::Part::training || losses.size() == 1;
  }

  static Step count_until(const std::set<Step>& steps, Step end) {
    return std::distance(steps.begin(), steps.upper_bound(end));
  }

  // Whether another loss is minimized as well, in the same steps or in turn.
  static bool has_rivals(const Worker& worker, std::string_view tensor,
                         const Loss& loss) {
    if (worker.series.empty()) {
      return std::ranges::any_of(worker.tensors, [&](const auto& one) {
        return one.first != tensor && !role_in_xgboost(one.first);
      });
    }
    if (worker.turns.alternate(loss.newest.global)) return true;
    const Step end = loss.counted.value_or(0);
    const Step steps = std::min<Step>(loss.trend.steps(), kMostCounted);
    return std::ranges::any_of(worker.loss_steps, [&](const auto& one) {
      return one.first != tensor && !role_in_xgboost(one.first) &&
             4 * count_until(one.second, end) > steps;
    });
  }

  static LossTrend::Setting setting_of(const Worker& worker,
                                       std::string_view tensor,
                                       const Loss& loss) {
    const Step end = loss.counted.value_or(0);
    const Step steps = std::min<Step>(loss.trend.steps(), kMostCounted);
    LossTrend::Setting setting;
    // A model is called for each sample of a triplet. Such a loss may begin at
    // its margin.
    const bool is_of_triplets =
        worker.of_equal_outputs && loss.trend.losses() >= kFewestOfTriplets;
    setting.has_repeated_calls =
        !is_of_triplets && 2 * count_until(worker.repeated_calls, end) > steps;
    setting.has_rivals = has_rivals(worker, tensor, loss);
    setting.guess = worker.guess ? worker.guess->loss : worker.of_equal_outputs;
    return setting;
  }

  void note_unknown(const LossTrend& trend, std::string_view loss) {
    if (trend.steps() < seen_) return;
    seen_ = trend.steps();
    losses_ = trend.losses();
    unit_ = role_in_xgboost(loss) ? "round" : "step";
  }

  // "91 rounds, of which 10 were saved,".
  std::string seen_text() const {
    const auto seen = static_cast<std::uint64_t>(seen_);
    std::string text = count_text(seen, unit_);
    if (losses_ < seen)
      text += fmt::format(", of which {} were saved,", losses_);
    return text;
  }

  std::string too_little_text() const {
    const std::string seen = seen_text();
    if (needed_ > kMostNeeded) {
      return fmt::format(
          "the losses of {} are too noisy to tell whether they fall", seen);
    }
    // More digits would promise too much.
    const double unit = std::pow(10, std::floor(std::log10(needed_)) - 1);
    std::string text = fmt::format(
        "{} {} too few to tell whether the loss falls; it needs about {:.0f}",
        seen, seen_ == 1 ? "is" : "are", std::ceil(needed_ / unit) * unit);
    const bool are_sparse = losses_ < static_cast<std::size_t>(seen_);
    if (are_sparse && needed_ > LossTrend::kFewestSteps)
      text += ", or fewer if more of them are saved";
    return text;
  }

  static void take(std::optional<Finding>& finding,
                   std::optional<Finding> more) {
    if (more) merge(finding, *std::move(more));
  }

  LossSelection selection_;
  std::map<std::string, Worker> workers_;
  bool has_answer_ = false;
  bool has_undirected_ = false;
  Step seen_ = 0;           // of an unknown course, with
  std::size_t losses_ = 0;  // so many of them saved
  std::string_view unit_ = "step";
  double needed_ = 0;  // steps
};

}  // namespace

std::unique_ptr<Rule> make_loss_trend_rule(LossSelection selection) {
  return std::make_unique<LossTrendRule>(std::move(selection));
}

}  // namespace smdebug
