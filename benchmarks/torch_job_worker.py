"""One job watched in one way, timed in blocks of steps on request.

benchmarks/torch_jobs.py starts one such program per job and way, and asks for a few blocks at a
time, so that ways alternate while the machine's speed drifts. Each answer pairs the watched job
with the same job bare, in the same program; blocks of both alternate.

    python torch_job_worker.py JOB WAY RUN_FOLDER

It reads the number of blocks per line and answers each with one line of JSON. The job "ddp" is two
processes: this one and a copy of it that sends no answers.
"""

import json
import os
import pathlib
import sys
import time

import torch

BLOCK = 10  # steps: one of them is saved, where anything is
NEVER = 10**9


def second_rank():
    """Forks this process. Returns (rank, the stream from which to read the numbers of blocks)."""
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.close(writing)
        return 1, os.fdopen(reading)
    os.close(reading)
    return 0, forwarded(os.fdopen(writing, "w"))


def forwarded(other):
    with other:
        for line in sys.stdin:
            print(line, file=other, end="", flush=True)
            yield line


def transformer():
    layer = torch.nn.TransformerEncoderLayer(256, 4, 512, dropout=0.1, batch_first=True)
    return torch.nn.TransformerEncoder(layer, 4, enable_nested_tensor=False), (4, 32, 256)


class Residual(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first = torch.nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.norm = torch.nn.BatchNorm2d(width)
        self.relu = torch.nn.ReLU(inplace=True)
        self.second = torch.nn.Conv2d(width, width, 3, padding=1, bias=False)

    def forward(self, x):
        return self.relu(self.second(self.relu(self.norm(self.first(x)))) + x)


def resnet():
    blocks = [Residual(16) for _ in range(6)]
    return torch.nn.Sequential(torch.nn.Conv2d(3, 16, 3, padding=1), *blocks), (4, 3, 32, 32)


def perceptron():
    """Its step takes about a millisecond."""
    layers = [part for _ in range(4) for part in (torch.nn.Linear(256, 256), torch.nn.ReLU())]
    return torch.nn.Sequential(*layers), (32, 256)


JOBS = {
    "transformer": transformer,
    "resnet": resnet,
    "compiled": transformer,
    "ddp": transformer,
    "perceptron": perceptron,
}


class Training:
    """A model with its batch; `run` makes one block of steps.

    With `twin` it has separate modules around the tensors, the optimizer and the batch of the
    twin: a different location in memory is enough to change the time of a step by a few percent.
    """

    def __init__(self, job, twin=None):
        torch.manual_seed(0)
        self.model, shape = JOBS[job]()
        self.x = torch.randn(shape)
        self.loss = torch.nn.MSELoss()
        if twin:
            share(twin.model, self.model)
        self.watch()
        self.called = self.model
        if job == "compiled":
            self.called = torch.compile(self.model)
        if job == "ddp":
            self.called = torch.nn.parallel.DistributedDataParallel(self.model)
        with torch.no_grad():
            self.y = torch.randn_like(self.model(self.x))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-4)
        if twin:
            self.x, self.y, self.optimizer = twin.x, twin.y, twin.optimizer

    def watch(self):
        """Registers the hooks of this way with the model."""

    def run(self):
        for _ in range(BLOCK):
            self.optimizer.zero_grad(set_to_none=True)
            self.loss(self.called(self.x), self.y).backward()
            self.optimizer.step()

    def after_block(self):
        """Not timed."""


def share(source, target):
    """Gives one model the parameters and buffers of another one like it."""
    for theirs, ours in zip(source.modules(), target.modules(), strict=True):
        ours._parameters.update(theirs._parameters)
        ours._buffers.update(theirs._buffers)


class EmptyHooks(Training):
    def watch(self):
        for module in [*self.model.modules(), self.loss]:
            module.register_forward_hook(lambda module, arguments, output: None)


class Hooked(Training):
    WAYS = {
        "nothing due": {"save_all": True},
        "losses": {},
        "gradients and weights": {"include_collections": ["gradients", "weights", "biases"]},
        "everything": {"save_all": True},
    }

    def __init__(self, job, way, folder, twin=None):
        self.way, self.folder = way, folder
        super().__init__(job, twin)

    def watch(self):
        import smdebug.pytorch as smd

        interval = NEVER if self.way == "nothing due" else BLOCK
        self.hook = smd.Hook(
            out_dir=str(self.folder),
            save_config=smd.SaveConfig(save_interval=interval),
            include_workers="all",
            **self.WAYS[self.way],
        )
        self.hook.register_module(self.model)
        self.hook.register_loss(self.loss)

    def after_block(self):
        self.hook.flush()
        for path in (self.folder / "events").glob("*/*.tfevents"):
            path.unlink(missing_ok=True)


class Launched(Hooked):
    """The hook that `smdebug run` adds for its default rules, without the judging process."""

    def watch(self):
        from smdebug import _core, launched_hook
        from smdebug.pytorch import Hook

        request = _core.RunMonitor.of_own_run(str(self.folder), _core.default_rules()).request
        settings = json.loads(request) | {"out_dir": str(self.folder)}
        self.hook = launched_hook.make_hook(Hook, settings)
        self.hook.register_module(self.model)
        self.hook.register_loss(self.loss)


def watched_job(job, way, folder, twin):
    if way == "nothing":
        return Training(job, twin)
    if way == "empty hooks":
        return EmptyHooks(job, twin)
    if way == "default rules":
        return Launched(job, way, folder, twin)
    return Hooked(job, way, folder, twin)


def timed(training):
    """Wall-clock seconds, and CPU seconds of the training thread."""
    wall, cpu = time.perf_counter(), time.thread_time()
    training.run()
    took = time.perf_counter() - wall, time.thread_time() - cpu
    training.after_block()
    return took


def main():
    job, way, folder = sys.argv[1:]
    # Output of a library must not mix with the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    rank, lines = (0, sys.stdin) if job != "ddp" else second_rank()
    if rank:
        answers = open(os.devnull, "w")  # noqa: SIM115
    torch.set_num_threads(1)
    if job == "ddp":
        place = f"file://{folder}.meeting_place"
        torch.distributed.init_process_group("gloo", init_method=place, rank=rank, world_size=2)
    bare = Training(job)
    watched = watched_job(job, way, pathlib.Path(folder), bare)
    for _ in range(2):
        timed(bare), timed(watched)
    print(json.dumps({"ready": True}), file=answers, flush=True)
    for line in lines:
        pairs = [(timed(bare), timed(watched)) for _ in range(int(line))]
        answer = {"bare": [p[0] for p in pairs], "watched": [p[1] for p in pairs]}
        print(json.dumps(answer), file=answers, flush=True)
    os._exit(0)  # a thread of gloo's may hold the exit up


if __name__ == "__main__":
    main()
