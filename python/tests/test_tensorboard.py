"""What TensorBoard shows of a run, read back by TensorBoard's own reader."""

import hashlib
import json
import os
import pathlib
import random
import re
import socket

import numpy as np
import pytest
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.backend.event_processing.event_file_loader import LegacyEventFileLoader

import smdebug.pytorch as smd
from conftest import Net, read, train
from smdebug import _core, modes
from smdebug.exceptions import SMDebugValueError

GOLDEN = pathlib.Path(__file__).parents[2] / "tests/golden/pytorch_tensorboard"


def every_step(out_dir, **arguments):
    return smd.Hook(out_dir, save_config=smd.SaveConfig(save_interval=1), **arguments)


def train_with(hook, steps, **arguments):
    torch.manual_seed(1)
    model, loss = Net(), torch.nn.CrossEntropyLoss()
    hook.register_module(model)
    hook.register_loss(loss)
    losses = train(model, steps, loss=loss, **arguments)
    hook.close()
    return losses


def shown(folder, mode="GLOBAL"):
    """What TensorBoard shows of the runs of one mode."""
    everything = EventAccumulator(f"{folder}/{mode}", size_guidance={"histograms": 0, "scalars": 0})
    everything.Reload()
    return everything


def histograms(folder, mode="GLOBAL"):
    """Histograms by tag and step."""
    everything = shown(folder, mode)
    return {
        (tag, event.step): event.histogram_value
        for tag in everything.Tags()["histograms"]
        for event in everything.Histograms(tag)
    }


def numbers(folder, mode="GLOBAL"):
    """Lists of numbers by tag and step, in their order."""
    everything, found = shown(folder, mode), {}
    for tag in everything.Tags()["scalars"]:
        for event in everything.Scalars(tag):
            found.setdefault((tag, event.step), []).append(event.value)
    return found


def records(path):
    """The values of one file, in their order; the reader checks every checksum."""
    return [event for event in LegacyEventFileLoader(str(path)).Load() if event.HasField("summary")]


def edges():
    positive, edge = [], 1e-12
    while edge < 1e20:
        positive.append(edge)
        edge *= 1.1
    return np.array([-x for x in reversed(positive)] + [0.0] + positive)


def histogram_as_defined(array):
    """Limits and buckets by numpy's own counting; None where no element is in a bin."""
    values = np.asarray(array, dtype=np.float64).ravel()
    counts, limits = np.histogram(values, bins=edges())
    full = np.flatnonzero(counts)
    if not full.size:
        return None
    first, last = full[0], full[-1]
    return limits[first : last + 2], np.concatenate([[0], counts[first : last + 1]])


def check_histogram(histogram, array):
    values = np.asarray(array, dtype=np.float64).ravel()
    limits, buckets = histogram_as_defined(values)
    np.testing.assert_array_equal(histogram.bucket_limit, limits)
    np.testing.assert_array_equal(histogram.bucket, buckets)
    with np.errstate(all="ignore"):
        assert histogram.num == values.size
        np.testing.assert_array_equal(histogram.min, values.min())  # 0 and -0 are the same
        np.testing.assert_array_equal(histogram.max, values.max())
        scale = np.abs(values).sum()
        np.testing.assert_allclose(histogram.sum, values.sum(), rtol=1e-12, atol=1e-12 * scale)
        np.testing.assert_allclose(histogram.sum_squares, values.dot(values), rtol=1e-12)


# --- a training ---


def test_a_training_is_shown_as_it_was(out_dir):
    hook = every_step(out_dir, save_all=True, export_tensorboard=True)
    hook.set_mode(modes.TRAIN)
    losses = train_with(hook, 3)
    trial = read(out_dir)
    found = histograms(f"{out_dir}/tensorboard", "TRAIN")
    tags = {
        **{name: f"weights/{name}" for name in trial.tensor_names(collection="weights")},
        **{name: f"biases/{name}" for name in trial.tensor_names(collection="biases")},
        **{name: f"gradients/{name}" for name in trial.tensor_names(collection="gradients")},
    }
    assert len(tags) == 8
    expected = {}
    for name in trial.tensor_names():
        for step in trial.tensor(name).steps(mode=modes.TRAIN):
            value = trial.tensor(name).value(step, mode=modes.TRAIN)
            if histogram_as_defined(value) is not None:
                expected[tags.get(name, f"all/{name}"), step] = value
    assert found.keys() == expected.keys()
    for place, histogram in found.items():
        check_histogram(histogram, expected[place])
    shown_losses = numbers(f"{out_dir}/tensorboard", "TRAIN")
    assert shown_losses == {
        ("CrossEntropyLoss_output_0", step): [pytest.approx(loss, rel=1e-7)]
        for step, loss in enumerate(losses)
    }


