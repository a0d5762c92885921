"""The private names of torch that the adapter uses, each with the fallback if it is missing.

| name | used for | without it |
|---|---|---|
| torch._C._current_graph_task_id | recognizing a recomputed forward pass | all count as real |
| Module._parameters | finding a parameter that was replaced | replaced ones are missed |
| Module._modules | finding a module that was replaced | replaced ones are missed |
| torch._C._cuda_getCurrentRawStream | the current stream | its public object: 5 µs more |
| torch/lib/libcaffe2_nvrtc.so | kernels for statistics | torch's operations compute them |
| torch.nn.modules.loss._Loss | recognizing losses | a class name with "Loss" |
| OptimizedModule._orig_mod | the model inside torch.compile's wrapper | the wrapper is the model |
| Tensor._backward_hooks | freeing a parameter that lost its last hook | backward still visits it |
| Optimizer.grad_scale | the scale that a fused optimizer undoes | its final gradients keep it |
| GradScaler._scale | the scale, without waiting for the device | the scale is unknown |
| GradScaler._per_optimizer_states | whether an update is skipped | it is unknown |
| clip_grad._clip_grads_with_norm_ | clip_grad_norm_ imported by its name | only torch.nn.utils' |
| Module._forward_hooks, _forward_pre_hooks | a hook keeps its number | it gets a new one |
| torch.jit._recursive.create_script_module | scripting without our hooks | scripting fails |
| Node._raw_saved_*, SavedTensor.unpack_hook | what a loss was given | it is unknown |
| torch._dynamo.utils.counters | whether anything was compiled | assumed |
| torch._dynamo.decorators.skip | calling eager hooks without compiling the call | it is compiled |
| FSDPModule._get_fsdp_state | shards while a module holds whole parameters | the whole is saved |
| Tensor._version | whether a model was trained after the hook was closed | it is unknown |
| _StridedShard.split_factor | the position of shards cut twice in one dimension | they have none |
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import torch


def _no_task() -> int:
    return -1


current_graph_task_id: Callable[[], int] = getattr(torch._C, "_current_graph_task_id", _no_task)
_loss_class = getattr(torch.nn.modules.loss, "_Loss", ())


def nvrtc_library() -> str:
    """The path of the library that links to NVRTC and to the CUDA driver."""
    return os.path.join(os.path.dirname(torch.__file__), "lib", "libcaffe2_nvrtc.so")


def raw_stream(device: int) -> int:
    """The address of the current stream of a CUDA device."""
    current = getattr(torch._C, "_cuda_getCurrentRawStream", None)
    return current(device) if current else torch.cuda.current_stream(device).cuda_stream


def hook_tables(module: torch.nn.Module, is_before: bool) -> tuple[Any, Any] | None:
    """(hooks, those that take keywords) by number: the hooks that run before or after the forward
    of a module. None if torch stores them elsewhere."""
    kind = "_forward_pre_hooks" if is_before else "_forward_hooks"
    hooks = getattr(module, kind, None)
    takes_keywords = getattr(module, f"{kind}_with_kwargs", None)
    if takes_keywords is None or not hasattr(hooks, "move_to_end"):
        return None
    return hooks, takes_keywords


def script_maker() -> tuple[Any, str] | None:
    """(module, name) of the function that compiles a module to TorchScript; None if torch has it
    elsewhere."""
    place = getattr(torch.jit, "_recursive", None)
    name = "create_script_module"
    return (place, name) if callable(getattr(place, name, None)) else None


def never_compile(function: Callable[..., object]) -> None:
    """Makes torch.compile leave a function as it is, but not what the function calls. Call it only
    after torch.compile was imported."""
    try:
        from torch._dynamo.decorators import skip

        skip(function)
    except (ImportError, AttributeError, TypeError):
        pass


def graphs_compiled() -> int:
    """The number of graphs that torch.compile has made in this process. Call it only after
    torch.compile was imported."""
    try:
        from torch._dynamo.utils import counters

        return counters["stats"]["unique_graphs"]
    except (ImportError, KeyError, TypeError):
        return 1


def fsdp_parameters(module: torch.nn.Module) -> dict[tuple[Any, str], tuple[dict[str, Any], str]]:
    """The parameters that fully_shard manages for this module: (module, key) of a parameter ->
    (owner, key) of its shard, where the owner is a dictionary and the key a name in it."""
    state = getattr(module, "_get_fsdp_state", lambda: None)()
    found = {}
    for group in _parameter_groups(state):
        for managed in getattr(group, "fsdp_params", ()):
            places = getattr(managed, "_module_info", None)
            if places is None or "sharded_param" not in vars(managed):
                continue
            shard = (vars(managed), "sharded_param")
            found[places.module, places.param_name] = shard
            for shared in zip(places.shared_modules, places.shared_param_names, strict=True):
                found[shared] = shard
    return found


def _parameter_groups(state: Any) -> list[Any]:
    groups = getattr(state, "_fsdp_param_groups", None)
    if groups is None:
        groups = [getattr(state, "_fsdp_param_group", None)]
    return [group for group in groups if group is not None]


def node_name(node: Any) -> str:
    """ "MseLoss" of the node MseLossBackward0 of a graph; "" of no node."""
    if node is None:
        return ""
    return node.name().rstrip("0123456789").removesuffix("Backward")


def signed(number: int) -> int:
    """torch returns the numbers that a node saved without their sign."""
    return number - (1 << 64) if number >= 1 << 63 else number


def saved_tensor(node: Any, name: str) -> Any:
    """The tensor that autograd saved in a node of a graph under this name. None if there is none,
    or if reading it would run a hook, which may compute a forward pass again."""
    raw = getattr(node, f"_raw_saved_{name}", None)
    if getattr(raw, "unpack_hook", _no_task) is not None:
        return None
    return getattr(node, f"_saved_{name}", None)


def is_loss(module: torch.nn.Module) -> bool:
    """Whether a module computes a loss."""
    return isinstance(module, _loss_class) or "loss" in type(module).__name__.lower()


def own_parameters(module: torch.nn.Module) -> dict[str, torch.nn.Parameter | None]:
    """The current parameters of this module by name, without those of its submodules."""
    return getattr(module, "_parameters", None) or dict(module.named_parameters(recurse=False))


def own_modules(module: torch.nn.Module) -> dict[str, torch.nn.Module | None]:
    """The current children of this module by name."""
    return getattr(module, "_modules", None) or dict(module.named_children())


def free_of_hooks(tensor: torch.Tensor) -> None:
    """Lets the backward pass skip a tensor whose last hook was removed. Otherwise torch checks the
    empty dictionary each time, which takes a third of a microsecond per parameter."""
    if getattr(tensor, "_backward_hooks", None) == {}:
        tensor._backward_hooks = None


def left_scale(optimizer: torch.optim.Optimizer) -> torch.Tensor | None:
    """The scale that a GradScaler left in the gradients for a fused optimizer to undo; None if
    there is none."""
    return getattr(optimizer, "grad_scale", None)


def has_scheduler(optimizer: torch.optim.Optimizer) -> bool:
    """Whether a scheduler of learning rates was made for an optimizer: it has marked the method
    `step`."""
    return any(hasattr(optimizer.step, mark) for mark in ("_wrapped_by_lr_sched", "_with_counter"))


def scale_of(scaler: Any) -> torch.Tensor | None:
    """The scale of a GradScaler, on its device. It changes in place. None if there is none yet."""
    scale = getattr(scaler, "_scale", None)
    return scale if isinstance(scale, torch.Tensor) else None


def found_infinities(scaler: Any) -> list[torch.Tensor]:
    """Tensors that are above 0 if a GradScaler skips the update of an optimizer that it has
    unscaled since its last update."""
    states = getattr(scaler, "_per_optimizer_states", {})
    return [
        found
        for state in states.values()
        for found in state.get("found_inf_per_device", {}).values()
    ]


def norm_clippers() -> tuple[tuple[Any, ...], str]:
    """(modules, name) of the function that clips gradients by their norm. It takes parameters and
    the limit as its first arguments."""
    clip_grad = torch.nn.utils.clip_grad
    if hasattr(clip_grad, "_clip_grads_with_norm_"):
        return (clip_grad,), "_clip_grads_with_norm_"
    return (torch.nn.utils, clip_grad), "clip_grad_norm_"


def unwrapped(module: Any) -> torch.nn.Module:
    """The user's model inside the wrappers of torch."""
    while True:
        if hasattr(module, "_orig_mod"):
            module = module._orig_mod
        elif isinstance(module, (torch.nn.parallel.DistributedDataParallel, torch.nn.DataParallel)):
            module = module.module
        else:
            return module


def called_module(module: Any) -> Any:
    """The module whose call is that of the model. A script evaluates the module inside of
    DistributedDataParallel, which calls that module itself."""
    while isinstance(module, torch.nn.parallel.DistributedDataParallel):
        module = module.module
    return module


def updates_of(tensor: torch.Tensor) -> int:
    """How often the elements were changed in place; 0 if torch does not count that."""
    return 0 if tensor.is_inference() else getattr(tensor, "_version", 0)
