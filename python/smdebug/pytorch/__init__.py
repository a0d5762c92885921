"""smdebug for PyTorch: `Hook` records a training, `create_trial` reads what it recorded."""

from smdebug._core import ModeKeys as modes
from smdebug.collection import CollectionKeys
from smdebug.reduction_config import ReductionConfig
from smdebug.required_framework import required_framework
from smdebug.save_config import SaveConfig, SaveConfigMode
from smdebug.trials import create_trial

with required_framework("smdebug.pytorch", "torch"):
    from smdebug.pytorch.collection import Collection
    from smdebug.pytorch.hook import Hook
    from smdebug.pytorch.singleton_utils import del_hook, get_hook, set_hook

__all__ = [
    "Collection",
    "CollectionKeys",
    "Hook",
    "ReductionConfig",
    "SaveConfig",
    "SaveConfigMode",
    "create_trial",
    "del_hook",
    "get_hook",
    "modes",
    "set_hook",
]