def test_scalars_are_shown_under_their_own_step_and_mode(out_dir):
    with smd.Hook(out_dir, export_tensorboard=True) as hook:
        model = Net()
        hook.register_module(model)
        for step, mode in enumerate([modes.TRAIN, modes.EVAL, modes.TRAIN]):
            hook.set_mode(mode)
            model(torch.zeros(1, 4))
            hook.save_scalar("lr: first", 0.5**step)
            hook.save_scalar("lr: first", -1)
    folder = f"{out_dir}/tensorboard"
    tag = "scalar/lr__first"
    assert numbers(folder, "TRAIN") == {(tag, 0): [1, -1], (tag, 2): [0.25, -1]}
    assert numbers(folder, "EVAL") == {(tag, 1): [0.5, -1]}


def file_name(path):
    """The name of a file without the time of its first record."""
    return re.sub(r"tfevents\.\d{10}\.", "tfevents.", str(path))


def test_each_mode_has_a_file_and_nothing_unfinished_stays(out_dir, tmp_path):
    folder = tmp_path / "tb"
    hook = every_step(out_dir, tensorboard_dir=folder, include_collections=["weights"])
    train_with(hook, 3, on_step=lambda step: hook.set_mode([modes.EVAL, modes.PREDICT][step % 2]))
    names = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    writer = f"{socket.gethostname()}.{os.getpid()}.00000"
    assert [file_name(name) for name in names] == [
        f"EVAL/events.out.tfevents.{writer}",
        f"GLOBAL/events.out.tfevents.{writer}",
        f"PREDICT/events.out.tfevents.{writer}",
    ]
    assert not list(pathlib.Path(out_dir).rglob("tensorboard*"))
    steps = {name.split("/")[0]: {event.step for event in records(folder / name)} for name in names}
    assert steps == {"GLOBAL": {0}, "EVAL": {1}, "PREDICT": {2}}


def test_tensorboard_follows_a_run_and_ignores_a_record_that_is_torn(out_dir):
    folder = f"{out_dir}/tensorboard"
    with every_step(out_dir, export_tensorboard=True) as hook:
        model = Net()
        hook.register_module(model)
        following = None
        for step in range(5):
            model(torch.zeros(1, 4))
            hook.save_scalar("lr", step)
            hook._session.end_step()
            hook.flush()
            following = following or EventAccumulator(f"{folder}/GLOBAL")
            following.Reload()
            assert [event.step for event in following.Scalars("scalar/lr")] == [*range(step + 1)]
    (path,) = pathlib.Path(folder, "GLOBAL").iterdir()
    path.write_bytes(path.read_bytes()[:-7])  # killed in the middle of the last record
    assert [step for _, step in numbers(folder)] == [0, 1, 2, 3]


def test_training_is_the_same_with_and_without(tmp_path):
    losses = [
        train_with(
            every_step(str(tmp_path / str(export)), save_all=True, export_tensorboard=export), 4
        )
        for export in (False, True)
    ]
    assert losses[0] == losses[1]


# --- what is shown ---


def test_nothing_is_written_unless_asked(out_dir):
    train_with(every_step(out_dir, save_all=True), 1)
    assert not os.path.exists(f"{out_dir}/tensorboard")


def test_a_collection_says_whether_it_has_histograms(out_dir):
    hook = every_step(
        out_dir, include_collections=["weights", "biases", "losses"], export_tensorboard=True
    )
    hook.get_collection("biases").save_histogram = False
    hook.get_collection("losses").save_histogram = True
    train_with(hook, 1)
    assert {tag.split("/")[0] for tag, _ in histograms(f"{out_dir}/tensorboard")} == {
        "weights",
        "losses",
    }
    assert ("CrossEntropyLoss_output_0", 0) in numbers(f"{out_dir}/tensorboard")


def test_histograms_need_no_saved_values(out_dir, tmp_path):
    shown_of = {}
    for name, reductions in {
        "raw": None,
        "mean": smd.ReductionConfig(reductions=["mean"]),
    }.items():
        hook = every_step(
            str(tmp_path / name),
            include_collections=["weights"],
            reduction_config=reductions,
            export_tensorboard=True,
        )
        train_with(hook, 2)
        shown_of[name] = histograms(tmp_path / name / "tensorboard")
    assert len(shown_of["raw"]) == 4
    assert shown_of["raw"] == shown_of["mean"]


def test_a_dry_run_writes_nothing(out_dir):
    hook = every_step(out_dir, save_all=True, export_tensorboard=True, dry_run=True)
    train_with(hook, 1)
    assert not os.path.exists(out_dir)


