// MixedSamples: a recurrent or attention layer mixes the samples of a batch,
// because their dimension is not the one that it takes for the batch.
//
// The facts of a training have the shape of the first input of such a layer,
// and whether it expects (samples, steps, features), by `batch_first`, or
// (steps, samples, features). The targets of a loss have one row per sample.
// The rule fires if only the other one of the first two dimensions is their
// number. The original has no such rule.

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/strings.h"
#include "rules/builtin/builtin.h"
#include "rules/engine/finding.h"
#include "rules/engine/shared_parameters.h"
#include "rules/measures/facts_rule.h"

namespace smdebug {
namespace {

const ParameterSpec kMixedSamplesParameters[] = {kStartStep, kEndStep, kPreset};

const Advice kMixedSamplesAdvice[] = {
    {.when = "samples in the dimension of the steps",
     .cause = "a layer that expects (steps, samples, features), the default of "
              "torch, and gets (samples, steps, features): it takes the batch "
              "for a sequence, so each sample depends on the others, and a "
              "batch of another size gives other results",
     .advice = "construct the layer with batch_first=True"},
    {.when = "steps in the dimension of the samples",
     .cause = "a layer with batch_first=True that gets (steps, samples, "
              "features): it takes the batch for a sequence, so each sample "
              "depends on the others, and a batch of another size gives other "
              "results",
     .advice = "pass (samples, steps, features), or construct the layer with "
               "batch_first=False"},
};

// A layer whose input has three dimensions.
struct Layer {
  const ModuleFacts* module;
  bool is_batch_first;

  std::int64_t samples() const {
    return module->input_shape[is_batch_first ? 0 : 1];
  }
  std::int64_t steps() const {
    return module->input_shape[is_batch_first ? 1 : 0];
  }
};

std::vector<Layer> layers_of(const RunFacts& facts) {
  std::vector<Layer> layers;
  for (const ModuleFacts& module : facts.modules) {
    const auto batch_first = setting(module.settings, "batch_first");
    if (!batch_first || module.input_shape.size() != 3) continue;
    layers.push_back({&module, *batch_first != 0});
  }
  return layers;
}

// The samples of a step: the rows of the targets of all losses, if they agree.
// Targets with one more dimension may be steps first as well.
std::int64_t samples_of(const RunFacts& facts) {
  std::set<std::int64_t> rows;
  for (const LossFacts& loss : facts.losses) {
    if (!loss.input) return 0;
    const auto& targets = loss.input->targets;
    const auto shape =
        targets ? std::optional(targets->shape) : loss.input->target_shape;
    const bool is_row_per_sample =
        shape &&
        (shape->size() == 1 || (shape->size() == 2 && shape->at(1) == 1));
    if (!is_row_per_sample) return 0;
    rows.insert(shape->front());
  }
  return rows.size() == 1 ? *rows.begin() : 0;
}

class MixedSamples : public FactsRule {
 public:
  explicit MixedSamples(const Parameters&) {}

  Outcome finish() override {
    if (auto found = judge_rest()) return found;
    if (has_judged()) return no_finding();
    return Error{
        Error::Code::unsupported,
        fmt::format("nothing to judge: {}",
                    has_layers_
                        ? "the losses do not show the number of samples"
                        : "the run has no shapes of inputs of recurrent or "
                          "attention layers; hooks for PyTorch report them "
                          "when an optimizer acts in a saved step")};
  }

 private:
  std::optional<Finding> judge(const RunFacts& facts,
                               std::string_view worker) override {
    const std::vector<Layer> layers = layers_of(facts);
    has_layers_ |= !layers.empty();
    const std::int64_t samples = samples_of(facts);
    if (samples == 0 || layers.empty()) return std::nullopt;
    count_judged();
    const auto mixes = [&](const Layer& layer) {
      // A batch of one may be a batch of batches, on purpose.
      return layer.steps() == samples && layer.samples() != samples &&
             layer.samples() > 1;
    };
    const auto found = std::ranges::find_if(layers, mixes);
    if (found == layers.end()) return std::nullopt;
    const auto all = std::ranges::count_if(layers, mixes);
    return describe(*found, static_cast<std::size_t>(all - 1), samples, worker);
  }

  Finding describe(const Layer& layer, std::size_t others, std::int64_t samples,
                   std::string_view worker) const {
    const ModuleFacts& module = *layer.module;
    Finding finding;
    finding.message = fmt::format(
        "{}: {} with batch_first={} gets an input of shape ({}), and the loss "
        "has targets for {}, so it takes the {} samples for steps{}, at {}",
        tensor_text(module.path, worker), module.kind,
        layer.is_batch_first ? "True" : "False",
        fmt::join(module.input_shape, ", "),
        count_text(std::size_t(samples), "sample"), samples,
        others == 0
            ? ""
            : fmt::format(", as does {}", count_text(others, "further layer")),
        step_text(last_step()));
    set_advice(finding, kMixedSamplesAdvice[layer.is_batch_first ? 1 : 0]);
    Evidence& evidence = finding.evidence.emplace_back();
    evidence.tensor = module.path;
    evidence.worker = worker;
    evidence.step = last_step();
    evidence.quantity = "samples in the input as the layer takes it";
    evidence.value = static_cast<double>(layer.samples());
    evidence.relation = layer.samples() < samples ? "<" : ">";
    evidence.threshold = static_cast<double>(samples);
    return finding;
  }

  bool has_layers_ = false;
};

}  // namespace

const RuleFactory kMixedSamples = {
    .name = "MixedSamples",
    .summary = "A recurrent or attention layer mixes the samples of a batch.",
    .condition =
        "Fires if the number of samples, the rows of the targets of the loss, "
        "is the size of the dimension that the layer takes for steps, and not "
        "of the one that it takes for samples.",
    .advice = kMixedSamplesAdvice,
    .parameters = kMixedSamplesParameters,
    .make = make_rule<MixedSamples>,
};

}  // namespace smdebug
