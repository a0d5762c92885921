"""Which worker of a distributed training this process is."""

import gc
import os
import sys

from mxnet.kvstore import KVStoreBase

from smdebug.log import get_logger

logger = get_logger()


def rank_and_size():
    """(rank, number of workers): as Horovod says, else the kvstore that the script has made;
    (0, 1) of a process that trains alone.

    A worker of MXNet's own launcher (DMLC_ROLE=worker) whose kvstore is not made yet is told apart
    from the others by nothing: it is (0, 1) too, and that is logged.
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
        logger.warning(
            "DMLC_NUM_WORKER says that there are %s workers, and no kvstore which of them this is: "
            "make it before the first step with mxnet.kv.create, and give it to the Trainer, or "
            "give each worker an out_dir of its own",
            os.environ["DMLC_NUM_WORKER"],
        )
    return 0, 1


def _kvstores():
    """All that are alive. No list of them is kept by MXNet; that of the script reaches its Trainer,
    which a hook sees when it acts: too late for the first step."""
    return [each for each in gc.get_objects() if issubclass(type(each), KVStoreBase)]