# --- any tensor ---

DTYPES = [
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
    torch.float8_e4m3fn,
    torch.float8_e5m2,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.uint8,
    torch.uint16,
    torch.uint32,
    torch.uint64,
]


def open_session(out_dir, folder, **arguments):
    """A session without a framework, which puts tensors by name."""
    every = smd.SaveConfig(save_interval=1)
    options = dict(
        save_config=every,
        include_regex=[],
        include_collections=[],
        save_all=True,
        dry_run=False,
        all_workers=False,
        collections=[],
        tensorboard_dir=str(folder),
    )
    config = _core.HookConfig(str(out_dir), **{**options, **arguments})
    return _core.Session.create(config, _core.pytorch_framework(), [], {}, {})


def random_tensor(generator, dtype):
    """Any shape and strides; values over all bins and beyond, or any bits at all."""
    shape = [generator.choice([0, 1, 2, 7, 40]) for _ in range(generator.randrange(4))]
    count = int(np.prod(shape))
    if dtype.is_floating_point and generator.random() < 0.6:
        exponents = torch.empty(shape, dtype=torch.float64).uniform_(-30, 50)
        signs = torch.randint(0, 2, shape) * 2 - 1
        tensor = (exponents.exp() * signs).to(dtype)
        for special in (0.0, -0.0, float("nan"), float("inf"), -float("inf")):
            if count and generator.random() < 0.1:
                tensor.view(-1)[generator.randrange(count)] = special
    else:
        size = torch.empty(0, dtype=dtype).element_size()
        bits = bytearray(generator.randbytes(max(count, 1) * size))
        tensor = torch.frombuffer(bits, dtype=dtype)[:count].reshape(shape)
    return tensor.transpose(0, -1) if tensor.dim() > 1 else tensor


def as_doubles(tensor):
    """The values as numpy's cast gives them; for the wider unsigned types torch has no cast."""
    if tensor.dtype in (torch.uint16, torch.uint32, torch.uint64):
        return tensor.contiguous().numpy().astype(np.float64)
    return tensor.to(torch.float64).numpy()


def test_histograms_of_random_tensors_are_numpys(out_dir, tmp_path):
    seed = random.randrange(2**32)
    print("seed", seed)
    generator = random.Random(seed)
    torch.manual_seed(seed)
    tensors = {
        f"{str(dtype).split('.')[1]}_{i}": random_tensor(generator, dtype)
        for dtype in DTYPES
        for i in range(12)
    }
    session = open_session(out_dir, tmp_path / "tb")
    session.begin_step()
    for name, tensor in tensors.items():
        session.tensor(name).put(tensor)
    session.close()
    found = {tag.removeprefix("all/"): h for (tag, _), h in histograms(tmp_path / "tb").items()}
    expected = {
        name: values
        for name, tensor in tensors.items()
        if histogram_as_defined(values := as_doubles(tensor)) is not None
    }
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        check_histogram(found[name], values)


def test_a_large_tensor_is_shown_whole(out_dir, tmp_path):
    torch.manual_seed(3)
    large = torch.randn(3_000_001)
    session = open_session(out_dir, tmp_path / "tb")
    session.begin_step()
    session.tensor("large").put(large)
    session.close()
    ((_, histogram),) = histograms(tmp_path / "tb").items()
    check_histogram(histogram, large.numpy())


def test_bool_and_empty_tensors_have_no_histogram(out_dir, tmp_path):
    session = open_session(out_dir, tmp_path / "tb")
    session.begin_step()
    session.tensor("flags").put(torch.tensor([True, False]))
    session.tensor("empty").put(torch.empty(0, 3))
    session.tensor("nothing").put(torch.full((3,), float("nan")))
    session.tensor("loss_output_0").put(torch.tensor([[float("inf")]]))
    session.close()
    assert histograms(tmp_path / "tb") == {}
    assert numbers(tmp_path / "tb") == {("loss_output_0", 0): [float("inf")]}


# --- against the original ---


