// LabelsAndInputs: the data of a training have a fault, or an unusual scale.
//
// The facts of a training have a summary of the inputs of its models and of the
// targets of its losses in the first saved steps. NaN and infinity are also
// searched in the data of the step in which a loss is not finite for the first
// time. The original has no such rule.
//
// An unusual scale, a rare class, or labels of one class of two may harm
// nothing: it becomes advice at the end of the training. The rule does not see
// data that a model makes itself, with PyTorch data in containers, targets of
// losses whose graph does not have them (see LossInput), nor the features of
// images and sequences one by one. A verdict without findings names the data
// that were not measured.

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "smdebug/core/tensor_view.h"

#include "base/strings.h"
#include "rules/builtin/builtin.h"
#include "rules/builtin/data_faults.h"
#include "rules/engine/finding.h"
#include "rules/engine/shared_parameters.h"
#include "rules/measures/facts_rule.h"

namespace smdebug {
namespace {

const ParameterSpec kLabelsAndInputsParameters[] = {
    {.name = "num_steps",
     .type = ParameterType::integer,
     .default_text = "10",
     .description =
         "Number of saved steps whose labels and scale are judged together. "
         "Adapters measure at most 10.",
     .minimum = 1.0},
    {.name = "largest",
     .type = ParameterType::real,
     .default_text = "10",
     .description = "Largest mean, without sign, and standard deviation of "
                    "inputs with the shape (samples, features), and of the "
                    "targets of a regression.",
     .minimum = 0.0},
    {.name = "feature_ratio",
     .type = ParameterType::real,
     .default_text = "100",
     .description = "Largest ratio of the standard deviation of a feature to "
                    "the median of all features.",
     .minimum = 1.0},
    kStartStep,
    kEndStep,
    kPreset,
};

// In the order of `DataFault`.
const Advice kLabelsAndInputsAdvice[] = {
    {.when = "inputs that are not finite",
     .cause = "missing values in the data, or a division by zero or a "
              "logarithm in their preparation",
     .advice = "search the data for NaN and infinity before the training, such "
               "as with numpy.isfinite, and drop or fill these rows",
     .severity = Severity::fatal},
    {.when = "targets that are not finite",
     .cause = "missing labels, or a division by zero or a logarithm in the "
              "preparation of the targets",
     .advice = "search the targets for NaN and infinity before the training, "
               "such as with numpy.isfinite, and drop the samples without a "
               "target",
     .severity = Severity::fatal},
    {.when = "constant inputs",
     .cause = "a loader or a transformation that returns the same number for "
              "every element, such as an empty buffer or a division by a very "
              "large number: the model cannot tell samples apart",
     .advice = "print a batch and its minimum and maximum where the loader "
               "returns it and before the model receives it"},
    {.when = "inputs that are the same at each step",
     .cause = "a loop that begins a new pass over the data for each step, such "
              "as with next(iter(loader)): it trains only on the first batch",
     .advice = "take the batches from one pass: for batch in loader"},
    {.when = "evaluation inputs of another scale",
     .cause = "a normalization that only the training or only the evaluation "
              "data pass: the model meets numbers that it was not trained on, "
              "and its results in the evaluation mean little",
     .advice = "apply the same normalization to both, with the mean and the "
               "standard deviation of the training data"},
    {.when = "sorted labels",
     .cause = "data that are sorted by class and not shuffled: the model "
              "learns one class and forgets it with the next",
     .advice = "shuffle the training data, for example with shuffle=True for "
               "the loader"},
    {.when = "labels of one class",
     .cause = "data that are sorted by class and not shuffled, or a mistake "
              "that makes all labels the same",
     .advice = "count the labels of the training data, and shuffle the data"},
    {.when = "labels of one class of two",
     .cause = "a class that is very rare, data that are sorted by class and "
              "not shuffled, or a mistake that makes all labels the same",
     .advice = "count the labels of the training data, and shuffle the data",
     .severity = Severity::advice},
    {.when = "a rare class",
     .cause = "a data set with rare classes, or a sampler that prefers some: "
              "the model becomes biased toward the large classes, and the "
              "accuracy over all samples hides it",
     .advice = "look at the accuracy of each class, sample the small classes "
               "more often, or weight the loss by class",
     .severity = Severity::advice},
    {.when = "features of different scales",
     .cause = "features in their own units: those with large numbers outweigh "
              "the others and limit the learning rate",
     .advice = "standardize each feature with its mean and standard deviation "
               "in the training data",
     .severity = Severity::advice},
    {.when = "large inputs",
     .cause = "inputs that are not scaled: the first layer gets large "
              "gradients and saturates what follows it",
     .advice = "scale the inputs to a mean near 0 and a standard deviation "
               "near 1",
     .severity = Severity::advice},
    {.when = "large targets",
     .cause = "targets in their own unit: the first losses and gradients are "
              "large, and the last layer must grow to reach the targets",
     .advice = "standardize the targets, and transform the predictions back",
     .severity = Severity::advice},
    {.when = "targets among the inputs",
     .cause = "a column with the target, or with something computed from it, "
              "that was left in the data: the model copies it, and fails where "
              "the target is not known",
     .advice = "drop the target and all that is computed from it from the "
               "features"},
    {.when = "images whose channels are mixed",
     .cause = "view() or reshape() of images (rows, columns, channels) to "
              "(channels, rows, columns), which keeps the order of the "
              "elements: each channel gets pieces of all",
     .advice = "move the dimension: x.permute(2, 0, 1) for an image, "
               "x.permute(0, 3, 1, 2) for a batch"},
    {.when = "targets that look like classes under a regression",
     .cause = "labels of classes that the objective takes for amounts: it "
              "treats class 7 as nearer to 8 than to 1",
     .advice = "for classes, use an objective of classes, such as "
               "multi:softprob with num_class; ignore this for amounts",
     .severity = Severity::advice},
    {.when = "tiny inputs",
     .cause = "inputs that were scaled twice, such as images that are divided "
              "by 255 after ToTensor(), which divides them already: the first "
              "layer hardly distinguishes them",
     .advice = "scale the inputs once, to a mean near 0 and a standard "
               "deviation near 1",
     .severity = Severity::advice},
};

// Whether the labels are those of all rows: the loss is an objective of
// XGBoost, such as "binary:logistic", which sees them in each round.
bool has_all_rows(const LossInputFacts& loss) {
  return loss.function.find(':') != std::string::npos;
}
// The tensors of which something is unknown, for a message.
class UnknownData {
 public:
  UnknownData(const RunFacts& facts, std::uint64_t num_steps)
      : num_steps_(num_steps) {
    for (const DataFacts& input : facts.inputs) {
      add(input, input.tensor);
      if (has_unknown_scale(input)) unscaled_.push_back(input.tensor);
    }
    for (const LossFacts& loss : facts.losses) {
      const std::string name = "the targets of " + loss.tensor;
      if (loss.input && loss.input->targets) {
        if (!has_all_rows(*loss.input)) add(*loss.input->targets, name);
      } else {
        unmeasured_.push_back(name);
      }
    }
    if (facts.inputs.empty()) unmeasured_.emplace_back("the inputs");
    if (facts.losses.empty()) unmeasured_.emplace_back("the targets");
  }

