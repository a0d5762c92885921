// Bindings of include/smdebug/core/run_facts.h: an adapter fills in what it
// knows, and `Session.set_facts` reports it.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "smdebug/core/run_facts.h"

#include "bindings.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace smdebug {
namespace {

void bind_parameter(nb::module_& m) {
  nb::class_<ParameterFacts>(m, "ParameterFacts", "The facts of one parameter.")
      .def(
          "__init__",
          [](ParameterFacts* self, std::string tensor, bool is_trainable,
             std::string dtype, std::string device,
             std::vector<std::int64_t> shape, std::string shared_with,
             std::optional<std::pair<std::size_t, std::size_t>> updated_by) {
            new (self) ParameterFacts{std::move(tensor), is_trainable,
                                      std::move(dtype),  std::move(device),
                                      std::move(shape),  std::move(shared_with),
                                      std::nullopt};
            if (updated_by) {
              self->updated_by =
                  GroupPosition{updated_by->first, updated_by->second};
            }
          },
          "tensor"_a, nb::kw_only(), "is_trainable"_a = true, "dtype"_a = "",
          "device"_a = "", "shape"_a = std::vector<std::int64_t>(),
          "shared_with"_a = "", "updated_by"_a.none() = nb::none(),
          "`updated_by` is (position of the optimizer, of its group).")
      .def_ro("tensor", &ParameterFacts::tensor)
      .def_ro("is_trainable", &ParameterFacts::is_trainable)
      .def_ro("dtype", &ParameterFacts::dtype)
      .def_ro("device", &ParameterFacts::device)
      .def_ro("shape", &ParameterFacts::shape)
      .def_ro("shared_with", &ParameterFacts::shared_with)
      .def_prop_ro("updated_by",
                   [](const ParameterFacts& self)
                       -> std::optional<std::pair<std::size_t, std::size_t>> {
                     if (!self.updated_by) return std::nullopt;
                     return std::pair(self.updated_by->optimizer,
                                      self.updated_by->group);
                   });
}

void bind_optimizer(nb::module_& m) {
  nb::class_<OptimizerGroupFacts>(m, "OptimizerGroupFacts",
                                  "The facts of a group of an optimizer.")
      .def(
          "__init__",
          [](OptimizerGroupFacts* self, std::uint64_t parameters,
             std::uint64_t foreign_parameters, Settings settings) {
            new (self) OptimizerGroupFacts{parameters, foreign_parameters,
                                           std::move(settings)};
          },
          nb::kw_only(), "parameters"_a, "foreign_parameters"_a = 0,
          "settings"_a = Settings(),
          "`foreign_parameters` of `parameters` are of no recorded model.")
      .def_ro("parameters", &OptimizerGroupFacts::parameters)
      .def_ro("foreign_parameters", &OptimizerGroupFacts::foreign_parameters)
      .def_ro("settings", &OptimizerGroupFacts::settings);
  nb::class_<OptimizerFacts>(m, "OptimizerFacts", "The facts of one optimizer.")
      .def(
          "__init__",
          [](OptimizerFacts* self, std::string kind,
             std::vector<OptimizerGroupFacts> groups,
             std::optional<bool> keeps_gradients,
             std::optional<bool> discards_gradients,
             std::optional<bool> has_scheduler) {
            new (self) OptimizerFacts{std::move(kind), std::move(groups),
                                      keeps_gradients, discards_gradients,
                                      has_scheduler};
          },
          "kind"_a, "groups"_a, nb::kw_only(),
          "keeps_gradients"_a.none() = nb::none(),
          "discards_gradients"_a.none() = nb::none(),
          "has_scheduler"_a.none() = nb::none())
      .def_ro("kind", &OptimizerFacts::kind)
      .def_ro("groups", &OptimizerFacts::groups)
      .def_ro("keeps_gradients", &OptimizerFacts::keeps_gradients,
              "Whether its updates use sums of the gradients of all batches; "
              "None if that is unknown.")
      .def_ro("discards_gradients", &OptimizerFacts::discards_gradients,
              "Whether its updates use only the gradients of the last of "
              "several backward passes; None if that is unknown.")
      .def_ro("has_scheduler", &OptimizerFacts::has_scheduler,
              "Whether a scheduler of learning rates was made for it; None if "
              "that is unknown.");
}

void bind_module(nb::module_& m) {
  nb::class_<ModuleFacts>(m, "ModuleFacts", "The facts of a module or a layer.")
      .def(
          "__init__",
          [](ModuleFacts* self, std::string path, std::string kind,
             std::optional<bool> is_training, Settings settings,
             std::vector<std::int64_t> input_shape) {
            new (self)
                ModuleFacts{std::move(path), std::move(kind), is_training,
                            std::move(settings), std::move(input_shape)};
          },
          "path"_a, "kind"_a, nb::kw_only(),
          "is_training"_a.none() = nb::none(), "settings"_a = Settings(),
          "input_shape"_a = std::vector<std::int64_t>())
      .def_ro("path", &ModuleFacts::path)
      .def_ro("kind", &ModuleFacts::kind)
      .def_ro("is_training", &ModuleFacts::is_training)
      .def_ro("settings", &ModuleFacts::settings)
      .def_ro("input_shape", &ModuleFacts::input_shape);
}

void bind_data(nb::module_& m) {
  using Number = std::optional<double>;
  nb::class_<DataFacts>(
      m, "DataFacts",
      "The data in the first saved steps that train: an input of a model, or "
      "the targets of a loss. Numbers are None if they are unknown.")
      .def(
          "__init__",
          [](DataFacts* self, std::string tensor, std::string received_by,
             std::string dtype, std::uint64_t steps, std::uint64_t repeats,
             std::vector<std::int64_t> shape, Number mean, Number deviation,
             Number low, Number high, Number median_feature_deviation,
             Number largest_feature_deviation, std::optional<Step> not_finite,
             std::uint64_t labels, std::uint64_t classes,
             std::uint64_t largest_class, std::uint64_t smallest_class,
             Number label_order, std::optional<bool> has_mixed_channels) {
            new (self) DataFacts{
                .tensor = std::move(tensor),
                .received_by = std::move(received_by),
                .dtype = std::move(dtype),
                .steps = steps,
                .repeats = repeats,
                .shape = std::move(shape),
                .mean = mean,
                .deviation = deviation,
                .low = low,
                .high = high,
                .median_feature_deviation = median_feature_deviation,
                .largest_feature_deviation = largest_feature_deviation,
                .not_finite = not_finite,
                .labels = labels,
                .classes = classes,
                .largest_class = largest_class,
                .smallest_class = smallest_class,
                .label_order = label_order,
                .has_mixed_channels = has_mixed_channels};
          },
          "tensor"_a = "", nb::kw_only(), "received_by"_a = "", "dtype"_a = "",
          "steps"_a = 0, "repeats"_a = 0,
          "shape"_a = std::vector<std::int64_t>(), "mean"_a.none() = nb::none(),
          "deviation"_a.none() = nb::none(), "low"_a.none() = nb::none(),
          "high"_a.none() = nb::none(),
          "median_feature_deviation"_a.none() = nb::none(),
          "largest_feature_deviation"_a.none() = nb::none(),
          "not_finite"_a.none() = nb::none(), "labels"_a = 0, "classes"_a = 0,
          "largest_class"_a = 0, "smallest_class"_a = 0,
          "label_order"_a.none() = nb::none(),
          "has_mixed_channels"_a.none() = nb::none())
      .def_ro("tensor", &DataFacts::tensor)
      .def_ro("received_by", &DataFacts::received_by)
      .def_ro("dtype", &DataFacts::dtype)
      .def_ro("steps", &DataFacts::steps)
      .def_ro("repeats", &DataFacts::repeats)
      .def_ro("shape", &DataFacts::shape)
      .def_ro("mean", &DataFacts::mean)
      .def_ro("deviation", &DataFacts::deviation)
      .def_ro("low", &DataFacts::low)
      .def_ro("high", &DataFacts::high)
      .def_ro("median_feature_deviation", &DataFacts::median_feature_deviation)
      .def_ro("largest_feature_deviation",
              &DataFacts::largest_feature_deviation)
      .def_ro("not_finite", &DataFacts::not_finite)
      .def_ro("labels", &DataFacts::labels)
      .def_ro("classes", &DataFacts::classes)
      .def_ro("largest_class", &DataFacts::largest_class)
      .def_ro("smallest_class", &DataFacts::smallest_class)
      .def_ro("label_order", &DataFacts::label_order)
      .def_ro("has_mixed_channels", &DataFacts::has_mixed_channels);
}

void bind_loss(nb::module_& m) {
  using Shape = std::vector<std::int64_t>;
  using Range = std::pair<double, double>;
  nb::class_<LossInputFacts>(
      m, "LossInputFacts",
      "The input of a loss in the first saved steps. Texts are empty, and "
      "shares None, if they are unknown or differed between the steps.")
      .def(
          "__init__",
          [](LossInputFacts* self, std::string function, std::uint64_t steps,
             Shape shape, std::optional<Shape> target_shape,
             std::string activation, std::string values,
             std::optional<double> ignored, std::uint64_t equal_outputs,
             std::optional<double> outside, std::optional<Range> target_range,
             std::optional<std::uint64_t> target_shift,
             std::optional<DataFacts> targets, std::optional<double> fractional,
             std::optional<std::uint64_t> revealing_feature,
             std::optional<double> padding,
             std::optional<std::int64_t> padding_label,
             std::optional<std::uint64_t> linear_layers,
             std::optional<bool> sees_later,
             std::optional<bool> has_softmax_of_one,
             std::optional<bool> has_softmax_of_batch,
             std::optional<bool> mixes_places,
             std::optional<std::uint64_t> ignored_tokens,
             std::optional<Range> class_weights,
             std::optional<double> divergence_weight) {
            new (self)
                LossInputFacts{.function = std::move(function),
                               .steps = steps,
                               .shape = std::move(shape),
                               .target_shape = std::move(target_shape),
                               .activation = std::move(activation),
                               .values = std::move(values),
                               .ignored = ignored,
                               .fractional = fractional,
                               .padding = padding,
                               .padding_label = padding_label,
                               .equal_outputs = equal_outputs,
                               .outside = outside,
                               .target_low = {},
                               .target_high = {},
                               .target_shift = target_shift,
                               .revealing_feature = revealing_feature,
                               .linear_layers = linear_layers,
                               .sees_later = sees_later,
                               .has_softmax_of_one = has_softmax_of_one,
                               .has_softmax_of_batch = has_softmax_of_batch,
                               .mixes_places = mixes_places,
                               .ignored_tokens = ignored_tokens,
                               .divergence_weight = divergence_weight,
                               .targets = std::move(targets)};
            if (class_weights) {
              self->weight_of_largest_class = class_weights->first;
              self->weight_of_smallest_class = class_weights->second;
            }
            if (!target_range) return;
            self->target_low = target_range->first;
            self->target_high = target_range->second;
          },
          "function"_a, nb::kw_only(), "steps"_a, "shape"_a = Shape(),
          "target_shape"_a.none() = nb::none(), "activation"_a = "",
          "values"_a = "", "ignored"_a.none() = nb::none(),
          "equal_outputs"_a = 0, "outside"_a.none() = nb::none(),
          "target_range"_a.none() = nb::none(),
          "target_shift"_a.none() = nb::none(), "targets"_a.none() = nb::none(),
          "fractional"_a.none() = nb::none(),
          "revealing_feature"_a.none() = nb::none(),
          "padding"_a.none() = nb::none(),
          "padding_label"_a.none() = nb::none(),
          "linear_layers"_a.none() = nb::none(),
          "sees_later"_a.none() = nb::none(),
          "has_softmax_of_one"_a.none() = nb::none(),
          "has_softmax_of_batch"_a.none() = nb::none(),
          "mixes_places"_a.none() = nb::none(),
          "ignored_tokens"_a.none() = nb::none(),
          "class_weights"_a.none() = nb::none(),
          "divergence_weight"_a.none() = nb::none())
      .def_ro("function", &LossInputFacts::function)
      .def_ro("steps", &LossInputFacts::steps)
      .def_ro("shape", &LossInputFacts::shape)
      .def_ro("target_shape", &LossInputFacts::target_shape)
      .def_ro("activation", &LossInputFacts::activation)
      .def_ro("values", &LossInputFacts::values)
      .def_ro("ignored", &LossInputFacts::ignored)
      .def_ro("fractional", &LossInputFacts::fractional)
      .def_ro("padding", &LossInputFacts::padding)
      .def_ro("padding_label", &LossInputFacts::padding_label)
      .def_ro("equal_outputs", &LossInputFacts::equal_outputs)
      .def_ro("outside", &LossInputFacts::outside)
      .def_prop_ro("target_range",
                   [](const LossInputFacts& self) -> std::optional<Range> {
                     if (!self.target_low || !self.target_high) return {};
                     return Range(*self.target_low, *self.target_high);
                   })
      .def_ro("target_shift", &LossInputFacts::target_shift)
      .def_ro("revealing_feature", &LossInputFacts::revealing_feature)
      .def_ro("linear_layers", &LossInputFacts::linear_layers)
      .def_ro("sees_later", &LossInputFacts::sees_later)
      .def_ro("has_softmax_of_one", &LossInputFacts::has_softmax_of_one)
      .def_ro("has_softmax_of_batch", &LossInputFacts::has_softmax_of_batch)
      .def_ro("mixes_places", &LossInputFacts::mixes_places)
      .def_ro("ignored_tokens", &LossInputFacts::ignored_tokens)
      .def_prop_ro("class_weights",
                   [](const LossInputFacts& self) -> std::optional<Range> {
                     if (!self.weight_of_largest_class ||
                         !self.weight_of_smallest_class) {
                       return {};
                     }
                     return Range(*self.weight_of_largest_class,
                                  *self.weight_of_smallest_class);
                   })
      .def_ro("divergence_weight", &LossInputFacts::divergence_weight)
      .def_ro("targets", &LossInputFacts::targets);
  nb::class_<LossFacts>(m, "LossFacts", "The facts of a loss.")
      .def(
          "__init__",
          [](LossFacts* self, std::string tensor, std::string kind,
             std::string reduction, std::optional<std::int64_t> ignored_label,
             std::optional<LossInputFacts> input,
             std::optional<double> margin) {
            new (self) LossFacts{std::move(tensor),    std::move(kind),
                                 std::move(reduction), ignored_label,
                                 std::move(input),     margin};
          },
          "tensor"_a, "kind"_a, nb::kw_only(), "reduction"_a = "",
          "ignored_label"_a.none() = nb::none(), "input"_a.none() = nb::none(),
          "margin"_a.none() = nb::none())
      .def_ro("tensor", &LossFacts::tensor)
      .def_ro("kind", &LossFacts::kind)
      .def_ro("reduction", &LossFacts::reduction)
      .def_ro("ignored_label", &LossFacts::ignored_label)
      .def_ro("input", &LossFacts::input)
      .def_ro("margin", &LossFacts::margin);
}

void bind_loop(nb::module_& m) {
  nb::class_<SchedulerFacts>(m, "SchedulerFacts",
                             "The facts of a scheduler of learning rates.")
      .def(
          "__init__",
          [](SchedulerFacts* self, std::string kind,
             std::optional<std::size_t> optimizer, std::uint64_t steps,
             std::uint64_t updates, Settings settings) {
            new (self) SchedulerFacts{std::move(kind), optimizer, steps,
                                      updates, std::move(settings)};
          },
          "kind"_a, nb::kw_only(), "optimizer"_a.none() = nb::none(), "steps"_a,
          "updates"_a, "settings"_a = Settings())
      .def_ro("kind", &SchedulerFacts::kind)
      .def_ro("optimizer", &SchedulerFacts::optimizer)
      .def_ro("steps", &SchedulerFacts::steps)
      .def_ro("updates", &SchedulerFacts::updates)
      .def_ro("settings", &SchedulerFacts::settings);
  nb::class_<OperationFacts>(
      m, "OperationFacts",
      "The operation that made a loss not finite, for example \"log of 0\": "
      "`elements` of the `size` elements of its argument are outside of what "
      "it is defined for.")
      .def(
          "__init__",
          [](OperationFacts* self, std::string kind, Step step,
             std::uint64_t elements, std::uint64_t size) {
            new (self) OperationFacts{std::move(kind), step, elements, size};
          },
          "kind"_a, nb::kw_only(), "step"_a, "elements"_a, "size"_a)
      .def_ro("kind", &OperationFacts::kind)
      .def_ro("step", &OperationFacts::step)
      .def_ro("elements", &OperationFacts::elements)
      .def_ro("size", &OperationFacts::size);
  nb::class_<MetricWatchFacts>(
      m, "MetricWatchFacts",
      "A metric that a callback watches, to stop a training, to keep the best "
      "model or to lower the learning rate.")
      .def(
          "__init__",
          [](MetricWatchFacts* self, std::string kind, std::string metric,
             bool prefers_high, bool is_of_training) {
            new (self) MetricWatchFacts{std::move(kind), std::move(metric),
                                        prefers_high, is_of_training};
          },
          "kind"_a, "metric"_a, nb::kw_only(), "prefers_high"_a,
          "is_of_training"_a = false)
      .def_ro("kind", &MetricWatchFacts::kind)
      .def_ro("metric", &MetricWatchFacts::metric)
      .def_ro("prefers_high", &MetricWatchFacts::prefers_high)
      .def_ro("is_of_training", &MetricWatchFacts::is_of_training);
  nb::class_<LoopFacts>(m, "LoopFacts", "The facts of the loop around a model.")
      .def(
          "__init__",
          [](LoopFacts* self, std::string autocast_dtype,
             std::vector<SchedulerFacts> schedulers,
             std::uint64_t scaled_clippings,
             std::optional<double> scaled_clipping_limit,
             std::optional<double> gradient_norm_limit,
             std::optional<double> gradient_value_limit,
             bool log_hides_not_finite,
             std::optional<OperationFacts> not_finite_by,
             std::optional<std::uint64_t> short_lived_optimizers,
             std::optional<std::uint64_t> evaluations_in_training_mode,
             std::optional<std::uint64_t> data_passes,
             std::vector<std::string> layers_outside,
             std::uint64_t empty_clippings,
             std::optional<std::uint64_t> summed_passes,
             std::uint64_t empty_loads,
             std::vector<MetricWatchFacts> metric_watches) {
            new (self) LoopFacts{std::move(autocast_dtype),
                                 std::move(schedulers),
                                 scaled_clippings,
                                 scaled_clipping_limit,
                                 gradient_norm_limit,
                                 gradient_value_limit,
                                 empty_clippings,
                                 log_hides_not_finite,
                                 std::move(not_finite_by),
                                 short_lived_optimizers,
                                 evaluations_in_training_mode,
                                 data_passes,
                                 std::move(layers_outside),
                                 summed_passes,
                                 empty_loads,
                                 std::move(metric_watches)};
          },
          nb::kw_only(), "autocast_dtype"_a = "",
          "schedulers"_a = std::vector<SchedulerFacts>(),
          "scaled_clippings"_a = 0,
          "scaled_clipping_limit"_a.none() = nb::none(),
          "gradient_norm_limit"_a.none() = nb::none(),
          "gradient_value_limit"_a.none() = nb::none(),
          "log_hides_not_finite"_a = false,
          "not_finite_by"_a.none() = nb::none(),
          "short_lived_optimizers"_a.none() = nb::none(),
          "evaluations_in_training_mode"_a.none() = nb::none(),
          "data_passes"_a.none() = nb::none(),
          "layers_outside"_a = std::vector<std::string>(),
          "empty_clippings"_a = 0, "summed_passes"_a.none() = nb::none(),
          "empty_loads"_a = 0,
          "metric_watches"_a = std::vector<MetricWatchFacts>())
      .def_ro("autocast_dtype", &LoopFacts::autocast_dtype)
      .def_ro("schedulers", &LoopFacts::schedulers)
      .def_ro("scaled_clippings", &LoopFacts::scaled_clippings)
      .def_ro("scaled_clipping_limit", &LoopFacts::scaled_clipping_limit)
      .def_ro("empty_clippings", &LoopFacts::empty_clippings)
      .def_ro("gradient_norm_limit", &LoopFacts::gradient_norm_limit)
      .def_ro("gradient_value_limit", &LoopFacts::gradient_value_limit)
      .def_ro("log_hides_not_finite", &LoopFacts::log_hides_not_finite)
      .def_ro("not_finite_by", &LoopFacts::not_finite_by)
      .def_ro("short_lived_optimizers", &LoopFacts::short_lived_optimizers)
      .def_ro("evaluations_in_training_mode",
              &LoopFacts::evaluations_in_training_mode)
      .def_ro("data_passes", &LoopFacts::data_passes)
      .def_ro("layers_outside", &LoopFacts::layers_outside)
      .def_ro("summed_passes", &LoopFacts::summed_passes)
      .def_ro("empty_loads", &LoopFacts::empty_loads)
      .def_ro("metric_watches", &LoopFacts::metric_watches);
}

}  // namespace