def test_the_originals_tensors_are_shown_as_the_original_showed_them(out_dir, tmp_path):
    """Every tensor that the original saved and showed, put again by us."""
    trial = read(str(GOLDEN / "run"))
    saved = dict(save_all=False, include_collections=["weights", "gradients"])
    session = open_session(out_dir, tmp_path / "tb", **saved)
    for step, mode in enumerate([modes.TRAIN] * 4 + [modes.EVAL] * 2):
        session.set_mode(mode)
        session.begin_step()
        session.save_scalar("lr", 0.5**step)
        for name in trial.tensor_names():
            tensor = trial.tensor(name)
            if step in tensor.steps() and not name.startswith("scalar/"):
                value = torch.from_numpy(np.array(tensor.value(step)))
                session.tensor(name).put(value)
    session.close()

    golden = json.loads((GOLDEN / "expected.json").read_text())["tensorboard"]
    shown_by_original = [record for file in golden.values() for record in file]
    found = {
        (event.summary.value[0].tag, event.step): event.summary.value[0]
        for path in sorted((tmp_path / "tb").rglob("*tfevents*"))
        for event in records(path)
    }
    compared = 0
    for record in shown_by_original:
        # A scalar saved between two steps the original shows at another (spec 13.1, line 3).
        if record["tag"] == "scalar/lr":
            continue
        ours = found.pop((record["tag"], record["step"]))
        compared += 1
        if record["value"] == "simple_value":
            assert ours.simple_value == record["simple_value"]
            continue
        theirs = record["histo"]
        limits = np.array(ours.histo.bucket_limit)
        assert hashlib.sha256(limits.tobytes()).hexdigest() == theirs["bucket_limit_sha256"]
        assert len(ours.histo.bucket) == theirs["bucket_count"]
        assert [[i, n] for i, n in enumerate(ours.histo.bucket) if n] == theirs["nonzero_buckets"]
        for field in ("min", "max", "num"):
            assert getattr(ours.histo, field) == theirs[field]
        for field in ("sum", "sum_squares"):
            assert getattr(ours.histo, field) == pytest.approx(theirs[field], rel=1e-12, abs=1e-12)
    assert compared == 17
    scalars = sorted(r["simple_value"] for r in shown_by_original if r["tag"] == "scalar/lr")
    assert sorted(value.simple_value for value in found.values()) == scalars
    assert found.keys() == {("scalar/lr", step) for step in range(6)}


# --- where ---


@pytest.fixture
def job(monkeypatch, tmp_path):
    """As a cloud platform starts a job; the file says where TensorBoard looks."""
    file = tmp_path / "tensorboardoutputconfig.json"
    monkeypatch.setenv("TRAINING_JOB_NAME", "job")
    monkeypatch.setenv("TENSORBOARD_CONFIG_FILE_PATH", str(file))
    return file


def test_in_a_job_the_platform_says_where(out_dir, tmp_path, job):
    job.write_text(json.dumps({"LocalPath": str(tmp_path / "of_job")}))
    hook = every_step(out_dir, include_collections=["weights"], tensorboard_dir=tmp_path / "mine")
    train_with(hook, 1)
    assert len(histograms(tmp_path / "of_job")) == 2
    assert not (tmp_path / "mine").exists()


def test_in_a_job_that_does_not_ask_nothing_is_written(out_dir, job):
    train_with(every_step(out_dir, include_collections=["weights"], export_tensorboard=True), 1)
    assert not os.path.exists(f"{out_dir}/tensorboard")


def test_outside_a_job_the_arguments_say_where(out_dir, tmp_path):
    asked = tmp_path / "tb"
    assert smd.Hook(out_dir).tensorboard_dir is None
    assert smd.Hook(out_dir, export_tensorboard=True).tensorboard_dir == f"{out_dir}/tensorboard"
    assert smd.Hook(f"{out_dir}/", True).tensorboard_dir == f"{out_dir}/tensorboard"
    assert smd.Hook(out_dir, False, asked).tensorboard_dir == str(asked)


@pytest.mark.parametrize("text", ["", "[]", '{"LocalPath": ""}', '{"LocalPath": 5}'])
def test_a_job_whose_file_says_nothing_is_refused_at_construction(out_dir, job, text):
    job.write_text(text)
    with pytest.raises(SMDebugValueError, match="tensorboardoutputconfig.json"):
        smd.Hook(out_dir)


# --- what goes wrong ---


@pytest.mark.parametrize("is_there_before", [True, False])
def test_a_folder_that_cannot_be_written_harms_nothing(out_dir, tmp_path, is_there_before):
    folder = tmp_path / "tb"
    if is_there_before:
        folder.write_text("a file in the way")
    hook = every_step(out_dir, save_all=True, tensorboard_dir=folder)
    assert bool(hook.status().tensorboard_error) == is_there_before
    folder.write_text("a file in the way")
    train_with(hook, 3)
    status = hook.status()
    assert status.state == "closed" and status.error is None
    expected = "is a file, not a folder" if is_there_before else "step 0: "
    assert expected in status.tensorboard_error and str(folder) in status.tensorboard_error
    assert read(out_dir).steps() == [0, 1, 2]