  // "the inputs: not measured; ..."; empty if all is known.
  std::string text() const {
    std::vector<std::string> parts;
    const auto add_part = [&](const std::vector<std::string>& names,
                              std::string_view what) {
      if (!names.empty())
        parts.push_back(fmt::format("{}: {}", names_text(names), what));
    };
    add_part(unmeasured_, "not measured");
    add_part(young_,
             fmt::format("measured in fewer saved steps than num_steps={}",
                         num_steps_));
    add_part(unscaled_, "its scale, because the first layer is unknown");
    return fmt::format("{}", fmt::join(parts, "; "));
  }

 private:
  void add(const DataFacts& data, const std::string& name) {
    if (data.steps == 0) {
      unmeasured_.push_back(name);
    } else if (has_numbers(data) && data.steps < num_steps_) {
      young_.push_back(name);
    }
  }

  std::uint64_t num_steps_;
  std::vector<std::string> unmeasured_;
  std::vector<std::string> young_;
  std::vector<std::string> unscaled_;
};

class LabelsAndInputs : public FactsRule {
 public:
  explicit LabelsAndInputs(const Parameters& parameters) {
    thresholds_.num_steps =
        static_cast<std::uint64_t>(parameters.integer("num_steps"));
    thresholds_.largest = parameters.real("largest");
    thresholds_.feature_ratio = parameters.real("feature_ratio");
  }

  Outcome finish() override {
    if (auto found = judge_rest()) return found;
    if (advice_) return advice_;
    if (has_judged()) return no_finding();
    if (most_steps_ == 0) {
      const std::string missing = not_judged();
      return Error{
          Error::Code::unsupported,
          fmt::format("nothing to judge: the data of the training are unknown"
                      "{}{}{}; hooks for PyTorch, Keras and MXNet measure the "
                      "inputs of models and the targets of losses in the first "
                      "saved steps",
                      missing.empty() ? "" : " (", missing,
                      missing.empty() ? "" : ")")};
    }
    return Error{Error::Code::not_found,
                 fmt::format("nothing to judge: the data were measured in {}, "
                             "num_steps={} are needed",
                             count_text(most_steps_, "saved step"),
                             thresholds_.num_steps)};
  }

  std::string not_judged() const override {
    for (const auto& [worker, missing] : missing_) {
      if (!missing.empty()) return missing;
    }
    return "";
  }

