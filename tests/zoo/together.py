"""Cases with several processes or trainings: replicas, a repetition, and a training that hangs.

Each function `(half, seed, is_faulty, request)` trains with its fault if `is_faulty`, recorded by
the `smdebug run` of `request`.
"""

import os
import tempfile
import time

import judging
import recipes
import recording
import torch
import training as zoo
from torch import nn

RANKS = 2


def replicas(half, seed, is_faulty, request):
    """Data-parallel over two processes. The fault: every third step the gradients are not averaged
    (tune), or the replicas have different learning rates (report)."""
    with tempfile.TemporaryDirectory() as folder:
        ranks = [
            recording.FORK.Process(
                target=_replica, args=(rank, f"{folder}/meet", half, seed, is_faulty, request)
            )
            for rank in range(RANKS)
        ]
        for rank in ranks:
            rank.start()
        for rank in ranks:
            rank.join()
    codes = [rank.exitcode for rank in ranks]
    if any(codes):
        raise RuntimeError(f"replicas ended with {codes}")


def _replica(rank, meeting_place, half, seed, is_faulty, request):
    os.environ |= {"RANK": str(rank), "WORLD_SIZE": str(RANKS)}
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{meeting_place}", rank=rank, world_size=RANKS
    )
    recording.start(request)
    training = recipes.perceptron(half, seed)
    training.steps = 100
    torch.manual_seed(training.seed)
    model = nn.parallel.DistributedDataParallel(zoo.made_model(training))
    loss, lr = nn.CrossEntropyLoss(), training.lr
    if is_faulty and half == recipes.REPORT:
        lr *= 1 + rank
    optimizer = training.make_optimizer(model.parameters(), lr)
    for step, batch in enumerate(zoo.batches(training)):
        own = batch[rank::RANKS]
        optimizer.zero_grad()
        forgets = is_faulty and half == recipes.TUNE and step % 3 == 0
        model.require_backward_grad_sync = not forgets
        loss(model(training.task.train_x[own]), training.task.train_y[own]).backward()
        optimizer.step()
    torch.distributed.barrier()
    recording.end()
    # At interpreter exit a thread of torch that waits for the GIL is unwound and aborts.
    os._exit(0)


def repetition(half, seed, is_faulty, request):
    """A training that was done before. The fault: it orders its samples differently."""
    again = _short(half, seed)
    if is_faulty:
        again.task.train_x, again.task.train_y = (
            again.task.train_x.roll(1, 0),
            again.task.train_y.roll(1, 0),
        )
    recording.recorded(request, zoo.run, again)


def first_of_repetition(half, seed, out_dir):
    """Trains what `repetition` repeats. Returns the parameters for the rule that compares them."""
    judging.every_rule(
        lambda request: recording.recorded(request, zoo.run, _short(half, seed)), out_dir
    )
    return {judging.COMPARES_RUNS: {"other_trials": str(out_dir)}}


def _short(half, seed):
    training = recipes.small_table(half, seed)
    training.steps = 60
    return training


def stalled(half, seed, is_faulty, request):
    """A training whose loader, with the fault, hangs after 50 of 100 batches."""
    training = recipes.small_table(half, seed)
    training.steps = 100
    training.evaluate_every = training.steps
    if is_faulty:
        training.batches = lambda: _stalling(training)
    recording.recorded(request, zoo.run, training)


def _stalling(training):
    for number, batch in enumerate(zoo.batches(training)):
        if number == training.steps // 2:
            time.sleep(1.5 * judging.WATCHED_SECONDS)
        yield batch
