// ClassImbalance: one class has far more labels than another, or the model
// mispredicts most samples of one class.
//
//   max n_c / min n_c > threshold_imbalance, or
//   wrong_c / n_c > threshold_misprediction for a class c
//
// n_c counts the labels of class c over all steps, wrong_c those that were
// mispredicted. Nothing is judged before `samples` labels.
//
// The documents leave the rest open. Only classes that occur count. NaN and
// labels of -100, which PyTorch's losses ignore, do not count.
// rules/measures/class_labels.h turns rows into classes and pairs predictions
// with labels. Labels without predictions count for the imbalance; if none has
// a prediction, the run is not reported as free of issues.

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "smdebug/base/try.h"

#include "rules/builtin/builtin.h"
#include "rules/engine/finding.h"
#include "rules/engine/shared_parameters.h"
#include "rules/measures/class_labels.h"

namespace smdebug {
namespace {

constexpr const char* kLabelsRegex = ".*labels";
constexpr const char* kPredictionsRegex = ".*predictions";

const ParameterSpec kClassImbalanceParameters[] = {
    {.name = "threshold_imbalance",
     .type = ParameterType::real,
     .default_text = "10",
     .description = "Largest allowed ratio of the number of labels of the "
                    "largest class to that of the smallest.",
     .minimum = 1.0},
    {.name = "threshold_misprediction",
     .type = ParameterType::real,
     .default_text = "0.7",
     .description = "Largest allowed share of mispredicted samples of a class.",
     .minimum = 0.0,
     .maximum = 1.0,
     .tuned_text = "0.9"},
    {.name = "samples",
     .type = ParameterType::integer,
     .default_text = "500",
     .description = "Number of labels required before the rule judges.",
     .minimum = 1.0,
     .tuned_text = "2000"},
    {.name = "argmax",
     .type = ParameterType::boolean,
     .default_text = "false",
     .description =
         "Whether one-dimensional predictions are the class scores of one "
         "sample. Rows are always interpreted as class scores."},
    {.name = "labels_regex",
     .type = ParameterType::text_list,
     .default_text = kLabelsRegex,
     .description = "Patterns of the names of label tensors; if the default "
                    "finds none, input 1 of PyTorch's loss modules is used."},
    {.name = "predictions_regex",
     .type = ParameterType::text_list,
     .default_text = kPredictionsRegex,
     .description =
         "Patterns of the names of prediction tensors; if the default finds "
         "none, input 0 of PyTorch's loss modules is used."},
    kStartStep,
    kEndStep,
    kPreset,
};

const Advice kClassImbalanceAdvice[] = {
    {.when = "a class is larger",
     .cause = "a data set with rare classes or a sampler that prefers some "
              "classes: the model becomes biased toward the large classes",
     .advice = "sample the small classes more often, weight the loss by class, "
               "or collect more of them"},
    {.when = "a class is mispredicted",
     .cause = "a class that is too rare, wrongly labeled or hard to "
              "distinguish from another; normal early in a training",
     .advice =
         "inspect the samples of the class and their labels, use the rule "
         "Confusion, and raise 'samples' if the training has just begun"},
};

ClassSelectors selectors_of(const Parameters& parameters) {
  ClassSelectors selectors;
  selectors.labels.regexes = parameters.text_list("labels_regex");
  selectors.predictions.regexes = parameters.text_list("predictions_regex");
  selectors.with_loss_inputs =
      selectors.labels.regexes == std::vector<std::string>{kLabelsRegex} &&
      selectors.predictions.regexes ==
          std::vector<std::string>{kPredictionsRegex};
  return selectors;
}

struct ClassCount {
  std::uint64_t labels = 0;
  std::uint64_t predicted = 0;  // labels that had a prediction
  std::uint64_t wrong = 0;

  double wrong_share() const {
    return static_cast<double>(wrong) / static_cast<double>(predicted);
  }
};

class ClassImbalance : public ClassRule {
 public:
  explicit ClassImbalance(const Parameters& parameters)
      : ClassRule(selectors_of(parameters), parameters.boolean("argmax")),
        max_imbalance_(parameters.real("threshold_imbalance")),
        max_misprediction_(parameters.real("threshold_misprediction")),
        samples_(static_cast<std::uint64_t>(parameters.integer("samples"))) {}

  Outcome on_step(const RuleStep& step) override {
    SMD_TRY(const auto pairs, read(step));
    for (const ClassPair& pair : pairs) {
      count(pair);
      ++pairs_counted_;
    }
    if (pairs.empty()) return no_finding();
    const Observation& labels = *pairs.front().labels;
    SMD_CHECK_OK(check_class_count(counts_.size(), "labels", labels));
    if (seen_ < samples_) return no_finding();
    return judge(evidence_of(labels, step.step));
  }

  std::uint64_t observations_judged() const override {
    return seen_ < samples_ ? 0 : pairs_counted_;
  }

