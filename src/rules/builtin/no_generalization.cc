// NoGeneralization: the model learns its training set, and what it learns is of
// no use on the validation set.
//
//   training < training_share * guess, and
//   min(validation) > validation_share * guess, for `patience` evaluations
//
// `guess` is the loss of a classifier that gives each class the same
// probability (rules/measures/loss_of_guess.h). A model that learns anything
// about the classes is better; one that memorizes random labels is worse. So
// the rule is silent on a model that overfits, which was better before, and on
// one that learns nothing, which LossNotDecreasing finds.
//
// A first evaluation may be a little better than the guess by chance. If many
// evaluations after it are worse than the guess, that does not count.
//
// Random labels are memorized slowly, so a training may end before its loss is
// that low. If there are enough losses to know their noise, a certain fall is
// enough, and certainly higher validation losses beside it: a model that learns
// slowly is as good on both sets. If the training ends after a few evaluations,
// only this is judged.
//
// Evaluations are those of rules/measures/evaluation_phases.h.
//
// XGBoost reports no facts. The guess of its metrics logloss and mlogloss gives
// each class its share of the saved labels of the validation set. The metrics
// may use weights that these do not have: then the first loss is far above that
// of the guess, and takes its place, as it does without labels. A first round
// that is better than any guess, or that has memorized, is no guess. Trees are
// evaluated in every round, and a signal that is weak needs a few of them
// before it outweighs the noise, so they get more rounds. The original has no
// such rule.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "smdebug/base/try.h"

#include "base/strings.h"
#include "rules/builtin/builtin.h"
#include "rules/engine/finding.h"
#include "rules/engine/shared_parameters.h"
#include "rules/measures/element_values.h"
#include "rules/measures/evaluation_phases.h"
#include "rules/measures/loss_of_guess.h"
#include "rules/measures/loss_role.h"
#include "rules/measures/quantity.h"

namespace smdebug {
namespace {

const ParameterSpec kNoGeneralizationParameters[] = {
    {.name = "patience",
     .type = ParameterType::integer,
     .default_text = "4",
     .description = "Number of evaluations after which the rule may fire. The "
                    "first ones of a model with batch normalization are often "
                    "bad.",
     .minimum = 1.0},
    {.name = "patience_at_end",
     .type = ParameterType::integer,
     .default_text = "2",
     .description = "Number of evaluations after which the rule may fire when "
                    "the training has ended, if its losses tell their noise.",
     .minimum = 1.0},
    {.name = "training_share",
     .type = ParameterType::real,
     .default_text = "0.97",
     .description = "Share of the loss of a guess below which the model has "
                    "learned its training set. If the losses tell their noise, "
                    "0.99 is enough.",
     .minimum = 0.0},
    {.name = "validation_share",
     .type = ParameterType::real,
     .default_text = "0.99",
     .description = "Share of the loss of a guess above which an evaluation "
                    "is no better than the guess.",
     .minimum = 0.0},
    kStartStep,
    kEndStep,
    kPreset,
};

const Advice kNoGeneralizationAdvice[] = {
    {.cause = "labels that do not belong to the inputs, such as rows that were "
              "shuffled apart from each other, or a training set that is so "
              "small that the model memorizes it",
     .advice = "print a few samples with their labels as the model receives "
               "them, in training and in validation, and compare them with "
               "the source; if they are right, train with more data or a "
               "smaller model"},
};

// Whether the losses of an evaluation tell their noise: their least numbers.
constexpr std::uint64_t kFewestTraining = 20, kFewestValidation = 3;
// Then, a mean loss is below another one if it is so by this share of a guess,
// or by this many standard errors.
constexpr double kCertainShare = 0.99, kCertainErrors = 3;
// The statistics of a normalization are those of the training after so many
// steps.
constexpr std::uint64_t kSettled = 100;
// Evaluations in a row that are worse than a guess, the share of it above which
// an earlier one was hardly better, and the share below which the model has by
// then learned a lot about its training set.
constexpr std::int64_t kWorseInARow = 8;
constexpr double kHardlyBetter = 0.97, kLearnedALot = 0.9;
// The lowest losses of a guess: of two classes of which one has 0.29 of the
// samples, and of three equal ones (ln 3).
constexpr double kTwoClasses = 0.6, kThreeClasses = 1.0986;

// Of trees: the rounds before they are judged, and the share of the guess that
// a signal which is weak reaches in them, but labels of chance do not.
constexpr Step kFewestRounds = 10;
constexpr double kBoostedShare = 0.995;
// A first validation loss above this share of the loss of a guess is of other
// weights, and a first training loss below this share of it has memorized.
constexpr double kOtherWeights = 1.25, kMemorized = 0.85;

// The loss to compare with.
struct Reference {
  enum class Kind { even, by_shares, first } kind = Kind::even;
  double loss = 0;
  std::int64_t classes = 0;
};

std::string text_of(const Reference& reference) {
  switch (reference.kind) {
    case Reference::Kind::even:
      return fmt::format("a guess among {} classes ({:.4g})", reference.classes,
                         reference.loss);
    case Reference::Kind::by_shares:
      return fmt::format("a guess by the shares of the {} classes ({:.4g})",
                         reference.classes, reference.loss);
    case Reference::Kind::first:
      break;
  }
  return fmt::format("the first ({:.4g})", reference.loss);
}

// The entropy of the labels: the lowest loss of an answer that is the same for
// all samples. None for labels of one class, and for numbers that are no
// classes.
std::optional<Reference> guess_by_shares(std::span<const double> labels) {
  std::map<double, double> counts;
  for (const double label : labels) {
    if (label != std::floor(label)) return std::nullopt;
    ++counts[label];
  }
  if (counts.size() < 2) return std::nullopt;
  Reference guess{Reference::Kind::by_shares, 0,
                  static_cast<std::int64_t>(counts.size())};
  for (const auto& [label, count] : counts) {
    const double share = count / static_cast<double>(labels.size());
    guess.loss -= share * std::log(share);
  }
  return guess;
}

// The evaluations by one validation loss.
struct GeneralizationCourse {
  Evaluation last;
  RunningMean training;  // the newest that is known
  // Of the first evaluation.
  std::optional<double> first;
  double first_training = 0;
  Step begin = 0;
  // The lowest validation losses of all evaluations, and of those after the
  // first.
  double best = std::numeric_limits<double>::infinity();
  double best_later = std::numeric_limits<double>::infinity();
  std::int64_t evaluations = 0;
  std::int64_t worse_in_a_row = 0;  // than a guess, until the last
  std::uint64_t training_losses = 0;

