// GradientsDiscarded: each update uses only the last of several batches.
//
// The facts of a training tell it for each optimizer (`discards_gradients`).
// The original has no such rule.
//
// A warning, not an error: such a training learns, from a part of its data and
// with more noise than its author expects.

#include "rules/builtin/builtin.h"
#include "rules/engine/shared_parameters.h"
#include "rules/measures/optimizer_flag_rule.h"

namespace smdebug {
namespace {

const ParameterSpec kGradientsDiscardedParameters[] = {
    kStartStep,
    kEndStep,
    kPreset,
};

const Advice kGradientsDiscardedAdvice[] = {
    {.cause = "a loop that accumulates the gradients of several batches and "
              "calls zero_grad() for each of them: only those of the last "
              "batch before the update are left",
     .advice = "call optimizer.zero_grad() once for each optimizer.step(), "
               "after it, and not before each backward pass"},
};

constexpr OptimizerFlag kDiscarded = {
    .value = &OptimizerFacts::discards_gradients,
    .message =
        "five updates in a row used only the gradients of the last backward "
        "pass, because those of the passes before it, two or "
        "more, were cleared",
    .quantity = "backward passes used by an update",
    .found = 1,
    .least = 3,
    .enough =
        "acted twice, with plain or sparse gradients that a backward "
        "pass added to the model's parameters",
    .adapters = "hooks for PyTorch and Keras",
};

}  // namespace

const RuleFactory kGradientsDiscarded = {
    .name = "GradientsDiscarded",
    .summary =
        "Each update uses only the gradients of the last of several backward "
        "passes.",
    .condition =
        "Fires when gradients are cleared before an update can use them: in "
        "five updates in a row, three or more backward passes precede the "
        "update of an optimizer, each of them finds cleared gradients, and no "
        "other optimizer acts between them.",
    .advice = kGradientsDiscardedAdvice,
    .parameters = kGradientsDiscardedParameters,
    .make =
        [](const Parameters&) {
          return make_rule<OptimizerFlagRule>(kDiscarded,
                                              kGradientsDiscardedAdvice[0]);
        },
};

}  // namespace smdebug
