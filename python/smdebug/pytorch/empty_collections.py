"""Why built-in collections have no tensor in a training, and what to do: for the log at the end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from torch import nn

from smdebug.pytorch.module_patterns import activation_modules

if TYPE_CHECKING:
    from smdebug.pytorch.roots import Root


def reasons_of_empty_collections(
    roots: Sequence[Root],
    modules: Mapping[nn.Module, str],
    loss_names: Sequence[str],
    updaters: Mapping[str, bool],
) -> dict[str, str]:
    """A reason for each collection that can be explained, by its name. `modules` are all recorded
    ones. `updaters` are the kinds of optimizers that have updated parameters of `roots`, and
    whether they keep a state."""
    reasons = {
        "buffers": _reason_of_buffers(roots),
        "optimizer_state": _reason_of_state(updaters),
        "learning_rate": _reason_of_update(updaters),
        "gradients": _reason_of_gradients(roots),
        "labels": _reason_of_labels(loss_names),
    }
    paths = [path for root in roots for _, path in root.parameters.named()]
    for collection, word in (("weights", "weight"), ("biases", "bias")):
        if not any(word in path for path in paths):
            reasons[collection] = f"no parameter of the registered models has '{word}' in its name"
    for collection, kinds in activation_modules().items():
        if not any(isinstance(module, kinds) for module in modules):
            name = kinds[0].__name__
            reasons[collection] = (
                f"the registered models have no module nn.{name}, and functions such as "
                f"torch.{name.lower()} are not seen: use the module"
            )
    return {collection: reason for collection, reason in reasons.items() if reason}


def _reason_of_buffers(roots: Iterable[Root]) -> str:
    if any(True for root in roots for _ in root.module.buffers()):
        return ""
    return (
        "the registered models have no buffers, such as the running mean of BatchNorm; "
        "register_buffer makes a tensor of a module one"
    )


def _reason_of_state(updaters: Mapping[str, bool]) -> str:
    if any(updaters.values()) or not updaters:
        return _reason_of_update(updaters)
    hint = "; SGD has one with momentum" if "SGD" in updaters else ""
    kinds = ", ".join(updaters)
    return f"the optimizer of this training, {kinds}, keeps no state{hint}"


def _reason_of_update(updaters: Mapping[str, bool]) -> str:
    if updaters:
        return (
            "no optimizer has acted in a saved step of the training: save_config selects steps in "
            "which gradients are only added, or in which nothing is trained"
        )
    return (
        "no optimizer of torch.optim has updated a registered model: register the model that is "
        "trained, and call optimizer.step()"
    )


def _reason_of_gradients(roots: Iterable[Root]) -> str:
    parameters = [each for root in roots for each, _ in root.parameters.named()]
    if not any(each.requires_grad for each in parameters):
        return "no parameter of the registered models is trained: all have requires_grad=False"
    return (
        "no backward pass has computed one in a saved step: call loss.backward() after the "
        "registered model, in a mode other than EVAL and PREDICT"
    )


def _reason_of_labels(loss_names: Sequence[str]) -> str:
    if not loss_names:
        return "no loss is registered: pass the loss module to hook.register_loss(loss_fn)"
    return (
        f"the registered losses ({', '.join(loss_names)}) got no labels in a saved step: call them "
        "as loss_fn(output, labels)"
    )