  void add(Evaluation evaluation) {
    const double mean = evaluation.validation.mean;
    if (evaluation.training.count > 0) training = evaluation.training;
    training_losses += evaluation.training.count;
    if (first) {
      best_later = std::min(best_later, mean);
    } else {
      first = mean;
      first_training = training.mean;
      begin = evaluation.last.step.global;
    }
    best = std::min(best, mean);
    ++evaluations;
    last = std::move(evaluation);
  }

  void compare_last_with(const Reference& reference) {
    worse_in_a_row =
        last.validation.mean > reference.loss ? worse_in_a_row + 1 : 0;
  }

  // Whether trees are trained: their steps have no modes.
  bool is_of_trees() const { return last.last.step.mode == Mode::global; }
  Step rounds() const { return last.last.step.global - begin + 1; }
  double best_beside(const Reference& reference) const {
    return reference.kind == Reference::Kind::first ? best_later : best;
  }
};

// Whether the model has certainly become better than a guess on the training
// set, and certainly better than it is on the validation set.
bool memorizes(const GeneralizationCourse& course, const Reference& reference) {
  const RunningMean& training = course.training;
  const RunningMean& validation = course.last.validation;
  if (training.count < kFewestTraining ||
      validation.count < kFewestValidation) {
    return false;
  }
  return training.mean < kCertainShare * reference.loss &&
         reference.loss - training.mean > kCertainErrors * training.error() &&
         validation.mean - training.mean >
             kCertainErrors * std::hypot(training.error(), validation.error());
}

// Whether the evaluations became worse than a guess and stayed so, while the
// training loss fell far below it, after one that was hardly better at best.
bool has_lost_its_lead(const GeneralizationCourse& course,
                       const Reference& reference) {
  return !course.is_of_trees() && course.worse_in_a_row >= kWorseInARow &&
         course.best > kHardlyBetter * reference.loss &&
         course.training.mean < kLearnedALot * reference.loss;
}

class NoGeneralization : public Rule {
 public:
  explicit NoGeneralization(const Parameters& parameters)
      : patience_(parameters.integer("patience")),
        patience_at_end_(parameters.integer("patience_at_end")),
        training_share_(parameters.real("training_share")),
        validation_share_(parameters.real("validation_share")) {}

  RuleNeeds needs() const override {
    return {{{.collections = {"losses"}, .regexes = {}},
             {.collections = {}, .regexes = {"^labels$"}, .if_saved = true}}};
  }

  void on_facts(std::string_view name, const RunFacts& facts) override {
    Worker& worker = workers_[std::string(name)];
    worker.phases.add(name, facts);
    roles_.add(facts);
    if (const auto guess = guess_of(facts)) {
      worker.guess = {Reference::Kind::even, guess->loss, guess->classes};
    }
  }

  Outcome on_scalars(std::string_view name,
                     std::span<const ScalarSeriesView> series) override {
    Worker& worker = workers_[std::string(name)];
    return judge(worker, worker.phases.add(name, series));
  }

