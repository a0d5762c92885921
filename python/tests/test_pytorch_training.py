"""The training itself: it gives the same bits, survives copies, threads and forks."""

import copy
import io
import os
import threading

import torch

import smdebug.pytorch as smd
from conftest import Net, read, train


def every_step(out_dir, **arguments):
    return smd.Hook(out_dir, save_config=smd.SaveConfig(save_interval=1), **arguments)


def bits(model):
    return [parameter.detach().numpy().tobytes() for parameter in model.parameters()]


def make(seed=3):
    torch.manual_seed(seed)
    return Net(dropout=0.5, inplace=True)


def test_training_is_bit_identical_with_and_without_the_hook(out_dir):
    plain, watched = make(), make()
    plain_losses = train(plain, 20)
    loss = torch.nn.CrossEntropyLoss()
    reductions = smd.ReductionConfig(reductions=["mean", "median"], save_raw_tensor=True)
    with every_step(out_dir, save_all=True, reduction_config=reductions) as hook:
        hook.register_module(watched)
        hook.register_loss(loss)
        watched_losses = train(watched, 20, loss=loss)
    assert watched_losses == plain_losses
    assert bits(watched) == bits(plain)
    assert hook.status().steps_saved == 20


def test_a_deep_copy_of_a_model_trains_on_the_same_hook(out_dir):
    model = make()
    with every_step(out_dir, include_regex=["relu_output"]) as hook:
        hook.register_module(model)
        train(model, 1)
        clone = copy.deepcopy(model)
        train(clone, 1)
    assert read(out_dir).tensor("relu_output_0").steps() == [0, 1]


def test_a_saved_model_is_loaded_without_a_hook(out_dir):
    model = make()
    with every_step(out_dir, save_all=True) as hook:
        hook.register_module(model)
        train(model, 1)
        file = io.BytesIO()
        torch.save(model, file)
        file.seek(0)
        loaded = torch.load(file, weights_only=False)
        assert bits(loaded) == bits(model)
        train(loaded, 2)
        assert hook.status().steps == 1


def test_a_hook_that_was_pickled_does_nothing(out_dir):
    import pickle

    hook = every_step(out_dir)
    restored = pickle.loads(pickle.dumps(hook))
    restored.save_scalar("a", 1)
    restored.flush()
    restored.close()
    assert restored.status().state == "closed"


def test_backward_on_another_thread_saves_its_gradients(out_dir):
    model = make()
    with every_step(out_dir, include_collections=["gradients"]) as hook:
        hook.register_module(model)
        for _ in range(5):
            loss = model(torch.randn(2, 4)).sum()
            thread = threading.Thread(target=loss.backward)
            thread.start()
            thread.join()
    trial = read(out_dir)
    assert trial.tensor("gradient/Net_fc1.weight").steps() == [0, 1, 2, 3, 4]


def test_threads_that_save_at_once_lose_nothing(out_dir):
    model = torch.nn.ModuleList(torch.nn.Linear(8, 8) for _ in range(8))

    class Parallel(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.parts = model

        def forward(self, x):
            threads = [threading.Thread(target=part, args=(x,)) for part in self.parts]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            return x

    parallel = Parallel()
    with every_step(out_dir, include_regex=["parts.*output"]) as hook:
        hook.register_module(parallel)
        for step in range(20):
            parallel(torch.full((2, 8), float(step)))
    trial = read(out_dir)
    assert len(trial.tensor_names()) == 8
    with torch.no_grad():
        for index, part in enumerate(model):
            tensor = trial.tensor(f"parts.{index}_output_0")
            assert tensor.steps() == list(range(20))
            for step in range(20):
                expected = part(torch.full((2, 8), float(step))).numpy()
                assert (tensor.value(step) == expected).all()


def test_a_forked_child_trains_on_and_writes_nothing(out_dir):
    model = make()
    with every_step(out_dir, include_collections=["weights"]) as hook:
        hook.register_module(model)
        train(model, 2)
        child = os.fork()
        if child == 0:
            try:
                train(model, 3)
                hook.save_scalar("a", 1)
                hook.flush()
                hook.close()
                os._exit(0)
            finally:
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        train(model, 1)
    assert read(out_dir).steps() == [0, 1, 2]


def test_the_framework_is_left_as_it_was(out_dir):
    hooks_before = torch.nn.modules.module._global_forward_hooks.copy()
    backward_before = torch.autograd.backward
    with every_step(out_dir, save_all=True) as hook:
        hook.register_module(make())
    assert torch.nn.modules.module._global_forward_hooks == hooks_before
    assert torch.autograd.backward is backward_before
