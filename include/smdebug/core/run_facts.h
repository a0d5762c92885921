#pragma once

// The facts of a training: its parameters, optimizers, modules, losses and
// first data. An adapter reports them to its session when an optimizer acts for
// the first time, and again when they change. Capture and `read` pass them to
// rules in the same form, and a run stores them in `facts/` (docs/format.md).
//
// A fact that the framework does not know is missing. Quantities that change
// with every step, such as a learning rate, are tensors of the run; here they
// have their values at `RunFacts::step`.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "smdebug/core/mode.h"

namespace [[gnu::visibility("default")]] smdebug {

// A group of an optimizer, by its positions in `RunFacts`.
struct GroupPosition {
  std::size_t optimizer = 0;
  std::size_t group = 0;

  friend bool operator==(const GroupPosition&, const GroupPosition&) = default;
};

// Settings by name: "learning_rate", "momentum".
using Settings = std::map<std::string, double, std::less<>>;

// Returns a setting; none if there is none of this name.
inline std::optional<double> setting(const Settings& settings,
                                     std::string_view name) {
  const auto found = settings.find(name);
  return found == settings.end() ? std::nullopt : std::optional(found->second);
}

struct ParameterFacts {
  std::string tensor;  // its name in the run: "Net_fc1.weight"
  bool is_trainable = true;
  std::string dtype;   // "float32"
  std::string device;  // "cpu", "cuda:0"; empty: unknown
  std::vector<std::int64_t> shape;
  // The tensor whose memory it shares, if it is not the first with this memory.
  std::string shared_with;
  std::optional<GroupPosition> updated_by;  // none: no optimizer holds it

  friend bool operator==(const ParameterFacts&,
                         const ParameterFacts&) = default;
};

struct OptimizerGroupFacts {
  std::uint64_t parameters = 0;
  std::uint64_t foreign_parameters = 0;  // of them, of no recorded model
  // "learning_rate", "weight_decay", "momentum", ...: the settings that the
  // group has. "rescale_grad": by what an update of MXNet multiplies the
  // gradients; "earlier_rounds": of a model of XGBoost whose training
  // continues.
  Settings settings;

  friend bool operator==(const OptimizerGroupFacts&,
                         const OptimizerGroupFacts&) = default;
};

struct OptimizerFacts {
  std::string kind;  // "Adam"
  std::vector<OptimizerGroupFacts> groups;
  // Whether its updates use sums of the gradients of all batches: in five
  // updates in a row, the backward pass added to what the last update had left.
  std::optional<bool> keeps_gradients = {};  // none: unknown
  // Whether its updates use only the last of several backward passes: in five
  // updates in a row, at least three passes preceded the update, and each found
  // cleared gradients.
  std::optional<bool> discards_gradients = {};  // none: unknown
  // Whether a scheduler of learning rates was made for it.
  std::optional<bool> has_scheduler = {};  // none: unknown

  friend bool operator==(const OptimizerFacts&,
                         const OptimizerFacts&) = default;
};

struct ModuleFacts {
  std::string path;                 // "encoder.norm"; of a root its name: "Net"
  std::string kind;                 // "BatchNorm2d"
  std::optional<bool> is_training;  // its mode, in a step with an update
  // "p" of a dropout; "dropout" and "batch_first" of a recurrent or attention
  // layer; "eps", "momentum" and others of a normalization.
  Settings settings;
  // Of the first input of a recurrent or attention layer in its first call that
  // trained; empty: unknown.
  std::vector<std::int64_t> input_shape = {};

  friend bool operator==(const ModuleFacts&, const ModuleFacts&) = default;
};

// The data in the first saved steps that train: an input of a model, or the
// targets of a loss. Of large tensors, the first samples are measured.
struct DataFacts {
  std::string tensor;       // "Net_input_0"; empty for targets
  std::string received_by;  // the kind of the model's first layer: "Linear"
  std::string dtype;
  std::uint64_t steps = 0;          // in which it was measured
  std::uint64_t repeats = 0;        // of them, with the numbers of the first
  std::vector<std::int64_t> shape;  // in the last of them
  // Of floating-point data, in the measured steps without NaN and infinity.
  std::optional<double> mean;
  std::optional<double> deviation;  // the standard deviation
  // The smallest and the largest element, also of indices, such as tokens.
  std::optional<double> low, high;
  // Of data with the shape (samples, features): the standard deviations of the
  // features that are not constant.
  std::optional<double> median_feature_deviation;
  std::optional<double> largest_feature_deviation;
  // The first step in which an element was found to be NaN or infinite. Also
  // searched where a loss is not finite for the first time.
  std::optional<Step> not_finite;
  // Of class labels, one per sample:
  std::uint64_t labels = 0;          // that were measured
  std::uint64_t classes = 0;         // different ones among them
  std::uint64_t largest_class = 0;   // labels of the most frequent class
  std::uint64_t smallest_class = 0;  // and of the least frequent
  // The share of the labels' diversity that lies between the steps, from 0 of
  // labels in random order to 1 of steps with one class each. None: one class,
  // or fewer than 3 steps with at least 8 labels.
  std::optional<double> label_order;
  // Of images (samples, channels, rows, columns): whether their elements have
  // the order of (rows, columns, channels). None: no images of three channels.
  std::optional<bool> has_mixed_channels = {};

