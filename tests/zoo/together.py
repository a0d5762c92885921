"""Cases with several processes or trainings: replicas, a repetition, and a training that hangs.

Each function trains into `out_dir`, with its fault if `is_faulty`, and returns the verdicts on
it as `judging.judge` does.
"""

import multiprocessing
import os
import pathlib

import judging
import recipes
import torch
import training as zoo
from torch import nn

from smdebug import modes

FORK = multiprocessing.get_context("fork")
RANKS = 2
# Seconds after which a loader continues even if it was not released.
LONGEST_STALL = 600


def replicas(out_dir, half, seed, is_faulty):
    """Data-parallel over two processes. The fault: every third step the gradients are not averaged
    (tune), or the replicas have different learning rates (report)."""
    meeting_place = pathlib.Path(f"{out_dir}.meeting_place")
    ranks = [
        FORK.Process(target=_replica, args=(rank, out_dir, meeting_place, half, seed, is_faulty))
        for rank in range(RANKS)
    ]
    for rank in ranks:
        rank.start()
    for rank in ranks:
        rank.join()
    meeting_place.unlink(missing_ok=True)
    codes = [rank.exitcode for rank in ranks]
    if any(codes):
        raise RuntimeError(f"replicas of {out_dir} ended with {codes}")
    return judging.judge(out_dir)


def _replica(rank, out_dir, meeting_place, half, seed, is_faulty):
    os.environ |= {"RANK": str(rank), "WORLD_SIZE": str(RANKS)}
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{meeting_place}", rank=rank, world_size=RANKS
    )
    training = recipes.perceptron(half, seed)
    training.steps = 100
    torch.manual_seed(training.seed)
    model = nn.parallel.DistributedDataParallel(zoo.made_model(training))
    loss, lr = nn.CrossEntropyLoss(), training.lr
    if is_faulty and half == recipes.REPORT:
        lr *= 1 + rank
    optimizer = training.make_optimizer(model.parameters(), lr)
    with zoo.make_hook(out_dir, include_workers="all") as hook:
        hook.register_module(model)
        hook.register_loss(loss)
        for step, batch in enumerate(zoo.batches(training)):
            own = batch[rank::RANKS]
            hook.set_mode(modes.TRAIN)
            optimizer.zero_grad()
            forgets = is_faulty and half == recipes.TUNE and step % 3 == 0
            model.require_backward_grad_sync = not forgets
            loss(model(training.task.train_x[own]), training.task.train_y[own]).backward()
            optimizer.step()
        torch.distributed.barrier()
    # At interpreter exit a thread of torch that waits for the GIL is unwound and aborts.
    os._exit(0)


def repetition(out_dir, half, seed, is_faulty):
    """The same training twice. The fault: the second one orders its samples differently."""
    other = f"{out_dir}.other"
    zoo.run(_short(half, seed), other)
    again = _short(half, seed)
    if is_faulty:
        again.task.train_x, again.task.train_y = (
            again.task.train_x.roll(1, 0),
            again.task.train_y.roll(1, 0),
        )
    zoo.run(again, out_dir)
    return judging.judge(out_dir, {"SimilarAcrossRuns": {"other_trials": other}})


def _short(half, seed):
    training = recipes.small_table(half, seed)
    training.steps = 60
    return training


def stalled(out_dir, half, seed, is_faulty):
    """A training whose loader, with the fault, returns 50 of 100 batches and then hangs. It is
    watched while it runs: a finished run does not show when its steps arrived."""
    released = FORK.Event()
    trainer = FORK.Process(target=_train_slowly, args=(out_dir, half, seed, is_faulty, released))
    trainer.start()
    try:
        return judging.watch(out_dir)
    finally:
        released.set()
        trainer.join()


def _train_slowly(out_dir, half, seed, is_faulty, released):
    training = recipes.small_table(half, seed)
    training.steps = 100
    training.evaluate_every = training.steps
    if is_faulty:
        training.batches = lambda: _stalling(training, released)
    zoo.run(training, out_dir)


def _stalling(training, released):
    for number, batch in enumerate(zoo.batches(training)):
        if number == training.steps // 2:
            released.wait(LONGEST_STALL)
        yield batch
