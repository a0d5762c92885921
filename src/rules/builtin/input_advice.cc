#include <algorithm>

#include "rules/builtin/input_faults.h"

namespace smdebug {

const Advice kInputAdvice[] = {
    {.when = "probabilities for a cross entropy",
     .cause = "a softmax at the end of the model, although the loss applies "
              "one: the gradients are small, and the loss cannot reach 0",
     .advice = "return the scores of the last linear layer from the model, and "
               "apply softmax only to show probabilities; in Keras, set "
               "from_logits=False instead"},
    {.when = "probabilities for a binary cross entropy with logits",
     .cause = "a sigmoid at the end of the model, although the loss applies "
              "one: no probability below 0.5 can be learned",
     .advice = "return the scores of the last linear layer from the model, or "
               "use the binary cross entropy of probabilities: in Keras, "
               "from_logits=False"},
    {.when = "probabilities for a loss of log-probabilities",
     .cause = "softmax instead of log_softmax: the loss is not a likelihood "
              "and can fall below 0",
     .advice = "use log_softmax instead of softmax, or give the scores to a "
               "cross entropy"},
    {.when = "scores for a loss of log-probabilities",
     .cause = "a missing log_softmax: the loss falls without limit",
     .advice = "use a cross entropy, which takes scores, or apply log_softmax "
               "to the output of the model"},
    {.when = "no probabilities for a loss of probabilities",
     .cause = "a last layer without softmax or sigmoid: what is below 0 or "
              "above 1 is cut off and gets no gradient, and the loss may "
              "become NaN",
     .advice = "end the model with softmax, or with sigmoid for one output per "
               "class, or without an activation and set from_logits=True"},
    {.when = "a softmax over one unit",
     .cause = "a last layer with one unit and softmax: the model predicts 1 "
              "for every sample",
     .advice = "use sigmoid for two classes, one unit per class with softmax "
               "for more, and no activation for a regression"},
    {.when = "shapes that are broadcast",
     .cause = "predictions of shape (N, 1) and targets of shape (N), or the "
              "reverse: the loss compares each prediction with all targets, "
              "and the model learns their mean",
     .advice = "give both the same shape, for example with squeeze(1) on the "
               "predictions or unsqueeze(1) on the targets"},
    {.when = "all labels are ignored",
     .cause = "a mask that covers every label, or sequences that are truncated "
              "before their labels begin: the mean over no labels is NaN",
     .advice = "print the labels of a batch, and check where the mask ends and "
               "how long sequences may be",
     .severity = Severity::fatal},
    {.when = "the same output for all samples",
     .cause = "a softmax over one unit, which is always 1, or a layer that no "
              "longer passes its input on",
     .advice = "use a sigmoid for one unit, and look for layers whose output "
               "is constant"},
    {.when = "more classes than outputs",
     .cause =
         "a last layer with one unit, which distinguishes two classes, for "
         "labels of more classes",
     .advice = "use one unit per class with softmax, and a cross entropy of "
               "class labels"},
    {.when = "targets that the model cannot give",
     .cause = "a last activation whose range does not contain the targets, or "
              "targets of another scale, such as labels of -1 and 1 for a "
              "binary cross entropy",
     .advice = "remove the last activation, or transform the targets to its "
               "range"},
    {.when = "rows of targets that do not sum to 1",
     .cause = "several classes per sample under a cross entropy, which expects "
              "one class or the probabilities of all, or labels that one_hot "
              "cannot represent, which makes rows of zeros of them",
     .advice =
         "for several classes, use a loss that judges each class by itself "
         "(nn.BCEWithLogitsLoss, binary_crossentropy), or divide each row by "
         "its sum; for one, number the classes from 0, below the depth"},
    {.when = "a softmax over the batch",
     .cause = "softmax or log_softmax along dimension 0: each class competes "
              "over the samples of the batch, not each sample over its classes",
     .advice = "apply it along the classes: dim=1, or dim=-1"},
    {.when = "a softmax over another dimension than the classes",
     .cause = "softmax or log_softmax along a dimension that the loss does not "
              "take for the classes: it takes the second one, or the only one",
     .advice = "apply it along dim=1, and move the classes there first if they "
               "are elsewhere: x.movedim(-1, 1)"},
    {.when = "targets that are the tokens of the input",
     .cause = "labels that are not shifted: the model can copy its input, and "
              "the loss falls although it predicts nothing; an autoencoder "
              "wants this",
     .advice = "compare the output at each place with the next token: "
               "logits[:, :-1] with tokens[:, 1:]",
     .severity = Severity::advice},
    {.when = "targets that are other tokens than the next ones",
     .cause = "labels that are shifted twice, such as by the caller and by a "
              "model that shifts them itself",
     .advice = "shift the labels once: Transformers shifts the argument "
               "'labels' of its language models itself"},
    {.when = "class labels that are no whole numbers",
     .cause = "labels that were scaled, or that are amounts and no classes: "
              "the loss drops what follows the decimal point, so that many "
              "samples get the label 0",
     .advice = "give the loss whole numbers from 0 to the number of classes "
               "minus 1; for amounts, use a mean squared error and one output"},
    {.when = "targets that are padding",
     .cause = "a loss that counts the padding of the sequences: the model "
              "learns to predict padding, and the loss looks lower than it is",
     .advice = "give the loss the label of the padding to ignore: "
               "ignore_index=0, for example, or multiply it by a mask; in "
               "Keras, mask_zero=True",
     .severity = Severity::advice},
    {.when = "scores of several places in one row",
     .cause = "view() or reshape() of (samples, classes, places) to rows of "
              "classes, which keeps the order of the elements: a row then has "
              "the scores of one class at several places, not those of all "
              "classes at one place",
     .advice = "give the loss the scores as they are, with the classes in "
               "dimension 1, or move the classes to the end first: "
               "x.movedim(1, -1).reshape(-1, classes)"},
    {.when = "linear layers without activations",
     .cause = "missing activations: layers that follow each other directly can "
              "do no more than a single one, and the model is linear",
     .advice = "put an activation between the layers, such as nn.ReLU()"},
    {.when = "attention to the tokens that are predicted",
     .cause = "a missing causal mask: the model can look up the next token in "
              "its input, so the loss falls although it cannot write text",
     .advice = "hide the later places: is_causal=True in "
               "F.scaled_dot_product_attention, "
               "nn.Transformer.generate_square_subsequent_mask as mask, or "
               "scores.masked_fill(torch.ones(n, n).triu(1).bool(), "
               "float('-inf')) before the softmax"},
    {.when = "a softmax over a single score",
     .cause = "a softmax over a dimension of size 1: its result is 1 for each "
              "score, so it weighs nothing, and the scores get no gradient",
     .advice = "apply it along the dimension over which it should weigh, such "
               "as dim=1 of (samples, places, 1)"},
    {.when = "a softmax over the samples inside the model",
     .cause = "attention weights that sum to 1 over the samples of the batch, "
              "such as softmax(dim=0) of (samples, heads, places, places): "
              "each sample depends on the others, and no sample weighs its "
              "own places",
     .advice = "apply the softmax over the places that it should weigh: "
               "dim=-1 of (samples, heads, queries, keys)"},
    {.when = "a class that the loss ignores",
     .cause = "ignore_index is the label of a class: the loss leaves out all "
              "samples of it, and the model never learns it",
     .advice = "use a label for the padding that no class has, such as -100, "
               "or number the classes from 1"},
    {.when = "weights that favor the largest class",
     .cause = "weights of classes in the wrong order, or inverted: the most "
              "frequent class counts most, and the rarest one least",
     .advice = "order the weights by the number of the class, and make them "
               "larger the fewer samples a class has: "
               "len(y) / (classes * torch.bincount(y)); in XGBoost, "
               "scale_pos_weight = negatives / positives"},
    {.when = "a divergence that outweighs the loss",
     .cause = "a mean over the elements of a sample beside a sum over its "
              "latent variables, as in a variational autoencoder: the latent "
              "variables become those of the prior and tell nothing about the "
              "sample",
     .advice = "sum the loss over the elements of a sample as well, for "
               "example with reduction='sum' divided by the number of samples, "
               "or multiply the divergence by a small number"},
    {.when = "the same output for all samples behind saturating layers",
     .cause = "many layers with sigmoid or tanh, each of which passes at most "
              "a part of the signal and of the gradient on: nothing of the "
              "input reaches the output",
     .advice = "use ReLU, normalization or skip connections between the "
               "layers, or fewer layers"},
    {.when = "several classes per sample behind a softmax",
     .cause = "a softmax at the end of a model whose samples may have several "
              "classes, or none: its outputs sum to 1, so that each class "
              "takes from the others",
     .advice = "end the model with sigmoid, one output per class"},
    // Those of operations that make a loss not finite, see OperationFacts.
    {.when = "log of 0",
     .cause = "a probability that has become 0, in a loss that takes its "
              "logarithm",
     .advice = "compute the loss from the scores before the softmax or sigmoid "
               "(F.cross_entropy, F.binary_cross_entropy_with_logits), or "
               "limit the argument: torch.log(p.clamp_min(1e-7))",
     .severity = Severity::fatal},
    {.when = "log of a negative number",
     .cause = "scores where the logarithm expects probabilities",
     .advice = "apply softmax or sigmoid first, or compute the loss from the "
               "scores (F.cross_entropy, F.binary_cross_entropy_with_logits)",
     .severity = Severity::fatal},
    {.when = "division by 0",
     .cause = "a divisor that has become 0, such as a count, a norm or a "
              "standard deviation",
     .advice = "add a small number to the divisor, or leave out the samples "
               "for which it is 0",
     .severity = Severity::fatal},
    {.when = "undefined power",
     .cause = "a fractional power of a negative number, or a negative power of "
              "0",
     .advice = "limit the base from below: x.clamp_min(1e-7)",
     .severity = Severity::fatal},
    {.when = "overflow of exp",
     .cause = "exp of a number above 88, beyond which float32 has no numbers",
     .advice = "use torch.logsumexp, softmax or log_softmax, which subtract "
               "the largest score first, or limit the argument",
     .severity = Severity::fatal},
    {.when = "gradient of a root of 0",
     .cause = "a root of 0, such as the distance of a sample from itself: the "
              "slope of a root is infinite there",
     .advice = "add a small number below the root: torch.sqrt(x + 1e-12)",
     .severity = Severity::fatal},
    {.when = "mean of no elements",
     .cause = "a mask that selects no element of the batch",
     .advice = "skip such batches, or divide the sum by max(count, 1)",
     .severity = Severity::fatal},
};

const Advice& advice_on(InputFault fault) {
  return kInputAdvice[static_cast<std::size_t>(fault)];
}

const Advice* advice_on(const OperationFacts& operation) {
  const auto found =
      std::ranges::find(kInputAdvice, operation.kind, &Advice::when);
  return found == std::ranges::end(kInputAdvice) ? nullptr : found;
}

}  // namespace smdebug
