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
// Random labels are memorized slowly, so a training may end before its loss is
// that low. If there are enough losses to know their noise, a certain fall is
// enough, and certainly higher validation losses beside it: a model that learns
// slowly is as good on both sets. If the training ends after a few evaluations,
// only this is judged.
//
// Evaluations are those of rules/measures/evaluation_phases.h. XGBoost reports
// no facts: the guess of its metrics logloss and mlogloss is the first
// validation loss, unless it is so low that the first round has learned
// already. The original has no such rule.

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

#include "rules/builtin/builtin.h"
#include "rules/engine/finding.h"
#include "rules/engine/shared_parameters.h"
#include "rules/measures/evaluation_phases.h"
#include "rules/measures/loss_of_guess.h"
#include "rules/measures/loss_role.h"
#include "rules/measures/quantity.h"

namespace smdebug {
namespace {

const ParameterSpec kParameters[] = {
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

const Advice kAdvice[] = {
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
// The lowest losses of a guess: of two classes of which one has 0.29 of the
// samples, and of three equal ones (ln 3).
constexpr double kTwoClasses = 0.6, kThreeClasses = 1.0986;

// The loss to compare with: "a guess among 10 classes", or the first
// evaluation.
struct Reference {
  double loss = 0;
  std::int64_t classes = 0;  // 0: unknown
};

std::string text_of(const Reference& reference) {
  return reference.classes > 0
             ? fmt::format("a guess among {} classes ({:.4g})",
                           reference.classes, reference.loss)
             : fmt::format("the first evaluation ({:.4g})", reference.loss);
}

// The evaluations by one validation loss.
struct Course {
  Evaluation last;
  RunningMean training;  // the newest that is known
  std::optional<double> first;
  double best = std::numeric_limits<double>::infinity();
  std::int64_t evaluations = 0;
  std::uint64_t training_losses = 0;
};

// Whether the model has certainly become better than a guess on the training
// set, and certainly better than it is on the validation set.
bool memorizes(const Course& course, const Reference& reference) {
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

class NoGeneralization : public Rule {
 public:
  explicit NoGeneralization(const Parameters& parameters)
      : patience_(parameters.integer("patience")),
        patience_at_end_(parameters.integer("patience_at_end")),
        training_share_(parameters.real("training_share")),
        validation_share_(parameters.real("validation_share")) {}

  RuleNeeds needs() const override {
    return {{{.collections = {"losses"}, .regexes = {}}}};
  }

  void on_facts(std::string_view name, const RunFacts& facts) override {
    Worker& worker = workers_[std::string(name)];
    worker.phases.add(name, facts);
    if (const auto guess = guess_of(facts)) {
      worker.guess = {guess->loss, guess->classes};
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
    for (const Observation* tensor : step.by_selector(0)) {
      SMD_TRY(const auto loss, quantity(*tensor, {Reduction::mean}));
      if (!loss || !std::isfinite(*loss)) continue;
      const auto role = role_of_loss(tensor->name, step.step.mode);
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
    return Error{
        has_evaluated ? Error::Code::not_found : Error::Code::unsupported,
        fmt::format("nothing to judge: {}", reason(has_evaluated))};
  }

 private:
  struct Worker {
    std::optional<Reference> guess;
    EvaluationPhases phases;
    std::map<std::string, Course, std::less<>> courses;  // by `key`
  };

  static void keep(std::optional<Finding>& finding,
                   std::optional<Finding> more) {
    if (!finding) finding = std::move(more);
  }

  std::string reason(bool has_evaluated) const {
    if (has_evaluated) {
      return fmt::format(
          "the loss of a guess is unknown, or there were fewer than {} "
          "evaluations; the rule judges a mean cross entropy of PyTorch or "
          "Keras, and logloss and mlogloss of XGBoost",
          patience_);
    }
    return "no loss of an EVAL step, and none named like 'validation-logloss', "
           "was saved";
  }

  std::optional<Finding> judge(Worker& worker, EvaluationPhases::Ended ended) {
    std::optional<Finding> finding;
    for (Evaluation& one : ended) {
      Course& course = worker.courses[one.key];
      const double mean = one.validation.mean;
      if (one.training.count > 0) course.training = one.training;
      course.training_losses += one.training.count;
      if (!course.first) course.first = mean;
      course.best = std::min(course.best, mean);
      ++course.evaluations;
      course.last = std::move(one);
      keep(finding, judge(worker, course));
    }
    return finding;
  }

  std::optional<Finding> judge(const Worker& worker, const Course& course) {
    const auto reference = reference_of(worker, course);
    if (!reference || course.evaluations < patience_) return std::nullopt;
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
                                      const Course& course) {
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

  bool has_generalized(const Course& course, const Reference& reference) const {
    return course.best <= validation_share_ * reference.loss;
  }

  static std::optional<Reference> reference_of(const Worker& worker,
                                               const Course& course) {
    if (worker.guess) return worker.guess;
    if (course.last.last.step.mode != Mode::global) return std::nullopt;
    const std::string& pair = course.last.pair;
    const bool is_guess =
        (pair == "logloss" && *course.first >= kTwoClasses) ||
        (pair == "mlogloss" && *course.first >= kThreeClasses);
    if (!is_guess) return std::nullopt;
    return Reference{*course.first, 0};
  }

  static Finding describe(const Course& course, const Reference& reference) {
    const Evidence& place = course.last.last;
    Finding finding;
    finding.message = fmt::format(
        "{}: none of {} evaluations was better than {}: the lowest mean "
        "validation loss is {:.4g}, while the mean training loss has fallen to "
        "{:.4g}, until {}",
        tensor_text(place.tensor, place.worker), course.evaluations,
        text_of(reference), course.best, course.training.mean,
        step_text(place.step));
    set_advice(finding, kAdvice[0]);
    Evidence evidence = place;
    evidence.quantity = "lowest mean validation loss";
    evidence.value = course.best;
    evidence.relation = ">";
    evidence.threshold = reference.loss;
    finding.evidence.push_back(std::move(evidence));
    return finding;
  }

  std::int64_t patience_;
  std::int64_t patience_at_end_;
  double training_share_;
  double validation_share_;
  std::map<std::string, Worker, std::less<>> workers_;
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
        "then judged after 'patience_at_end' evaluations. The guess gives each "
        "class the same probability; for logloss and mlogloss of XGBoost it is "
        "the first validation loss.",
    .advice = kAdvice,
    .parameters = kParameters,
    .make = make_rule<NoGeneralization>,
};

}  // namespace smdebug