 private:
  std::string reason_for_no_judgment() const override {
    if (pairs_counted_ == 0) return problem();
    if (seen_ < samples_) {
      return fmt::format(
          "only {} labels were seen, but {} are required (parameter 'samples')",
          seen_, samples_);
    }
    if (predicted_ > 0) return "";
    return fmt::format(
        "the classes of {} labels are balanced; mispredictions could not be "
        "judged: {}",
        seen_, problem());
  }

  void count(const ClassPair& pair) {
    for (std::size_t i = 0; i < pair.label.size(); ++i) {
      if (pair.label[i] == kNoClass) continue;
      ClassCount& of_class = counts_[pair.label[i]];
      ++of_class.labels;
      ++seen_;
      if (pair.predictions == nullptr) continue;
      ++of_class.predicted;
      ++predicted_;
      of_class.wrong += pair.predicted[i] != pair.label[i];
    }
  }

  std::optional<Finding> judge(const Evidence& place) const {
    Finding finding;
    std::vector<std::string> sentences;
    judge_imbalance(place, finding, sentences);
    judge_mispredictions(place, finding, sentences);
    if (finding.evidence.empty()) return std::nullopt;
    finding.message =
        fmt::format("{}: {}; {} labels counted up to {}",
                    tensor_text(place.tensor, place.worker),
                    fmt::join(sentences, "; "), seen_, step_text(place.step));
    return finding;
  }

  void judge_imbalance(const Evidence& place, Finding& finding,
                       std::vector<std::string>& sentences) const {
    const auto by_labels = [](const auto& one, const auto& other) {
      return one.second.labels < other.second.labels;
    };
    const auto [smallest, largest] =
        std::ranges::minmax_element(counts_, by_labels);
    const double ratio = static_cast<double>(largest->second.labels) /
                         static_cast<double>(smallest->second.labels);
    if (!(ratio > max_imbalance_)) return;
    Evidence evidence = place;
    evidence.quantity = "labels of the largest class per label of the smallest";
    evidence.value = ratio;
    evidence.relation = ">";
    evidence.threshold = max_imbalance_;
    finding.evidence.push_back(std::move(evidence));
    sentences.push_back(fmt::format(
        "class {} has {} labels and class {} has {}, a ratio of {} "
        "(allowed: up to {})",
        largest->first, largest->second.labels, smallest->first,
        smallest->second.labels, short_number(ratio), max_imbalance_));
    set_advice(finding, kClassImbalanceAdvice[0]);
  }

  void judge_mispredictions(const Evidence& place, Finding& finding,
                            std::vector<std::string>& sentences) const {
    std::vector<std::pair<double, std::int64_t>> worst;
    for (const auto& [label, count] : counts_) {
      if (count.predicted > 0 && count.wrong_share() > max_misprediction_) {
        worst.emplace_back(count.wrong_share(), label);
      }
    }
    if (worst.empty()) return;
    std::ranges::stable_sort(worst, std::ranges::greater(),
                             [](const auto& one) { return one.first; });
    for (const auto& [share, label] : worst) {
      Evidence evidence = place;
      evidence.quantity = fmt::format("mispredicted share of class {}", label);
      evidence.value = share;
      evidence.relation = ">";
      evidence.threshold = max_misprediction_;
      finding.evidence.push_back(std::move(evidence));
    }
    const ClassCount& count = counts_.at(worst.front().second);
    std::string sentence = fmt::format(
        "{} of {} samples of class {} are mispredicted, {:.3g} % (allowed: up "
        "to {:.3g} %)",
        count.wrong, count.predicted, worst.front().second,
        100 * worst.front().first, 100 * max_misprediction_);
    if (worst.size() > 1) {
      sentence += fmt::format(", and so are {} of {} classes", worst.size(),
                              counts_.size());
    }
    sentences.push_back(std::move(sentence));
    if (finding.advice.empty()) {
      set_advice(finding, kClassImbalanceAdvice[1]);
    }
  }

  double max_imbalance_;
  double max_misprediction_;
  std::uint64_t samples_;
  std::map<std::int64_t, ClassCount> counts_;  // by class
  std::uint64_t seen_ = 0;                     // labels that have a class
  std::uint64_t predicted_ = 0;  // those of them that had a prediction
  std::uint64_t pairs_counted_ = 0;
};

}  // namespace

const RuleFactory kClassImbalance = {
    .name = "ClassImbalance",
    .summary =
        "One class has many more labels than another, or most samples of one "
        "class are mispredicted.",
    .condition =
        "Fires when, after 'samples' labels, the largest class has more than "
        "'threshold_imbalance' times as many labels as the smallest, or more "
        "than 'threshold_misprediction' of a class is mispredicted.",
    .advice = kClassImbalanceAdvice,
    .parameters = kClassImbalanceParameters,
    .make = make_rule<ClassImbalance>,
};

}  // namespace smdebug