  friend bool operator==(const DataFacts&, const DataFacts&) = default;
};

// The input of a loss in the first saved steps that train. Texts are empty,
// and shares missing, if they were unknown or differed between the
// steps.
struct LossInputFacts {
  // That computed it: "cross_entropy" of scores, "categorical_cross_entropy" of
  // probabilities, "mse_loss", ...
  std::string function;
  std::uint64_t steps = 0;  // in which it was measured
  // Of a cross entropy in Keras (rows, classes), whatever precedes the classes.
  std::vector<std::int64_t> shape;
  std::optional<std::vector<std::int64_t>> target_shape;
  // The operation that computed it: "Softmax", "Sigmoid", "Relu"; "Linear" for
  // any matrix product or convolution.
  std::string activation;
  // The kind of its elements: "probabilities", "distributions" (in rows that
  // sum to 1, of a loss that judges each by itself), "log_probabilities",
  // "scores" (neither), "log_probabilities_of_batch", whose sum over the
  // samples, not over the classes, is 1, or "log_probabilities_of_others", with
  // a sum of 1 over some other dimension.
  std::string values;
  std::optional<double> ignored;  // the smallest share of ignored labels
  // The largest share of class labels that are no whole numbers.
  std::optional<double> fractional = {};
  // The smallest share of the targets that count although they belong to the
  // padding of sequences of tokens, and the label that they have.
  std::optional<double> padding = {};
  std::optional<std::int64_t> padding_label = {};
  // Steps in which samples with different targets had the same output.
  std::uint64_t equal_outputs = 0;
  // The smallest share of targets that the activation cannot give.
  std::optional<double> outside;
  std::optional<double> target_low;
  std::optional<double> target_high;
  // In at least 99 % of the places that count, the target at place t is token
  // t + target_shift of an input: 1 in a model of a language.
  std::optional<std::uint64_t> target_shift;
  // The feature of the model's first input, of the shape (samples, features),
  // that equals the targets times a number plus a number in all steps.
  std::optional<std::uint64_t> revealing_feature = {};
  // The layers of a model without any activation that a single layer could
  // replace. None: there are none, or it is unknown.
  std::optional<std::uint64_t> linear_layers = {};
  // Of a model of a language: whether all attentions over the places use later
  // places, which are to be predicted. None: there is no attention.
  std::optional<bool> sees_later = {};
  // Whether the model has a softmax over a dimension of size 1, of scores that
  // a layer computed: its result is always 1.
  std::optional<bool> has_softmax_of_one = {};
  // Whether a softmax of the model, with three dimensions or more, is computed
  // over the samples.
  std::optional<bool> has_softmax_of_batch = {};
  // Whether the rows of scores are a view of (samples, classes, places...),
  // which puts the scores of one class at several places into a row.
  std::optional<bool> mixes_places = {};
  // The number of different tokens that have the label which the loss ignores,
  // if it is the label of a class; 0 if they are padding. None: unknown.
  std::optional<std::uint64_t> ignored_tokens = {};
  // The weights that the loss gives to the most and to the least frequent class
  // of the targets. None: it has no weights of classes.
  std::optional<double> weight_of_largest_class = {};
  std::optional<double> weight_of_smallest_class = {};
  // How many times as much as in an evidence lower bound the divergence of a
  // normal distribution, another term of what is minimized, counts beside this
  // loss. None: there is no such term.
  std::optional<double> divergence_weight = {};
  std::optional<DataFacts> targets;  // none: not measured

  friend bool operator==(const LossInputFacts&,
                         const LossInputFacts&) = default;
};

struct LossFacts {
  std::string tensor;  // "CrossEntropyLoss_output_0"
  // "CrossEntropyLoss"; of a function "cross_entropy", of a function of the
  // script under XGBoost "custom objective".
  std::string kind;
  // "mean", "weighted_mean" (Keras), "half_mean" (L2Loss of MXNet),
  // "scaled_mean" (by another factor), "sum", "scaled_sum" (times a factor, or
  // with other terms), "none"; empty: unknown.
  std::string reduction;
  std::optional<std::int64_t> ignored_label;
  std::optional<LossInputFacts> input;  // none: not measured
  // Of a triplet margin loss: its value if all samples have the same output.
  std::optional<double> margin = {};

