"""One job with a hook on a disk and with a hook in an object store, timed in blocks of steps on
request, as torch_job_worker.py does.

    python store_job_worker.py JOB RUN_FOLDER RUN_URI

"bare" of the answers is the hook on the disk, and "watched" the one in the store.
"""

import json
import os
import pathlib
import sys

import torch
from torch_job_worker import Hooked, timed


class InStore(Hooked):
    def after_block(self):
        self.hook.flush()


def main():
    job, folder, uri = sys.argv[1:]
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    torch.set_num_threads(1)
    on_disk = Hooked(job, "losses", pathlib.Path(folder))
    in_store = InStore(job, "losses", uri, on_disk)
    for _ in range(2):
        timed(on_disk), timed(in_store)
    print(json.dumps({"ready": True}), file=answers, flush=True)
    for line in sys.stdin:
        pairs = [(timed(on_disk), timed(in_store)) for _ in range(int(line))]
        answer = {"bare": [p[0] for p in pairs], "watched": [p[1] for p in pairs]}
        print(json.dumps(answer), file=answers, flush=True)
    in_store.hook.close()
    if in_store.hook.status().state != "closed":
        sys.exit(f"the hook in the store failed: {in_store.hook.status()}")


if __name__ == "__main__":
    main()
