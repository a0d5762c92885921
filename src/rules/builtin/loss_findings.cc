#include "rules/builtin/loss_findings.h"

#include <utility>

#include <fmt/format.h>

#include "rules/engine/finding.h"

namespace smdebug {
namespace {

const Advice kLossFindingsAdvice[] = {
    {.when = "the loss is not finite",
     .cause = "a training that diverged because of a learning rate that is too "
              "high or an overflow",
     .advice = "lower the learning rate or clip the gradients, and use the "
               "rule ExplodingTensor to find where it began",
     .severity = Severity::fatal},
    {.when = "the loss grew until it was not finite",
     .cause = "a learning rate that is too high, or inputs or targets that are "
              "not scaled: each update made the next loss larger",
     .advice = "lower the learning rate to a tenth, scale inputs and targets "
               "to a mean of 0 and a deviation of 1, or clip the gradients",
     .severity = Severity::fatal},
    {.when = "the loss was suddenly not finite",
     .cause = "a division by zero, a logarithm or square root of zero, an "
              "overflow of float16, or NaN in the data of this step",
     .advice = "use the rule ExplodingTensor to find the first tensor that is "
               "not finite, add a small number to divisors and to arguments of "
               "log and sqrt, and search the data for NaN",
     .severity = Severity::fatal},
    {.when = "the loss rose",
     .cause = "a learning rate that is too high, or labels that do not fit "
              "the loss",
     .advice = "lower the learning rate, and check the labels and the loss"},
    {.when = "the loss does not change",
     .cause = "gradients that do not reach the weights, a learning rate that "
              "is too low, or a converged training",
     .advice = "check that gradients reach the weights, raise the learning "
               "rate, or stop if the training has converged"},
    {.when = "the loss is the same at every step",
     .cause = "a loss that does not depend on the weights, or weights that do "
              "not move",
     .advice = "check that the model's output is what the loss receives, that "
               "backward() starts from this loss, and that the optimizer holds "
               "the parameters of this model",
     .severity = Severity::fatal},
    {.when = "the loss is the same at every step: 0",
     .cause = "a loss of nothing: all labels are ignored or masked, a softmax "
              "over a single output, or an output that is compared with itself",
     .advice = "check the shape of the model's output, the labels of a batch "
               "and those that the loss ignores",
     .severity = Severity::fatal},
    {.when = "the loss does not fall",
     .cause = "a learning rate that is too low or far too high, gradients that "
              "do not reach the weights, or labels that do not belong to the "
              "inputs",
     .advice = "train on a single batch: if its loss falls to nearly 0, check "
               "the order of inputs and labels; if not, check the learning "
               "rate and the gradients of the first layers"},
    {.when = "the loss does not fall, and the learning rate is low",
     .cause = "a learning rate that is too low: the weights hardly move",
     .advice = "start from a usual learning rate: 0.001 for Adam and its "
               "relatives, 0.1 for SGD"},
    {.when = "the loss does not fall, and the learning rate has decayed",
     .cause = "a schedule that lowers the learning rate too early, such as one "
              "that is meant for epochs and stepped after each batch",
     .advice = "call scheduler.step() once per epoch, or give the schedule "
               "the number of batches"},
    {.when = "the loss leapt in the first steps",
     .cause = "a learning rate that is too high: the first updates destroyed "
              "the initial weights",
     .advice = "lower the learning rate to a tenth, or raise it slowly over "
               "the first steps (warm-up)"},
    {.when = "the loss rises",
     .cause = "a learning rate that is too high, gradients that are not "
              "cleared between updates, or a loss with the wrong sign",
     .advice = "lower the learning rate, call zero_grad() before each backward "
               "pass, and check the sign of the loss"},
    {.when = "the loss diverges",
     .cause = "a learning rate that is too high, inputs or targets that are "
              "not scaled, or a loss with the wrong sign",
     .advice = "lower the learning rate to a tenth, and scale inputs and "
               "targets to a mean of 0 and a deviation of 1",
     .severity = Severity::fatal},
    {.when = "the loss fell and is as high again as it began",
     .cause = "a learning rate that is too high for this part of the training, "
              "or a batch with broken data",
     .advice =
         "lower the learning rate or clip the gradients, and continue from "
         "a checkpoint of a step before the rise"},
    {.when = "the loss does not fall but oscillates",
     .cause =
         "a learning rate that is too high: each update jumps to the other "
         "side of a minimum",
     .advice = "lower the learning rate to a tenth"},
    {.when = "the loss falls without a bound",
     .cause = "a wrong sign, or a term without a lower bound: the optimizer "
              "makes the loss ever lower, and the model learns nothing",
     .advice = "check the sign of the loss and of each of its terms, and which "
               "of them can fall below zero",
     .severity = Severity::fatal},
    {.when = "the loss does not fall at a usual learning rate",
     .cause = "labels that do not belong to their inputs, or inputs that the "
              "model cannot use, such as tokens without their positions or "
              "behind a mask",
     .advice = "look at inputs and labels of a batch side by side, as the "
               "model gets them; if they belong together, train on a single "
               "batch: its loss falls to nearly 0 if the model can use them"},
    {.when = "the loss of trees is the same at every round",
     .cause = "trees without a split: min_child_weight or gamma is too large "
              "for the data, or the learning rate is 0",
     .advice = "lower min_child_weight to 1 and gamma to 0: min_child_weight "
               "is a sum of second derivatives, at most 0.25 per row of a "
               "binary classification, and no number of rows",
     .severity = Severity::fatal},
    {.when = "the loss of trees stopped falling",
     .cause = "trees without a split after the first rounds: gamma is larger "
              "than any gain, which is in the unit of the squared targets for "
              "a squared error, or min_child_weight is too large",
     .advice = "set gamma to 0 and min_child_weight to 1, and raise them only "
               "if the loss of the validation rows gets better"},
    {.when = "the loss of trees does not fall",
     .cause = "features that do not tell the labels, such as rows in another "
              "order than their labels, or a regularization that is too "
              "strong",
     .advice =
         "look at features and labels of a few rows side by side; if "
         "they belong together, lower gamma, min_child_weight and lambda"},
    {.when = "the loss of trees hardly falls",
     .cause = "a learning rate (eta) that is too low for the number of rounds: "
              "all trees together correct only a small share of the errors",
     .advice = "raise eta to 0.05 to 0.3, or train so many rounds that eta "
               "times their number is 3 or more"},
    {.when = "the loss of trees rises with a custom objective",
     .cause = "a gradient with the wrong sign: each tree makes the loss larger",
     .advice = "return the derivative of the loss by the prediction: "
               "prediction minus label for a squared error, probability minus "
               "label for a logistic loss",
     .severity = Severity::fatal},
    {.when = "the loss of trees rises",
     .cause = "a learning rate (eta) above 1, a metric that the objective does "
              "not minimize, or a custom objective whose gradient has the "
              "wrong sign",
     .advice = "lower eta to 0.3 or less, evaluate the loss that the objective "
               "minimizes, and return prediction minus label as the gradient "
               "of a squared error"},
    {.when = "the loss of trees is the same at every round of a custom "
             "objective",
     .cause = "second derivatives that are wrong, such as negative ones or 0: "
              "XGBoost splits no rows whose sum of them is below "
              "min_child_weight",
     .advice = "return the second derivative of the loss by the prediction: 1 "
               "for half the squared error, p * (1 - p) for a logistic loss "
               "with the probability p; it is never negative",
     .severity = Severity::fatal},
    {.when = "the loss does not fall below its margin",
     .cause = "outputs that have become the same for all samples: positive and "
              "negative samples that were exchanged, or a learning rate that "
              "is too high",
     .advice = "check that the loss gets the anchor, the positive and the "
               "negative sample in this order, lower the learning rate, and "
               "normalize the outputs"},
    {.when = "a guess, while dropout drops most units",
     .cause = "a rate of dropout that is too high, such as the share of units "
              "to keep where that to drop is expected: hardly anything passes "
              "through the model while it trains",
     .advice = "set the rate to 0.1 to 0.5: it is the share that is dropped"},
    {.when = "the loss is far above that of a constant prediction",
     .cause = "targets that are not scaled: the outputs begin near 0 and reach "
              "the size of the targets only after very many updates",
     .advice = "standardize the targets, and transform the predictions back, "
               "or raise the learning rate"},
};

}  // namespace

std::span<const Advice> loss_advice() { return kLossFindingsAdvice; }

const Advice& advice_on(LossFault fault) {
  return kLossFindingsAdvice[static_cast<std::size_t>(fault)];
}

void merge(std::optional<Finding>& finding, Finding more) {
  if (!finding) {
    finding = std::move(more);
    return;
  }
  finding->evidence.push_back(std::move(more.evidence.front()));
}

Finding not_finite_finding(Evidence evidence, double value, LossFault fault) {
  Finding finding;
  finding.message =
      fmt::format("{}: the loss is not finite: {} at {}",
                  tensor_text(evidence.tensor, evidence.worker),
                  not_finite_text(value), step_text(evidence.step));
  set_advice(finding, advice_on(fault));
  evidence.quantity = "loss";
  evidence.value = value;
  evidence.relation = "is not finite";
  finding.evidence.push_back(std::move(evidence));
  return finding;
}

}  // namespace smdebug