  friend bool operator==(const LossFacts&, const LossFacts&) = default;
};

// A scheduler of learning rates. Its counters are those of `RunFacts::step`.
struct SchedulerFacts {
  std::string kind;                      // "StepLR"
  std::optional<std::size_t> optimizer;  // its position; none: unknown
  std::uint64_t steps = 0;               // that the scheduler took
  std::uint64_t updates = 0;             // of its optimizer
  // "step_size", "T_max", "gamma", ...: the settings that it has.
  Settings settings;

  friend bool operator==(const SchedulerFacts&,
                         const SchedulerFacts&) = default;
};

// The operation that made a loss not finite: in the graph of the first such
// loss, one whose argument is finite and outside of what it is defined for.
struct OperationFacts {
  // "log of 0", "log of a negative number", "division by 0", "undefined power",
  // "overflow of exp", "mean of no elements" or "gradient of a root of 0",
  // which makes not the loss but its gradient infinite or NaN
  std::string kind;
  Step step = 0;               // the global step of the loss
  std::uint64_t elements = 0;  // of the argument that are outside
  std::uint64_t size = 0;      // of the argument

  friend bool operator==(const OperationFacts&,
                         const OperationFacts&) = default;
};

// A metric that a callback watches, to stop a training, to keep the best model
// or to lower the learning rate.
struct MetricWatchFacts {
  std::string kind;    // "EarlyStopping"
  std::string metric;  // "val_accuracy"; of XGBoost "validation-auc"
  bool prefers_high =
      false;  // whether it takes a higher value for a better one
  // Whether the metric is computed on the training data, although the training
  // has others.
  bool is_of_training = false;

  friend bool operator==(const MetricWatchFacts&,
                         const MetricWatchFacts&) = default;
};

// The facts of the loop around a model.
struct LoopFacts {
  std::string autocast_dtype;  // when a model was called; empty: none seen
  std::vector<SchedulerFacts> schedulers;
  // Updates whose gradients were clipped while they carried the scale of a
  // gradient scaler, and the limit of the last one.
  std::uint64_t scaled_clippings = 0;
  std::optional<double> scaled_clipping_limit;
  // The largest norm of all gradients together, and the largest element of a
  // gradient, that a clipping leaves before each update. None: there is no such
  // clipping, or its limit changes, or a gradient scaler acts.
  std::optional<double> gradient_norm_limit = {};
  std::optional<double> gradient_value_limit = {};
  // The clippings so far, if none of them found a gradient, else 0.
  std::uint64_t empty_clippings = 0;
  // Whether the trainer leaves losses that are not finite out of its log.
  bool log_hides_not_finite = false;
  std::optional<OperationFacts> not_finite_by = {};  // none: unknown
  // Optimizers that keep averages of the gradients, acted at most twice and
  // were then replaced by another one for the same parameters. None: not
  // counted.
  std::optional<std::uint64_t> short_lived_optimizers = {};
  // Losses without gradients of models in training mode. None: not counted, or
  // a model has been evaluated in evaluation mode.
  std::optional<std::uint64_t> evaluations_in_training_mode = {};
  // Passes over data loaders of two or more batches that began with gradients
  // enabled. None: no pass over any data loader was seen.
  std::optional<std::uint64_t> data_passes = {};
  // The kinds of the layers that a model calls although they are no part of it,
  // and whose trainable parameters no optimizer holds: "Linear". Of a loop with
  // a tape of TensorFlow, the names of the layers whose variables were listed
  // before they were made.
  std::vector<std::string> layers_outside = {};
  // The backward passes whose gradients each update adds up, if there are
  // several and no loss is divided by a number. None: unknown, or they differ.
  std::optional<std::uint64_t> summed_passes = {};
  // Calls of load_state_dict() that found no parameter of the model.
  std::uint64_t empty_loads = 0;
  std::vector<MetricWatchFacts> metric_watches = {};

  friend bool operator==(const LoopFacts&, const LoopFacts&) = default;
};

struct RunFacts {
  Step step = 0;  // the global step from which on they hold
  std::vector<ParameterFacts> parameters;
  std::vector<OptimizerFacts> optimizers;
  std::vector<ModuleFacts> modules;
  std::vector<LossFacts> losses;
  std::vector<DataFacts> inputs;  // of the models
  // The same tensors in the first saved steps that evaluate a model.
  std::vector<DataFacts> evaluation_inputs = {};
  LoopFacts loop;
  // The evaluation sets of XGBoost that are the rows it trains on, whatever
  // their names: "validation_0".
  std::vector<std::string> training_sets = {};

  friend bool operator==(const RunFacts&, const RunFacts&) = default;
};

// The facts of one worker of a run.
struct WorkerFacts {
  std::string worker;
  RunFacts facts;

  friend bool operator==(const WorkerFacts&, const WorkerFacts&) = default;
};

}  // namespace smdebug
