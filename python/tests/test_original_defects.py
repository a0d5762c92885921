"""The defects of the original that its description lists, each a test named after the damage.

Each does what damaged a run, or a training, of the original, and shows the better behaviour.
"""

import json
import multiprocessing
import os
import pathlib
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
import torch
from torch import nn

from smdebug.analysis.utils import no_refresh
from smdebug.collection_manager import CollectionManager
from smdebug.core.reader import FileReader
from smdebug.core.writer import FileWriter
from smdebug.exceptions import SMDebugError, SMDebugRuntimeError
from smdebug.pytorch import Collection, Hook, ReductionConfig, SaveConfig, create_trial, modes
from smdebug.rules import Rule
from smdebug.save_config import SaveConfigMode


class Run:
    """A hook over one linear layer, and its steps."""

    def __init__(self, out_dir, **settings):
        settings.setdefault("save_config", SaveConfig(save_interval=1))
        settings.setdefault("include_collections", ["weights"])
        self.hook = Hook(out_dir=out_dir, **settings)
        self.net = nn.Linear(3, 2)
        self.hook.register_module(self.net)

    def step(self, count=1):
        for _ in range(count):
            self.net(torch.ones(1, 3)).sum().backward()

    def close(self):
        self.hook.close()
        return create_trial(self.hook.out_dir)


def events(out_dir):
    return sorted(pathlib.Path(out_dir).glob("events/*/*.tfevents"))


def index_of(out_dir, step):
    (path,) = pathlib.Path(out_dir).glob(f"index/*/{step:012d}_*.json")
    return path


# --- data lost or corrupted ---


def test_a_value_saved_with_its_shape_is_not_lost_to_the_reader(out_dir):
    run = Run(out_dir, reduction_config=ReductionConfig(save_raw_tensor=True, save_shape=True))
    run.step()
    weight = run.net.weight.detach().numpy().copy()
    tensor = run.close().tensor("Linear_weight")
    np.testing.assert_array_equal(tensor.value(0), weight)
    assert tensor.shape(0) == (2, 3)


@pytest.mark.parametrize("dtype", ["int8", "int16", "uint16", "uint32", "uint64", "complex64"])
def test_a_dtype_is_not_read_as_another_or_not_at_all(out_dir, dtype):
    run = Run(out_dir)
    run.step()
    values = np.array([0, 1, 100], dtype) - np.array([0, 2 if dtype == "int8" else 0, 0], dtype)
    run.hook.save_tensor("x", values)
    read = run.close().tensor("x").value(0)
    assert read.dtype == values.dtype and read.tolist() == values.tolist()


def test_bfloat16_and_strings_of_any_rank_do_not_end_the_training(out_dir):
    run = Run(out_dir)
    run.step()
    run.hook.save_tensor("narrow", torch.tensor([1.5, -2.0], dtype=torch.bfloat16))
    run.hook.save_tensor("table", np.array([["a", "b"], ["c", "de"]]))
    run.hook.save_tensor("one", np.array("word"))
    run.hook.save_tensor("bytes", np.array([b"x", b"yz"]))
    trial = run.close()
    assert trial.tensor("narrow").value(0).astype(float).tolist() == [1.5, -2.0]
    assert trial.tensor("table").value(0).tolist() == [["a", "b"], ["c", "de"]]
    assert trial.tensor("one").value(0).tolist() == "word"
    assert trial.tensor("bytes").value(0).tolist() == [b"x", b"yz"]


def test_scalars_between_saving_steps_do_not_overwrite_each_other(out_dir):
    run = Run(out_dir, save_config=SaveConfig(save_interval=3))
    run.hook.set_mode(modes.TRAIN)
    for number in range(4):
        run.step()
        run.hook.save_scalar("n", number)
    run.hook.set_mode(modes.EVAL)  # the record and the index agree all the same
    trial = run.close()
    number = trial.tensor("scalar/n")
    assert {step: int(value[0]) for step, value in number.values(mode=modes.TRAIN).items()} == {
        0: 0, 1: 1, 2: 2, 3: 3,
    }  # fmt: skip
    assert number.steps(mode=modes.EVAL) == []
    for path in events(out_dir):
        assert {row[3] for row in FileReader(path).read_tensors("minimal")} == {modes.TRAIN}


def test_a_saved_tensor_is_not_dropped_between_saving_steps_nor_kept_by_reference(out_dir):
    run = Run(out_dir, save_config=SaveConfig(save_interval=5))
    run.step(2)
    values = np.zeros(2)
    run.hook.save_tensor("x", values, collections_to_write=["new", "weights"])
    values[:] = 7
    trial = run.close()
    assert trial.tensor("x").value(1).tolist() == [0, 0]
    assert trial.tensor_names(collection="new") == ["x"]
    assert "x" in trial.tensor_names(collection="weights")