 private:
  // Returns what cannot be meant, and keeps advice for the end.
  std::optional<Finding> judge(const RunFacts& facts,
                               std::string_view worker) override {
    missing_[std::string(worker)] =
        UnknownData(facts, thresholds_.num_steps).text();
    for (const DataFacts& input : facts.inputs) {
      if (input.not_finite) {
        return describe(not_finite_fault(input, DataFault::inputs_not_finite),
                        input.tensor, worker);
      }
      if (!is_measured(input)) continue;
      if (auto found = take(input_fault(input, facts, thresholds_),
                            input.tensor, worker)) {
        return found;
      }
    }
    for (const DataFacts& evaluation : facts.evaluation_inputs) {
      const auto training = std::ranges::find(facts.inputs, evaluation.tensor,
                                              &DataFacts::tensor);
      if (training == facts.inputs.end()) continue;
      if (auto found = take(evaluation_fault(*training, evaluation),
                            evaluation.tensor, worker)) {
        return found;
      }
    }
    for (const LossFacts& loss : facts.losses) {
      if (!loss.input || !loss.input->targets) continue;
      const DataFacts& targets = *loss.input->targets;
      if (targets.not_finite) {
        return describe(
            not_finite_fault(targets, DataFault::targets_not_finite),
            loss.tensor, worker);
      }
      if (!is_measured(targets, has_all_rows(*loss.input))) continue;
      if (auto found = take(target_fault(*loss.input, facts, thresholds_),
                            loss.tensor, worker)) {
        return found;
      }
    }
    return std::nullopt;
  }

  bool is_measured(const DataFacts& data, bool is_complete = false) {
    if (!has_numbers(data)) return false;
    most_steps_ = std::max(most_steps_, data.steps);
    if (data.steps < thresholds_.num_steps && !is_complete) return false;
    count_judged();
    return true;
  }

  std::optional<Finding> take(const std::optional<FoundFault>& found,
                              const std::string& tensor,
                              std::string_view worker) {
    if (!found) return std::nullopt;
    Finding finding = describe(*found, tensor, worker);
    if (finding.severity != Severity::advice) return finding;
    if (!advice_) advice_ = std::move(finding);
    return std::nullopt;
  }

  Finding describe(const FoundFault& found, const std::string& tensor,
                   std::string_view worker) const {
    Finding finding;
    finding.message = fmt::format(
        "{}{}: {}", is_of_labels(found.fault) ? "the labels of " : "",
        tensor_text(tensor, worker), found.message);
    set_advice(finding,
               kLabelsAndInputsAdvice[static_cast<std::size_t>(found.fault)]);
    Evidence& evidence = finding.evidence.emplace_back();
    evidence.tensor = tensor;
    evidence.worker = worker;
    evidence.step = last_step();
    evidence.quantity = found.quantity;
    evidence.value = found.value;
    evidence.relation = found.relation;
    evidence.threshold = found.threshold;
    return finding;
  }

  DataThresholds thresholds_;
  std::map<std::string, std::string, std::less<>> missing_;  // by worker
  std::uint64_t most_steps_ = 0;  // in which data were measured
  std::optional<Finding> advice_;
};

}  // namespace

const RuleFactory kLabelsAndInputs = {
    .name = "LabelsAndInputs",
    .summary = "The data of a training have a fault, or an unusual scale.",
    .condition =
        "Fires when an input of a model or a target of a loss is NaN or "
        "infinite. Fires after 'num_steps' saved steps if all elements of all "
        "inputs are equal, if all inputs are those of the first step although "
        "passes over a data loader of several batches have begun, if a feature "
        "of the model's input equals the targets but for a factor and an "
        "offset, if at least 40 % of the diversity of the class labels lies "
        "between the steps, or if all labels are of one class. Fires if the "
        "inputs of an evaluation "
        "have another scale than those of the training: if one standard "
        "deviation is at least three times the other, if one is 1.5 times the "
        "other and the data have the same form, or if the means are three "
        "standard deviations apart. Advises at the end of the training if a "
        "class of at most 20 has less than a tenth of the labels of the "
        "largest one and a sample has one label, if the standard deviation of "
        "a feature is more than "
        "'feature_ratio' times the median of all features, or if the mean or "
        "the standard deviation of inputs or of the targets of a regression "
        "exceeds 'largest', if no input exceeds 0.005 in absolute value, or if "
        "all targets of a binary cross entropy are 0, or all are 1, and the "
        "training has no other loss. Fires as well if "
        "images have mixed channels. Advises if the targets of a regression "
        "of XGBoost are whole numbers from 0 on, each about as often, as "
        "labels of classes are.",
    .advice = kLabelsAndInputsAdvice,
    .parameters = kLabelsAndInputsParameters,
    .make = make_rule<LabelsAndInputs>,
};

}  // namespace smdebug
