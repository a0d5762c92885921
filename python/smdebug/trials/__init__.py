"""Reading runs: `create_trial(path)` opens one, `Trial` and `Tensor` answer what it holds."""

from smdebug._core import ModeKeys as modes
from smdebug.trials.shard_placement import ShardPlacement
from smdebug.trials.summary import TensorSummary
from smdebug.trials.tensor import Tensor
from smdebug.trials.trial import LocalTrial, S3Trial, Trial, create_trial

__all__ = [
    "LocalTrial",
    "S3Trial",
    "ShardPlacement",
    "Tensor",
    "TensorSummary",
    "Trial",
    "create_trial",
    "modes",
]