def test_late_tensors_reach_the_collections_file(out_dir):
    run = Run(out_dir)
    run.step(3)
    run.hook.save_tensor("late", 1.0, collections_to_write="weights")
    run.step()
    run.hook.flush()
    text = pathlib.Path(out_dir, "collections/000000000/worker_0_collections.json").read_text()
    assert "late" in json.loads(text)["collections"]["weights"]["tensor_names"]


def test_corruption_of_the_elements_does_not_go_unnoticed(out_dir):
    run = Run(out_dir)
    run.step()
    weight = run.net.weight.detach().numpy().tobytes()
    run.hook.close()
    (path,) = events(out_dir)
    content = bytearray(path.read_bytes())
    content[content.index(weight) + 5] ^= 1
    path.write_bytes(content)
    with pytest.raises(Exception, match="checksum"):
        create_trial(out_dir).tensor("Linear_weight").value(0)


def test_a_stale_unfinished_index_file_is_not_appended_to(out_dir):
    stale = pathlib.Path(out_dir, "index/000000000/000000000000_worker_0.json.tmp")
    stale.parent.mkdir(parents=True)
    stale.write_text('{"half": ')
    run = Run(out_dir)
    run.step()
    assert run.close().tensor("Linear_weight").steps() == [0]
    json.loads(index_of(out_dir, 0).read_text())


def test_one_corrupt_index_file_loses_no_other_step(out_dir):
    run = Run(out_dir)
    run.step(4)
    run.hook.close()
    index_of(out_dir, 2).write_text("{ not json")
    trial = create_trial(out_dir)
    assert trial.tensor("Linear_weight").steps() == [0, 1, 3]
    assert any("000000000002" in key for key, _ in trial.damage())


