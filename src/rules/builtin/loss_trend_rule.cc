#include "rules/builtin/loss_trend_rule.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "smdebug/base/try.h"
#include "smdebug/core/tensor_view.h"

#include "base/strings.h"
#include "rules/builtin/followed_losses.h"
#include "rules/builtin/loss_course.h"
#include "rules/builtin/loss_findings.h"
#include "rules/builtin/tree_losses.h"
#include "rules/engine/counted_step.h"
#include "rules/engine/finding.h"
#include "rules/measures/learning_rates.h"
#include "rules/measures/loss_of_guess.h"
#include "rules/measures/loss_role.h"
#include "rules/measures/loss_trend.h"
#include "rules/measures/quantity.h"

namespace smdebug {
namespace {

using Kind = LossTrend::Kind;

// A loss that fell this many times below zero has no lower bound.
constexpr double kPlunge = 1000;
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
// A need of more steps than this only says that the losses are too noisy.
constexpr double kMostNeeded = 1e6;

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
    workers_[std::string(worker)].set_facts(facts);
  }

  Outcome on_scalars(std::string_view worker_name,
                     std::span<const ScalarSeriesView> series) override {
    std::optional<Finding> finding;
    if (!selection_.use_series) return finding;
    LossWorker& worker = workers_[std::string(worker_name)];
    // First the kind of the training, so that the verdict does not depend on
    // how many samples arrive at once.
    for (const ScalarSeriesView& one : series) {
      worker.count_steps(one, selection_.mode);
      worker.rates.add(one);
      worker.turns.add(one);
    }
    for (const ScalarSeriesView& one : series) {
      if (!is_loss_series(one.name)) continue;
      for (const ScalarSample& sample : one.samples) {
        Evidence evidence;
        evidence.tensor = one.name;
        evidence.worker = worker_name;
        evidence.step = sample.step;
        take(finding,
             judge(worker, worker.series, std::move(evidence), sample.value));
      }
    }
    if (!finding && worker.waiting && worker.has_series_until_waiting()) {
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
      LossWorker& worker = workers_[std::string(tensor->worker)];
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
      for (auto& [tensor, loss] : worker.losses()) {
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
  std::optional<Finding> judge_waiting(LossWorker& worker) {
    LossWorker::SavedLoss loss = *std::exchange(worker.waiting, std::nullopt);
    return judge(worker, worker.tensors, std::move(loss.evidence), loss.value);
  }

  std::optional<Finding> judge(LossWorker& worker, FollowedLosses& losses,
                               Evidence evidence, double value) {
    const auto counted = counted_step(evidence.step, selection_.mode);
    if (!counted) return std::nullopt;
    auto known = losses.find(evidence.tensor);
    if (known == losses.end()) {
      known = losses.try_emplace(evidence.tensor).first;
    }
    FollowedLoss& loss = known->second;
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

  static Finding not_finite(const LossWorker& worker, const FollowedLoss& loss,
                            Evidence evidence, double value) {
    if (!loss.first) return not_finite_finding(std::move(evidence), value);
    if (loss.lowest < -kPlunge * std::max(std::abs(*loss.first), 1.0)) {
      Finding finding =
          not_finite_finding(std::move(evidence), value, LossFault::plunges);
      finding.message += fmt::format(", after it fell from {:.4g} to {:.4g}",
                                     *loss.first, loss.lowest);
      return finding;
    }
    if (loss.highest <= kLossDivergence * std::abs(*loss.first)) {
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

  static void set_leap(const FollowedLoss& loss, Evidence& evidence) {
    if (!loss.leap) return;
    evidence.step = loss.leap->step;
    evidence.quantity = "loss";
    evidence.value = loss.leap->value;
    evidence.relation = ">";
    evidence.threshold = kLossLeap * std::abs(*loss.first);
  }

  std::optional<Finding> conclude(const LossWorker& worker, FollowedLoss& loss,
                                  Evidence evidence) {
    if (!worker.can_judge(evidence.tensor)) return std::nullopt;
    const LossTrend::Answer answer =
        loss.trend.judge(worker.setting_of(evidence.tensor, loss));
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

  static bool has_equal_outputs(const LossWorker& worker, double loss) {
    const auto& equal = worker.of_equal_outputs;
    return equal && std::abs(loss - *equal) < (kNearGuess - 1) * *equal;
  }

  static std::string dropout_text(const LossWorker& worker) {
    return fmt::format("; dropout drops up to {:.3g} % of the units",
                       100 * worker.dropout);
  }

  // Judges a loss that falls at the end of a training: where it has arrived.
  static std::optional<Finding> conclude_end(const LossWorker& worker,
                                             const FollowedLoss& loss,
                                             Evidence evidence) {
    const Step steps = loss.trend.steps();
    const double now = loss.trend.now();
    const auto setting = worker.setting_of(evidence.tensor, loss);
    if (steps < kFewestAtEnd || !worker.can_judge(evidence.tensor) ||
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

  static void set_cause(Finding& finding, const LossWorker& worker,
                        const FollowedLoss& loss,
                        const LossTrend::Answer& answer,
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
  static std::optional<Finding> conclude_crawl(const LossWorker& worker,
                                               const FollowedLoss& loss,
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
  std::map<std::string, LossWorker> workers_;
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
