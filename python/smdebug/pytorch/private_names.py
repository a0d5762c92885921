"""The private names of torch that the adapter relies on, each with what holds without it.

| name | used for | without it |
|---|---|---|
| torch._C._current_graph_task_id | telling a recomputed forward from a real one | all are real |
| Module._parameters | finding a parameter that was replaced | replaced ones are not seen |
| torch.nn.modules.loss._Loss | telling losses from other modules | a class name with "Loss" |
| OptimizedModule._orig_mod | the model inside torch.compile's wrapper | the wrapper is the model |
| Tensor._backward_hooks | freeing a parameter whose last hook came out | backward visits it still |
| Optimizer.grad_scale | the scale that a fused optimizer undoes | its final gradients keep it |
"""

import torch


def _no_task():
    return -1


current_graph_task_id = getattr(torch._C, "_current_graph_task_id", _no_task)
_loss_class = getattr(torch.nn.modules.loss, "_Loss", ())


def is_loss(module):
    """Whether a module computes a loss."""
    return isinstance(module, _loss_class) or "loss" in type(module).__name__.lower()


def own_parameters(module):
    """The parameters of this module alone, by name, as they are now."""
    return getattr(module, "_parameters", None) or dict(module.named_parameters(recurse=False))


def free_of_hooks(tensor):
    """Lets backward pass by a tensor whose last hook was removed: torch would look into the empty
    dictionary each time, at a third of a microsecond per parameter."""
    if getattr(tensor, "_backward_hooks", None) == {}:
        tensor._backward_hooks = None


def left_scale(optimizer):
    """The scale that a GradScaler left in the gradients, for a fused optimizer to undo; None where
    they have none."""
    return getattr(optimizer, "grad_scale", None)


def unwrapped(module):
    """The user's own model inside the wrappers of torch."""
    while True:
        if hasattr(module, "_orig_mod"):
            module = module._orig_mod
        elif isinstance(module, (torch.nn.parallel.DistributedDataParallel, torch.nn.DataParallel)):
            module = module.module
        else:
            return module