def test_shapes_and_records_of_several_threads_do_not_race(out_dir):
    import threading

    pathlib.Path(out_dir).mkdir()
    with FileWriter(out_dir, "worker_0") as writer:

        def write(name):
            for i in range(50):
                writer.write_shape(f"{name}/{i}", (i, 2))
                writer.write_tensor(np.full(3, i), f"{name}/t{i}")

        threads = [threading.Thread(target=write, args=(str(n),)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    index = json.loads(index_of(out_dir, 0).read_text())
    assert len(index["tensor_payload"]) == len(index["shape_payload"]) == 200


def test_which_collections_a_trial_has_does_not_depend_on_the_order_of_files(out_dir):
    for worker in ("worker_1", "worker_0"):
        folder = pathlib.Path(out_dir, "collections/000000000")
        folder.mkdir(parents=True, exist_ok=True)
        collection = {"name": "mine", "tensor_names": [f"of_{worker}"], "include_regex": []}
        text = json.dumps({"collections": {"mine": collection}, "_meta": {"num_workers": 2}})
        (folder / f"{worker}_collections.json").write_text(text)
        with FileWriter(out_dir, worker) as writer:
            writer.write_tensor(np.ones(1), f"of_{worker}")
    trial = create_trial(out_dir)
    assert trial.collection("mine").tensor_names >= {"of_worker_0", "of_worker_1"}


def test_an_index_file_that_comes_late_is_seen_by_an_open_trial(out_dir):
    def write(worker, step):
        with FileWriter(out_dir, worker, step) as writer:
            writer.write_tensor(np.full(1, step), worker)

    for worker, steps in (("worker_0", (0, 1, 2, 3)), ("worker_1", (0, 2, 3))):
        CollectionManager(num_workers=2).export(out_dir, f"{worker}_collections.json")
        for step in steps:
            write(worker, step)
    trial = create_trial(out_dir)
    assert trial.last_complete_step == 3
    assert trial.tensor("worker_1").steps() == [0, 2, 3]
    write("worker_1", 1)
    assert trial.tensor("worker_1").steps() == [0, 1, 2, 3]
    assert trial.tensor("worker_1").value(1, worker="worker_1").tolist() == [1]


def test_the_tag_of_a_histogram_does_not_depend_on_the_hash_seed(tmp_path):
    script = """
import sys, torch
from smdebug.pytorch import Hook, SaveConfig
names = ["zeta", "alpha", "weights", "mine"]
hook = Hook(
    sys.argv[1],
    save_config=SaveConfig(save_interval=1),
    include_collections=names,
    export_tensorboard=True,
)
for name in names:
    hook.get_collection(name).include("weight")
net = torch.nn.Linear(3, 2)
hook.register_module(net)
net(torch.ones(1, 3)).sum().backward()
hook.close()
"""
    tags = []
    for seed in ("1", "2", "3"):
        out_dir = tmp_path / seed
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        subprocess.run([sys.executable, "-c", script, out_dir], env=environment, check=True)
        (file,) = (out_dir / "tensorboard").rglob("events.out.tfevents.*")
        tags.append(re.findall(rb"\w+/Linear_weight", file.read_bytes()))
    assert tags[0] and tags[0] == tags[1] == tags[2]


# --- hangs and crashes ---


def _fills_the_disk(out_dir):
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
    import signal

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    run = Run(out_dir)
    run.step()
    for _ in range(3):
        run.hook.save_tensor("large", np.ones(100_000))
        run.step()
    run.hook.close()
    assert "File too large" in run.hook.status().error


def test_an_error_in_the_write_thread_does_not_hang_the_training(out_dir):
    process = multiprocessing.get_context("spawn").Process(target=_fills_the_disk, args=(out_dir,))
    process.start()
    process.join(120)
    assert process.exitcode == 0


def test_a_scalar_before_any_step_does_not_hang(out_dir):
    run = Run(out_dir)
    run.hook.save_scalar("early", 3)
    assert run.close().tensor("scalar/early").value(0).tolist() == [3]


def test_a_folder_with_an_ended_run_is_refused_with_the_error_that_is_meant(out_dir):
    run = Run(out_dir)
    run.step()
    run.close()
    with pytest.raises(SMDebugRuntimeError, match="ended"):
        Hook(out_dir=out_dir)


def test_no_call_of_a_hook_that_has_failed_raises(out_dir):
    pathlib.Path(out_dir).write_text("a file in the way")
    run = Run(out_dir)
    run.step()
    run.hook.save_scalar("a", 1)
    run.hook.save_tensor("b", 1)
    run.hook.get_collection("c")
    run.hook.flush()
    run.hook.close()
    assert run.hook.status().state == "failed" and run.hook.status().error


def test_a_save_config_of_one_mode_does_not_fail_in_another(out_dir):
    run = Run(out_dir, save_config=SaveConfig({modes.TRAIN: SaveConfigMode(save_interval=2)}))
    for mode in (modes.TRAIN, modes.EVAL, modes.PREDICT):
        run.hook.set_mode(mode)
        run.step()
    assert run.close().tensor("Linear_weight").steps(mode=modes.EVAL) == [0]


def test_reductions_of_integers_do_not_crash(out_dir):
    config = ReductionConfig(reductions=["mean", "std", "variance"], norms=["l1", "l2"])
    run = Run(out_dir)
    run.hook.add_collection(Collection("whole", include_regex="^whole$", reduction_config=config))
    run.step()
    run.hook.save_tensor("whole", torch.tensor([3, -4]), collections_to_write="whole")
    saved = run.close().tensor("whole").reduction_values(0)
    assert saved["mean", False] == -0.5
    assert saved["l1", False] == 7 and saved["l2", False] == 5


def test_a_mode_that_was_never_seen_is_no_key_error(out_dir):
    run = Run(out_dir)
    run.step()
    trial = run.close()
    assert trial.tensor_names(mode=modes.PREDICT) == []
    assert trial.tensor_names(step=5, mode=modes.EVAL) == []


def test_a_wrong_checksum_word_is_no_name_error(out_dir):
    run = Run(out_dir)
    run.step()
    run.hook.close()
    (path,) = events(out_dir)
    content = bytearray(path.read_bytes())
    content[-2] ^= 0xFF
    path.write_bytes(content)
    last = json.loads(index_of(out_dir, 0).read_text())["tensor_payload"][-1]["tensorname"]
    with pytest.raises(Exception, match=re.escape(last)) as raised:
        create_trial(out_dir).tensor(last).value(0)
    assert not isinstance(raised.value, NameError)


def test_a_trial_of_a_wrong_path_does_not_wait_for_ever(tmp_path):
    with pytest.raises(Exception, match="nowhere"):
        create_trial(tmp_path / "nowhere", timeout=0)


def test_a_mistyped_path_is_reported_at_once_without_a_timeout(tmp_path):
    with pytest.raises(SMDebugError, match=r"'.*typo': the path does not exist.*timeout") as raised:
        create_trial(tmp_path / "typo")
    assert raised.value.code == "not_found"


def test_waiting_for_a_step_does_not_switch_refreshing_off(out_dir):
    run = Run(out_dir)
    run.step(2)
    run.hook.flush()
    trial = create_trial(out_dir)
    trial.wait_for_steps([0])
    with pytest.raises(KeyError), no_refresh(trial):
        raise KeyError
    run.step(2)
    run.hook.flush()
    assert 2 in trial.steps()


def test_the_claim_of_a_dead_process_does_not_silence_the_next_run(out_dir):
    pathlib.Path(out_dir).mkdir()
    pathlib.Path(out_dir, "claim.smd").touch()
    run = Run(out_dir)
    run.step()
    assert run.close().tensor("Linear_weight").steps() == [0]


# --- what surprised ---


def test_norms_are_of_the_flattened_tensor_whoever_computes_them(out_dir):
    run = Run(out_dir, reduction_config=ReductionConfig(norms=["l2"], save_raw_tensor=True))
    run.step()
    weight = run.net.weight.detach().double().numpy()
    tensor = run.close().tensor("Linear_weight")
    flat = np.sqrt((weight**2).sum())
    assert float(tensor.reduction_values(0)["l2", False]) == pytest.approx(flat, rel=1e-6)
    assert float(tensor.reduction_value(0, "l2")) == pytest.approx(flat, rel=1e-6)


def test_a_dry_run_writes_no_file(out_dir, capfd):
    run = Run(out_dir, dry_run=True)
    run.step(2)
    run.hook.close()
    assert not pathlib.Path(out_dir).exists()
    log = capfd.readouterr().err
    assert "dry run, nothing is written" in log and "recording to" not in log


def test_a_rule_needs_no_action_string(out_dir):
    run = Run(out_dir)
    run.step()
    assert Rule(run.close()).base_trial is not None


def test_a_path_with_two_underscores_leaves_the_workers_their_names(tmp_path):
    run = Run(str(tmp_path / "my__run"))
    run.step()
    trial = run.close()
    assert trial.workers() == ["worker_0"]
    assert trial.tensor("Linear_weight").workers(0) == ["worker_0"]


def test_the_users_settings_of_losses_are_not_overridden(out_dir):
    run = Run(out_dir, include_collections=["losses"])
    run.hook.get_collection("losses").reduction_config = ReductionConfig(reductions=["mean"])
    loss = nn.MSELoss()
    run.hook.register_loss(loss)
    loss(run.net(torch.ones(1, 3)), torch.zeros(1, 2)).backward()
    saved = run.close().tensor("MSELoss_output_0").reduction_values(0)
    assert ("mean", False) in saved


def test_a_deleted_run_does_not_come_back_whole_without_a_word(out_dir):
    run = Run(out_dir)
    run.step()
    run.hook.flush()
    shutil.rmtree(out_dir)
    run.step()
    run.hook.close()
    assert not pathlib.Path(out_dir).exists()
    assert "removed" in run.hook.status().error


def test_steps_are_complete_when_every_worker_has_written_them(out_dir):
    for worker, steps in (("worker_0", 3), ("worker_1", 2)):
        CollectionManager(num_workers=2).export(out_dir, f"{worker}_collections.json")
        for step in range(steps):
            with FileWriter(out_dir, worker, step) as writer:
                writer.write_tensor(np.ones(1), "x", mode=modes.TRAIN, mode_step=step + 10)
    tensor = create_trial(out_dir).tensor("x")
    assert tensor.steps() == [0, 1]
    assert tensor.steps(show_incomplete_steps=True) == [0, 1, 2]
    assert tensor.steps(mode=modes.TRAIN) == [10, 11]


def test_a_collections_save_config_can_be_edited_where_none_was_given(out_dir):
    run = Run(out_dir, include_collections=["weights", "biases"])
    run.hook.get_collection("biases").save_config.end_step = 1
    run.step(3)
    trial = run.close()
    assert trial.tensor("Linear_bias").steps() == [0]
    assert trial.tensor("Linear_weight").steps() == [0, 1, 2]


def test_the_worker_is_not_decided_before_the_process_group_exists(out_dir):
    from torch.testing._internal.distributed.fake_pg import FakeStore

    run = Run(out_dir, include_workers="all")
    torch.distributed.init_process_group("fake", rank=1, world_size=2, store=FakeStore())
    try:
        run.step()
        run.hook.close()
    finally:
        torch.distributed.destroy_process_group()
    assert [path.name for path in events(out_dir)] == ["000000000000_worker_1.tfevents"]


def test_quantized_elements_are_not_read_as_another_type(out_dir):
    elements = [0, 2**15, 2**16 - 1]
    with FileWriter(out_dir, "worker_0") as writer:
        writer.write_tensor(np.array(elements, [("quint16", np.uint16)]), "q")
        path = writer.name()
    ((_, _, value, _, _),) = FileReader(path).read_tensors()
    assert value.tolist() == elements


def test_warnings_of_different_tensors_are_all_said(out_dir, capfd):
    net = nn.Sequential(*(nn.Linear(2, 2, device="meta") for _ in range(6)))
    hook = Hook(out_dir=out_dir, save_all=True)
    hook.register_module(net)
    net(torch.empty(1, 2, device="meta"))
    hook.close()
    said = capfd.readouterr().err
    assert [n for n in range(6) if f"'Sequential_{n}.weight' is not saved" not in said] == [], said
