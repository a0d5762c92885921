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
// Evaluations are those of Overfit: the longest runs of saved EVAL losses, and
// without modes the steps of XGBoost. XGBoost reports no facts: the guess of
// its metrics logloss and mlogloss is the first validation loss, unless it is
// so low that the first round has learned already. The original has no such
// rule.

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "smdebug/base/try.h"

#include "rules/builtin/builtin.h"
#include "rules/engine/finding.h"
#include "rules/engine/shared_parameters.h"
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
    {.name = "training_share",
     .type = ParameterType::real,
     .default_text = "0.97",
     .description = "Share of the loss of a guess below which the model has "
                    "learned its training set.",
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

// One validation loss, and the training loss that it is compared with.
struct Course {
  RunningMean phase;    // of the evaluation that is open
  Evidence last;        // place of its last loss
  double training = 0;  // the mean training loss before it
  std::optional<double> first;
  double best = std::numeric_limits<double>::infinity();
  std::int64_t evaluations = 0;
};

class NoGeneralization : public Rule {
 public:
  explicit NoGeneralization(const Parameters& parameters)
      : patience_(parameters.integer("patience")),
        training_share_(parameters.real("training_share")),
        validation_share_(parameters.real("validation_share")) {}

  RuleNeeds needs() const override {
    return {{{.collections = {"losses"}, .regexes = {}}}};
  }

  void on_facts(std::string_view worker, const RunFacts& facts) override {
    if (const auto guess = guess_of(facts)) {
      workers_[std::string(worker)].guess = {guess->loss, guess->classes};
    }
  }

  Outcome on_step(const RuleStep& step) override {
    std::optional<Finding> finding;
    for (const Observation* tensor : step.by_selector(0)) {
      SMD_TRY(const auto loss, quantity(*tensor, {Reduction::mean}));
      if (!loss) continue;
      keep(finding, take(workers_[std::string(tensor->worker)],
                         evidence_of(*tensor, step.step), *loss));
    }
    return finding;
  }

  Outcome finish() override {
    std::optional<Finding> finding;
    for (auto& [name, worker] : workers_) {
      for (auto& [pair, course] : worker.courses) {
        keep(finding, close(worker, course, pair));
      }
    }
    if (finding || has_judged()) return finding;
    return Error{
        has_evaluated_ ? Error::Code::not_found : Error::Code::unsupported,
        fmt::format("nothing to judge: {}", reason())};
  }

 private:
  struct Worker {
    std::optional<Reference> guess;
    std::map<std::string, RunningMean, std::less<>> training;  // by pair
    std::map<std::string, Course, std::less<>> courses;        // by pair
  };

  static void keep(std::optional<Finding>& finding,
                   std::optional<Finding> more) {
    if (!finding) finding = std::move(more);
  }

  std::string reason() const {
    if (has_evaluated_) {
      return fmt::format(
          "the loss of a guess is unknown, or there were fewer than {} "
          "evaluations; the rule judges a mean cross entropy of PyTorch or "
          "Keras, and logloss and mlogloss of XGBoost",
          patience_);
    }
    return "no loss of an EVAL step, and none named like 'validation-logloss', "
           "was saved";
  }

  std::optional<Finding> take(Worker& worker, Evidence place, double value) {
    auto role = role_of_loss(place.tensor, place.step.mode);
    if (!role || !std::isfinite(value)) return std::nullopt;
    Course* course = nullptr;
    if (const auto known = worker.courses.find(role->pair);
        known != worker.courses.end()) {
      course = &known->second;
    }
    const bool is_training = role->part == LossRole::Part::training;
    std::optional<Finding> finding;
    // Without modes, the two losses of a step belong together.
    if (course && (place.step.mode == Mode::global
                       ? place.step.global != course->last.step.global
                       : is_training)) {
      finding = close(worker, *course, role->pair);
    }
    if (is_training) {
      worker.training[role->pair].add(value);
      return finding;
    }
    has_evaluated_ = true;
    if (!course) course = &worker.courses[role->pair];
    course->phase.add(value);
    course->last = std::move(place);
    return finding;
  }

  // Ends the evaluation that is open, and judges it.
  std::optional<Finding> close(Worker& worker, Course& course,
                               const std::string& pair) {
    if (course.phase.count == 0) return std::nullopt;
    const double mean = std::exchange(course.phase, {}).mean;
    RunningMean& training = worker.training[pair];
    if (training.count > 0) course.training = std::exchange(training, {}).mean;
    if (!course.first) course.first = mean;
    course.best = std::min(course.best, mean);
    ++course.evaluations;
    const auto reference = reference_of(worker, course, pair);
    if (!reference || course.evaluations < patience_) return std::nullopt;
    count_judged();
    if (course.training <= 0 ||
        course.training >= training_share_ * reference->loss ||
        course.best <= validation_share_ * reference->loss) {
      return std::nullopt;
    }
    return describe(course, *reference);
  }

  static std::optional<Reference> reference_of(const Worker& worker,
                                               const Course& course,
                                               const std::string& pair) {
    if (worker.guess) return worker.guess;
    if (course.last.step.mode != Mode::global) return std::nullopt;
    const bool is_guess =
        (pair == "logloss" && *course.first >= kTwoClasses) ||
        (pair == "mlogloss" && *course.first >= kThreeClasses);
    if (!is_guess) return std::nullopt;
    return Reference{*course.first, 0};
  }

  static Finding describe(const Course& course, const Reference& reference) {
    Finding finding;
    finding.message = fmt::format(
        "{}: none of {} evaluations was better than {}: the lowest mean "
        "validation loss is {:.4g}, while the mean training loss has fallen to "
        "{:.4g}, until {}",
        tensor_text(course.last.tensor, course.last.worker), course.evaluations,
        text_of(reference), course.best, course.training,
        step_text(course.last.step));
    set_advice(finding, kAdvice[0]);
    Evidence evidence = course.last;
    evidence.quantity = "lowest mean validation loss";
    evidence.value = course.best;
    evidence.relation = ">";
    evidence.threshold = reference.loss;
    finding.evidence.push_back(std::move(evidence));
    return finding;
  }

  std::int64_t patience_;
  double training_share_;
  double validation_share_;
  std::map<std::string, Worker, std::less<>> workers_;
  bool has_evaluated_ = false;
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
        "loss was below 'validation_share' of it. The guess gives each class "
        "the same probability; for logloss and mlogloss of XGBoost it is "
        "the first validation loss.",
    .advice = kAdvice,
    .parameters = kParameters,
    .make = make_rule<NoGeneralization>,
};

}  // namespace smdebug