  Outcome on_step(const RuleStep& step) override {
    std::optional<Finding> finding;
    for (auto& [name, worker] : workers_) {
      keep(finding, judge(worker, worker.phases.begin_step(step.step)));
    }
    SMD_CHECK_OK(read_labels(step));
    for (const Observation* tensor : step.by_selector(0)) {
      SMD_TRY(const auto loss, quantity(*tensor, {Reduction::mean}));
      if (!loss || !std::isfinite(*loss)) continue;
      const auto role = roles_.of(tensor->name, step.step.mode);
      if (!role) continue;
      workers_[std::string(tensor->worker)].phases.add(*tensor, step.step,
                                                       *loss, *role);
    }
    for (auto& [name, worker] : workers_) {
      keep(finding, judge(worker, worker.phases.end_step(step.step)));
    }
    return finding;
  }

  Outcome finish() override {
    std::optional<Finding> finding;
    bool has_evaluated = false;
    for (auto& [name, worker] : workers_) {
      keep(finding, judge(worker, worker.phases.finish()));
      has_evaluated |= worker.phases.has_validation();
      for (auto& [key, course] : worker.courses) {
        keep(finding, judge_at_end(worker, course));
      }
    }
    if (finding || has_judged()) return finding;
    if (!has_evaluated) {
      return Error{Error::Code::unsupported,
                   "nothing to judge: no loss of an EVAL step, and none named "
                   "like 'validation-logloss', was saved"};
    }
    return Error{most_evaluations_ == 0 ? Error::Code::unsupported
                                        : Error::Code::not_found,
                 "nothing to judge: " + too_little_text()};
  }

 private:
  struct Worker {
    std::optional<Reference> guess;
    std::optional<Reference> by_shares;  // of XGBoost's labels
    EvaluationPhases phases;
    std::map<std::string, GeneralizationCourse, std::less<>>
        courses;  // by `key`
  };

  static void keep(std::optional<Finding>& finding,
                   std::optional<Finding> more) {
    if (!finding) finding = std::move(more);
  }

  Status read_labels(const RuleStep& step) {
    for (const Observation* tensor : step.by_selector(1)) {
      Worker& worker = workers_[std::string(tensor->worker)];
      if (worker.by_shares) continue;
      SMD_TRY(const auto labels, element_values(*tensor));
      if (!labels || labels->shape.size() != 1) continue;
      worker.by_shares = guess_by_shares(labels->values);
    }
    return {};
  }

  std::string too_little_text() const {
    if (most_evaluations_ == 0) {
      return "the loss of a guess is unknown; the rule judges a mean cross "
             "entropy of PyTorch or Keras, and logloss and mlogloss of XGBoost";
    }
    return fmt::format(
        "{}, and {} rounds of trees",
        too_few_text(static_cast<std::uint64_t>(most_evaluations_),
                     "evaluation", static_cast<std::uint64_t>(patience_)),
        kFewestRounds);
  }

  std::optional<Finding> judge(Worker& worker, EvaluationPhases::Ended ended) {
    std::optional<Finding> finding;
    for (Evaluation& one : ended) {
      GeneralizationCourse& course = worker.courses[one.key];
      course.add(std::move(one));
      if (const auto reference = reference_of(worker, course)) {
        course.compare_last_with(*reference);
      }
      keep(finding, judge(worker, course));
    }
    return finding;
  }

  std::optional<Finding> judge(const Worker& worker,
                               const GeneralizationCourse& course) {
    const auto reference = reference_of(worker, course);
    if (!reference) return std::nullopt;
    most_evaluations_ = std::max(most_evaluations_, course.evaluations);
    if (course.evaluations < patience_ ||
        (course.is_of_trees() && course.rounds() < kFewestRounds)) {
      return std::nullopt;
    }
    count_judged();
    const bool has_learned =
        course.training.mean > 0 &&
        (course.training.mean < training_share_ * reference->loss ||
         memorizes(course, *reference));
    if (!has_learned || has_generalized(course, *reference)) {
      return std::nullopt;
    }
    return describe(course, *reference);
  }

  std::optional<Finding> judge_at_end(const Worker& worker,
                                      const GeneralizationCourse& course) {
    const auto reference = reference_of(worker, course);
    if (!reference || course.evaluations < patience_at_end_ ||
        course.training_losses < kSettled) {
      return std::nullopt;
    }
    count_judged();
    if (!memorizes(course, *reference) || has_generalized(course, *reference)) {
      return std::nullopt;
    }
    return describe(course, *reference);
  }

  double share_of(const GeneralizationCourse& course) const {
    return course.is_of_trees() ? std::max(validation_share_, kBoostedShare)
                                : validation_share_;
  }

