"""Reading runs: `create_trial(path)` opens one, `Trial` and `Tensor` query it."""

from typing import TYPE_CHECKING

from smdebug._core import Attempt
from smdebug._core import ModeKeys as modes
from smdebug.near_names import refuse_name
from smdebug.trials.local_trial import LocalTrial
from smdebug.trials.s3_trial import S3Trial
from smdebug.trials.shard_placement import ShardPlacement
from smdebug.trials.summary import TensorSummary
from smdebug.trials.tensor import Tensor
from smdebug.trials.trial import Trial
from smdebug.trials.utils import create_trial

__all__ = [
    "Attempt",
    "LocalTrial",
    "S3Trial",
    "ShardPlacement",
    "Tensor",
    "TensorSummary",
    "Trial",
    "create_trial",
    "modes",
]


if not TYPE_CHECKING:  # which would take every name for an attribute

    def __getattr__(name: str) -> object:
        refuse_name(__name__, name, __all__)
