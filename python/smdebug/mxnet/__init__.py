"""smdebug for MXNet's Gluon: `Hook` records a training, `create_trial` reads what it recorded."""

from typing import TYPE_CHECKING

from smdebug._core import ModeKeys as modes
from smdebug.collection import CollectionKeys
from smdebug.near_names import refuse_name
from smdebug.reduction_config import ReductionConfig
from smdebug.required_framework import required_framework
from smdebug.save_config import SaveConfig, SaveConfigMode
from smdebug.trials import create_trial

with required_framework("smdebug.mxnet", "mxnet"):
    from smdebug.mxnet.collection import Collection
    from smdebug.mxnet.hook import Hook
    from smdebug.mxnet.singleton_utils import del_hook, get_hook, set_hook

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


if not TYPE_CHECKING:  # which would take every name for an attribute

    def __getattr__(name: str) -> object:
        refuse_name(__name__, name, __all__)
