"""The private names of torch that the adapter relies on, each with what holds without it.

| name | used for | without it |
|---|---|---|
| torch._C._current_graph_task_id | telling a recomputed forward from a real one | all are real |
| Module._parameters | finding a parameter that was replaced | replaced ones are not seen |
| torch.nn.modules.loss._Loss | telling losses from other modules | a class name with "Loss" |
| OptimizedModule._orig_mod | the model inside torch.compile's wrapper | the wrapper is the model |
| Tensor._backward_hooks | freeing a parameter whose last hook came out | backward visits it still |
| Optimizer.grad_scale | the scale that a fused optimizer undoes | its final gradients keep it |
| Module._forward_hooks, _forward_pre_hooks | a hook comes back as itself | a new one does |
| torch._dynamo.utils.counters | whether anything was compiled | it is assumed |
| FSDPModule._get_fsdp_state | shards while a module holds whole parameters | those are saved |
| _StridedShard.split_factor | the place of shards cut twice in one dimension | they have none |
"""

import torch


def _no_task():
    return -1


current_graph_task_id = getattr(torch._C, "_current_graph_task_id", _no_task)
_loss_class = getattr(torch.nn.modules.loss, "_Loss", ())


def hook_tables(module, is_before):
    """(hooks, those that take keywords) by number, of the hooks before or after a module's forward;
    None where torch keeps them elsewhere."""
    kind = "_forward_pre_hooks" if is_before else "_forward_hooks"
    hooks = getattr(module, kind, None)
    takes_keywords = getattr(module, f"{kind}_with_kwargs", None)
    if takes_keywords is None or not hasattr(hooks, "move_to_end"):
        return None
    return hooks, takes_keywords


def graphs_compiled():
    """How many graphs torch.compile has made in this process. Once it was imported, only."""
    try:
        from torch._dynamo.utils import counters

        return counters["stats"]["unique_graphs"]
    except (ImportError, KeyError, TypeError):
        return 1


def fsdp_parameters(module):
    """The parameters that fully_shard manages for this module: (module, key) of a parameter ->
    (owner, key) of its shard, both in the form of a dictionary and a name in it."""
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


def _parameter_groups(state):
    groups = getattr(state, "_fsdp_param_groups", None)
    if groups is None:
        groups = [getattr(state, "_fsdp_param_group", None)]
    return [group for group in groups if group is not None]


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
