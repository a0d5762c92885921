"""One variant of one model, timed step by step on request.

benchmarks/step_cost.py starts one such program per variant, in the
environment that the variant needs, and asks for a few steps at a time, so
that variants alternate while the machine's speed drifts. Each answer pairs
the variant with the same model bare, in the same program.

    python step_worker.py VARIANT MODEL RUN_FOLDER

It reads the number of steps per line and answers each with one line of JSON.
"""

import ctypes
import json
import os
import pathlib
import sys
import time

import torch
from torch import nn

NEVER = 10**9
EIGHT = {
    "reductions": ["min", "max", "mean", "std"],
    "abs_reductions": ["max", "mean"],
    "norms": ["l1", "l2"],
}


def net_of(model: str) -> tuple[nn.Module, int]:
    if model == "A":
        return nn.Sequential(*[m for _ in range(50) for m in (nn.Linear(64, 64), nn.ReLU())]), 64
    return nn.Sequential(*[nn.Linear(256, 256) for _ in range(20)]), 256


class Training:
    """A model with its batch, and one step of it."""

    def __init__(self, model: str):
        torch.manual_seed(0)
        self.net, width = net_of(model)
        self.x, self.y = torch.randn(64, width), torch.randn(64, width)
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=1e-4)
        self.criterion = nn.MSELoss()

    def step(self) -> None:
        self.optimizer.zero_grad(set_to_none=True)
        self.criterion(self.net(self.x), self.y).backward()
        self.optimizer.step()

    def before_step(self) -> None:
        """Not timed."""

    def after_step(self) -> None:
        """Not timed."""


class Nothing(Training):
    """The baseline of a measurement that does not train."""

    def step(self) -> None:
        pass


class EmptyHooks(Training):
    def __init__(self, model: str):
        super().__init__(model)
        for module in self.net.modules():
            module.register_forward_hook(lambda module, arguments, output: None)


class Hooked(Training):
    """Watched by the `smdebug.pytorch` of the environment: ours or the original."""

    def __init__(self, model: str, folder: pathlib.Path, interval: int, reductions: bool):
        super().__init__(model)
        import smdebug.pytorch as smd

        self.hook = smd.Hook(
            out_dir=str(folder),
            save_all=True,
            save_config=smd.SaveConfig(save_interval=interval),
            reduction_config=smd.ReductionConfig(**EIGHT) if reductions else None,
        )
        self.hook.register_module(self.net)
        self.flush = getattr(self.hook, "flush", lambda: None)
        self.events = folder / "events"

    def after_step(self) -> None:
        """Returns the pages of written files to the kernel, so that the next step's
        files get them: fresh pages are slow to touch on a virtual machine."""
        self.flush()
        for path in self.events.glob("*/*.tfevents"):
            path.unlink()


class Copy(Training):
    """The lower bound: one memcpy of the bytes that a saved step holds, after a step
    that has used the caches."""

    def __init__(self, model: str):
        super().__init__(model)
        self.bytes = sizes_of(model)["bytes"]
        self.source, self.target = (torch.ones(self.bytes, dtype=torch.uint8) for _ in range(2))
        self.before_step = super().step

    def step(self) -> None:
        ctypes.memmove(self.target.data_ptr(), self.source.data_ptr(), self.bytes)


def sizes_of(model: str) -> dict[str, int]:
    """Returns the sizes that save_all records in one step: parameters, gradients, and
    the input and output of every module."""
    training, tensors = Training(model), []
    for module in training.net.modules():
        module.register_forward_hook(
            lambda module, arguments, output: tensors.extend([*arguments, output])
        )
    training.step()
    hooked = len(tensors)
    tensors += [t for p in training.net.parameters() for t in (p, p.grad)]
    return {
        "modules": len(list(training.net.modules())),
        "hooked": hooked,
        "listed": len(tensors) - hooked,
        "bytes": sum(t.nbytes for t in tensors),
    }


def training_of(variant: str, model: str, folder: pathlib.Path) -> Training:
    if variant == "empty hooks":
        return EmptyHooks(model)
    if variant == "memcpy":
        return Copy(model)
    interval = NEVER if "nothing due" in variant else 1
    return Hooked(model, folder, interval, reductions="reductions" in variant)


def timed(training: Training) -> tuple[float, float]:
    training.before_step()
    wall, cpu = time.perf_counter(), time.thread_time()
    training.step()
    times = time.perf_counter() - wall, time.thread_time() - cpu
    training.after_step()
    return times


def main() -> None:
    variant, model, folder = sys.argv[1:]
    # Output of a library must not mix with the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    torch.set_num_threads(1)
    bare = Nothing(model) if variant == "memcpy" else Training(model)
    watched = training_of(variant, model, pathlib.Path(folder))
    for _ in range(3):
        timed(bare), timed(watched)
    print(json.dumps(sizes_of(model)), file=answers, flush=True)
    for line in sys.stdin:
        pairs = [(timed(bare), timed(watched)) for _ in range(int(line))]
        answer = {"bare": [p[0] for p in pairs], "watched": [p[1] for p in pairs]}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