void bind_facts(nb::module_& m) {
  bind_parameter(m);
  bind_optimizer(m);
  bind_module(m);
  bind_data(m);
  bind_loss(m);
  bind_loop(m);
  nb::class_<RunFacts>(m, "RunFacts",
                       "The facts of a worker from `step` on: its parameters, "
                       "optimizers, modules, losses, inputs, loop and training "
                       "sets.")
      .def(
          "__init__",
          [](RunFacts* self, std::vector<ParameterFacts> parameters,
             std::vector<OptimizerFacts> optimizers,
             std::vector<ModuleFacts> modules, std::vector<LossFacts> losses,
             std::vector<DataFacts> inputs,
             std::vector<DataFacts> evaluation_inputs, LoopFacts loop,
             std::vector<std::string> training_sets) {
            new (self) RunFacts{0,
                                std::move(parameters),
                                std::move(optimizers),
                                std::move(modules),
                                std::move(losses),
                                std::move(inputs),
                                std::move(evaluation_inputs),
                                std::move(loop),
                                std::move(training_sets)};
          },
          nb::kw_only(), "parameters"_a = std::vector<ParameterFacts>(),
          "optimizers"_a = std::vector<OptimizerFacts>(),
          "modules"_a = std::vector<ModuleFacts>(),
          "losses"_a = std::vector<LossFacts>(),
          "inputs"_a = std::vector<DataFacts>(),
          "evaluation_inputs"_a = std::vector<DataFacts>(),
          "loop"_a = LoopFacts(),
          "training_sets"_a = std::vector<std::string>())
      .def_ro("step", &RunFacts::step)
      .def_ro("parameters", &RunFacts::parameters)
      .def_ro("optimizers", &RunFacts::optimizers)
      .def_ro("modules", &RunFacts::modules)
      .def_ro("losses", &RunFacts::losses)
      .def_ro("inputs", &RunFacts::inputs)
      .def_ro("evaluation_inputs", &RunFacts::evaluation_inputs)
      .def_ro("loop", &RunFacts::loop)
      .def_ro("training_sets", &RunFacts::training_sets)
      .def("__eq__", [](const RunFacts& self, const RunFacts& other) {
        return self == other;
      });
  nb::class_<WorkerFacts>(m, "WorkerFacts", "The facts of one worker.")
      .def_ro("worker", &WorkerFacts::worker)
      .def_ro("facts", &WorkerFacts::facts);
}

}  // namespace smdebug