  bool has_generalized(const GeneralizationCourse& course,
                       const Reference& reference) const {
    const double share = share_of(course);
    if (course.best_beside(reference) <= share * reference.loss) {
      return !has_lost_its_lead(course, reference);
    }
    // Trees that soon become too sure of themselves may have a signal although
    // their losses are as high as that of a guess.
    return reference.kind == Reference::Kind::by_shares &&
           course.best <= kNearGuess * reference.loss &&
           course.best_later <= share * *course.first;
  }

  static std::optional<Reference> reference_of(
      const Worker& worker, const GeneralizationCourse& course) {
    if (worker.guess) return worker.guess;
    const std::string& pair = course.last.pair;
    const bool is_binary = pair == "logloss";
    if (!course.is_of_trees() || !(is_binary || pair == "mlogloss")) {
      return std::nullopt;
    }
    if (worker.by_shares &&
        *course.first <= kOtherWeights * worker.by_shares->loss) {
      return worker.by_shares;
    }
    if (*course.first < (is_binary ? kTwoClasses : kThreeClasses) ||
        course.first_training < kMemorized * *course.first) {
      return std::nullopt;
    }
    return Reference{Reference::Kind::first, *course.first, 0};
  }

  Finding describe(const GeneralizationCourse& course,
                   const Reference& reference) const {
    const Evidence& place = course.last.last;
    if (has_lost_its_lead(course, reference)) {
      return describe_lost_lead(course, reference);
    }
    Finding finding;
    const bool is_first = reference.kind == Reference::Kind::first;
    const double best = course.best_beside(reference);
    finding.message = fmt::format(
        "{}: none of {} evaluations was at least {:.3g} % below {}: the lowest "
        "mean validation loss is {:.4g}, while the mean training loss has "
        "fallen to {:.4g}, until {}",
        tensor_text(place.tensor, place.worker),
        is_first ? fmt::format("the {} later", course.evaluations - 1)
                 : fmt::format("{}", course.evaluations),
        100 * (1 - share_of(course)), text_of(reference), best,
        course.training.mean, step_text(place.step));
    set_advice(finding, kNoGeneralizationAdvice[0]);
    Evidence evidence = place;
    evidence.quantity = "lowest mean validation loss";
    evidence.value = best;
    evidence.relation = ">";
    evidence.threshold = share_of(course) * reference.loss;
    finding.evidence.push_back(std::move(evidence));
    return finding;
  }

  static Finding describe_lost_lead(const GeneralizationCourse& course,
                                    const Reference& reference) {
    const Evidence& place = course.last.last;
    Finding finding;
    finding.message = fmt::format(
        "{}: the last {} of {} evaluations were worse than {}: the mean "
        "validation loss is {:.4g}, after {:.4g} at best, while the mean "
        "training loss has fallen to {:.4g}, until {}",
        tensor_text(place.tensor, place.worker), course.worse_in_a_row,
        course.evaluations, text_of(reference), course.last.validation.mean,
        course.best, course.training.mean, step_text(place.step));
    set_advice(finding, kNoGeneralizationAdvice[0]);
    Evidence evidence = place;
    evidence.quantity = "mean validation loss";
    evidence.value = course.last.validation.mean;
    evidence.relation = ">";
    evidence.threshold = reference.loss;
    finding.evidence.push_back(std::move(evidence));
    return finding;
  }

  std::int64_t patience_;
  std::int64_t patience_at_end_;
  double training_share_;
  double validation_share_;
  // Of one course with a known guess.
  std::int64_t most_evaluations_ = 0;
  std::map<std::string, Worker, std::less<>> workers_;
  LossRoles roles_;
};

}  // namespace

const RuleFactory kNoGeneralization = {
    .name = "NoGeneralization",
    .summary =
        "The training loss falls, and the validation loss never gets better "
        "than that of a guess.",
    .condition =
        "Fires when, after 'patience' evaluations, the mean training loss is "
        "below 'training_share' of the loss of a guess, and no mean validation "
        "loss was below 'validation_share' of it. A smaller fall is enough if "
        "the losses tell that it is no noise; a training that has ended is "
        "then judged after 'patience_at_end' evaluations. An evaluation that "
        "was up to 3 % better than the guess does not count if eight in a row "
        "were worse since, and the training loss is 10 % below it. The guess "
        "gives each class the same probability. For logloss and mlogloss of "
        "XGBoost it gives each class its share of the saved labels, or is the "
        "first validation loss if there are none; these are judged after 10 "
        "rounds, and a fall of 0.5 % is enough to pass, also below the first "
        "loss if that is near the guess.",
    .advice = kNoGeneralizationAdvice,
    .parameters = kNoGeneralizationParameters,
    .make = make_rule<NoGeneralization>,
};

}  // namespace smdebug
