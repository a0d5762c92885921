"""A hook that is not closed ends with its net, loses no step, leaves no trace in saved models, and
logs a forgotten registration."""

import gc
import os
import signal
import weakref

from mxnet import gluon

from conftest import EVERY_STEP, Training, make_net, mx, smd


def train_in_a_cell(out_dir):
    hook = smd.Hook(out_dir, save_all=True, save_config=EVERY_STEP)
    training = Training(hook, make_net()).steps(2)
    return weakref.ref(training.net), weakref.ref(hook)


def test_a_cell_that_runs_again_keeps_no_former_net(tmp_path):
    made = [train_in_a_cell(str(tmp_path / str(i))) for i in range(2)]
    gc.collect()
    assert [reference() for pair in made for reference in pair] == [None] * 4
    for i in range(2):
        trial = smd.create_trial(str(tmp_path / str(i)))
        assert trial.steps() == [0, 1] and trial.loaded_all_steps


def test_a_training_that_is_terminated_has_all_steps_that_ended(out_dir, forked):
    def training():
        Training(smd.Hook(out_dir, save_all=True, save_config=EVERY_STEP)).steps(3)
        os.kill(os.getpid(), signal.SIGTERM)
        signal.pause()

    assert forked(training) == -signal.SIGTERM
    trial = smd.create_trial(out_dir)
    # The third step would end where the next one begins.
    assert trial.steps() == trial.tensor("net_dense0_weight").steps() == [0, 1]
    assert not trial.loaded_all_steps


def test_no_array_is_read_when_a_net_is_collected_with_its_hook(tmp_path, monkeypatch):
    # Python may have freed the array before, and the read would wait forever.
    read = []
    net, hook = train_in_a_cell(str(tmp_path / "run"))
    monkeypatch.setattr(mx.nd.NDArray, "wait_to_read", lambda array: read.append(array))
    monkeypatch.setattr(mx.nd.NDArray, "asnumpy", lambda array: read.append(array))
    gc.collect()
    assert net() is None and hook() is None
    assert read == []
    assert smd.create_trial(str(tmp_path / "run")).steps() == [0, 1]


def test_the_trainer_of_mxnet_is_as_before_when_the_hook_was_collected(tmp_path):
    before = gluon.Trainer.step
    train_in_a_cell(str(tmp_path / "run"))
    gc.collect()
    assert gluon.Trainer.step is before


def test_files_of_a_recorded_net_contain_nothing_of_smdebug(out_dir, tmp_path):
    net = make_net()
    net.hybridize()
    hook = smd.Hook(out_dir, save_all=True, save_config=EVERY_STEP)
    training = Training(hook, net)
    for step in range(2):
        training.step()
        net.save_parameters(str(tmp_path / f"{step}.params"))
        net.export(str(tmp_path / f"net{step}"))
    hook.close()
    files = [path for path in tmp_path.iterdir() if path.is_file()]
    assert len(files) == 6
    for path in files:
        assert b"smdebug" not in path.read_bytes(), path
    loaded = gluon.SymbolBlock.imports(
        str(tmp_path / "net1-symbol.json"), ["data"], str(tmp_path / "net1-0000.params")
    )
    x = mx.nd.ones((2, 4))
    assert (loaded(x) == net(x)).asnumpy().all()


def warnings_in(logged):
    return [line for line in logged if "register_block" in line or "no step was" in line]


def test_a_forgotten_registration_is_logged_at_the_first_update_and_at_the_end(out_dir, logged):
    hook = smd.Hook(out_dir)
    Training().steps(3)
    (warning,) = warnings_in(logged)
    assert out_dir in warning and "no block is registered" in warning
    hook.close()
    assert "no step was recorded" in warnings_in(logged)[1]


def test_a_hook_that_records_logs_no_advice(out_dir, logged):
    hook = smd.Hook(out_dir)
    Training(hook).steps(2)
    hook.close()
    assert not warnings_in(logged)
