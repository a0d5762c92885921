"""The rank of this process among the workers of a distributed training."""

from __future__ import annotations

import gc
import os
import sys

from mxnet.kvstore import KVStoreBase

from smdebug.log import get_logger

_logger = get_logger()


def rank_and_size() -> tuple[int, int]:
    """Returns (rank, number of workers): (0, 1) for a process that trains by itself.

    They are those of Horovod, otherwise of the script's kvstore. A worker of MXNet's own launcher
    (DMLC_ROLE=worker) that has not created its kvstore yet cannot know its rank: it returns (0, 1)
    and logs a warning.
    """
    horovod = sys.modules.get("horovod.mxnet")
    if horovod is not None and horovod.size() > 0:
        return horovod.rank(), horovod.size()
    if os.environ.get("DMLC_ROLE") != "worker":
        return 0, 1
    for store in _kvstores():
        if store.num_workers > 1:
            return store.rank, store.num_workers
    if os.environ.get("DMLC_NUM_WORKER", "1") != "1":
        _logger.warning(
            "DMLC_NUM_WORKER asks for %s workers, but without a kvstore the rank of this one is "
            "unknown: create it before the first step with mxnet.kv.create, and pass it to the "
            "Trainer, or give each worker its own out_dir",
            os.environ["DMLC_NUM_WORKER"],
        )
    return 0, 1


def _kvstores() -> list[KVStoreBase]:
    """Returns all kvstores that are alive.

    MXNet keeps no list of them, and a hook sees that of a Trainer only when the Trainer acts, after
    the first step has begun.
    """
    return [each for each in gc.get_objects() if issubclass(type(each), KVStoreBase)]
