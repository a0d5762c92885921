// GradientsNotCleared: each update uses the sum of all batches' gradients.
//
// The facts of a training tell it for each optimizer (`keeps_gradients`).
// Accumulation over several batches does not count, because their sum is
// cleared after the update. The original has no such rule.
//
// A warning, not an error: sums of gradients are a momentum that never decays.
// Some trainings learn with it, though worse, and a few do it on purpose.

#include "rules/builtin/builtin.h"
#include "rules/engine/shared_parameters.h"
#include "rules/measures/optimizer_flag_rule.h"

namespace smdebug {
namespace {

const ParameterSpec kGradientsNotClearedParameters[] = {
    kStartStep,
    kEndStep,
    kPreset,
};

const Advice kGradientsNotClearedAdvice[] = {
    {.cause = "a loop that never calls zero_grad(), or calls it for other "
              "parameters: PyTorch adds each new gradient to the last one, so "
              "the updates grow and repeat those before them",
     .advice = "call optimizer.zero_grad() once for each optimizer.step(), "
               "after it or before the next backward pass; for accumulation, "
               "once after each update"},
};

constexpr OptimizerFlag kNotCleared = {
    .value = &OptimizerFacts::keeps_gradients,
    .message =
        "five updates in a row used the sum of the gradients of all "
        "batches, because nothing cleared them",
    .quantity = "cleared gradients",
    .found = 0,
    .least = 1,
    .enough =
        "acted six times, or twice if its gradients are cleared, with "
        "plain or sparse gradients that a backward pass added to the "
        "model's parameters",
    .adapters = "hooks for PyTorch and Keras",
};

}  // namespace

const RuleFactory kGradientsNotCleared = {
    .name = "GradientsNotCleared",
    .summary = "Each update uses the sum of the gradients of all batches.",
    .condition =
        "Fires when nothing clears the gradients of an optimizer between its "
        "updates: in five updates in a row, the backward pass adds to the "
        "gradients that the update before has used.",
    .advice = kGradientsNotClearedAdvice,
    .parameters = kGradientsNotClearedParameters,
    .make =
        [](const Parameters&) {
          return make_rule<OptimizerFlagRule>(kNotCleared,
                                              kGradientsNotClearedAdvice[0]);
        },
};

}  // namespace smdebug
